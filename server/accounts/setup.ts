import type { Kysely } from "kysely";
import { createKey } from "../keys/keys.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { problem } from "../wire/problems.ts";
import type { Project } from "../wire/project.ts";
import { createAccount, hasAccounts, hashPassword, type NewAccount } from "./create-account.ts";

const setting = "setupTokenHash";

/** Makes the one-time token of the set-up link; the token of an earlier start is void. Null once an account exists. */
export async function openSetup(control: Kysely<ControlTables>): Promise<string | null> {
  if (await hasAccounts(control)) return null;
  const token = Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString("base64url");
  await control
    .insertInto("settings")
    .values({ name: setting, value: hashOf(token) })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value: hashOf(token) }))
    .execute();
  return token;
}

/**
 * Makes the owner's account, the project "Default" and its first key, all or nothing. Of claims at the same moment one
 * comes through.
 *
 * Throws `setup-closed` and `setup-token-invalid`.
 */
export async function claimSetup(
  control: Kysely<ControlTables>,
  token: string,
  account: NewAccount,
): Promise<{ project: Project; secret: string }> {
  await checkToken(control, token);
  const passwordHash = await hashPassword(account.password);
  return control.transaction().execute(async (transaction) => {
    await checkToken(transaction, token);
    const { firstProject } = await createAccount(transaction, account, passwordHash, null);
    await transaction.deleteFrom("settings").where("name", "=", setting).execute();
    const { id, project } = firstProject!;
    const { secret } = await createKey(transaction, id, "First key");
    return { project, secret };
  });
}

async function checkToken(control: Kysely<ControlTables>, token: string): Promise<void> {
  if (await hasAccounts(control)) {
    throw problem("setup-closed", { detail: "Tidings has its owner already. Sign in instead." });
  }
  const row = await control
    .selectFrom("settings")
    .select("value")
    .where("name", "=", setting)
    .executeTakeFirst();
  if (row?.value !== hashOf(token)) {
    throw problem("setup-token-invalid", {
      detail:
        "This set-up link is not the newest one. Use the link that the console printed when Tidings last started.",
    });
  }
}

function hashOf(token: string): string {
  return new Bun.CryptoHasher("sha256").update(token).digest("hex");
}
