import type { Kysely, Transaction } from "kysely";
import { problem } from "../problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";

type Purpose = "reset-password" | "change-email" | "sign-up";

/** How long a link works. */
export const linkHours = 1;

/**
 * Creates a link that works once and returns its token. Only a hash is stored. The table is better-auth's, which uses
 * links to reset a password itself.
 */
export async function createLink(
  control: Kysely<ControlTables> | Transaction<ControlTables>,
  purpose: Purpose,
  value: string,
): Promise<string> {
  const token = Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString("base64url");
  const now = new Date().toISOString();
  await control
    .insertInto("verifications")
    .values({
      id: Bun.randomUUIDv7(),
      identifier: identifierOf(purpose, token),
      value,
      expiresAt: new Date(Date.now() + linkHours * 60 * 60 * 1_000).toISOString(),
      createdAt: now,
      updatedAt: now,
    })
    .execute();
  return token;
}

/** Uses a link up and returns its value. Throws `link-invalid`. */
export async function consumeLink(
  transaction: Transaction<ControlTables>,
  purpose: Purpose,
  token: string,
): Promise<string> {
  const row = await transaction
    .deleteFrom("verifications")
    .where("identifier", "=", identifierOf(purpose, token))
    .returning(["value", "expiresAt"])
    .executeTakeFirst();
  if (!row || row.expiresAt < new Date().toISOString()) throw invalidLink();
  return row.value;
}

export function invalidLink() {
  return problem("link-invalid", {
    detail: `This link was used already or is older than ${linkHours} hour. Request a new one.`,
  });
}

/** As better-auth hashes them (`verification.storeIdentifier`). */
function identifierOf(purpose: Purpose, token: string): string {
  return new Bun.CryptoHasher("sha256").update(`${purpose}:${token}`).digest("base64url");
}
