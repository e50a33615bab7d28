import type { Kysely, Transaction } from "kysely";
import { problem } from "../core/problems.ts";
import { createLinkToken, hashLinkToken } from "../http/link-token.ts";
import type { ControlTables } from "../storage/control-tables.ts";

/** How long links work, and whether they go on working after a change of what signs in to the account. */
const purposes = {
  "reset-password": { hours: 1, outlastsChanges: false },
  "change-email": { hours: 1, outlastsChanges: false },
  /** "This wasn't me": takes an account back to its former address. What came after that address must not void it. */
  "restore-email": { hours: 7 * 24, outlastsChanges: true },
  "sign-up": { hours: 1, outlastsChanges: false },
} as const satisfies Record<string, { hours: number; outlastsChanges: boolean }>;
type Purpose = keyof typeof purposes;

/** The account that a link is for, and the credential epoch under which its maker may make it. */
type OfAccount = { accountId: string; epoch: number };
/** The purpose of a link. `email` is the address that it proves to be its owner's: the link was sent there. */
type LinkOf = {
  /** Its `email` is null if the link was printed for whoever runs the server. */
  "reset-password": OfAccount & { email: string | null };
  "change-email": OfAccount & { email: string };
  "restore-email": OfAccount & { email: string };
  "sign-up": { accountId: null; epoch: null; email: string };
};

/** How long most links work. Those to take an account back work for `restoreDays`. */
export const linkHours = purposes["reset-password"].hours;
export const restoreDays = purposes["restore-email"].hours / 24;

/**
 * Creates a link that works once and returns its token. Only a hash is stored.
 *
 * Invariant: links are made only here, and only "This wasn't me" outlasts changes. Checked by
 * `server/auth/credential-epoch.test.ts`.
 */
export async function createLink<P extends Purpose>(
  control: Kysely<ControlTables>,
  purpose: P,
  { accountId, epoch, email }: LinkOf[P],
): Promise<string> {
  const token = createLinkToken();
  const now = Date.now();
  await control
    .insertInto("accountLinks")
    .values({
      tokenHash: hashLinkToken(token),
      purpose,
      accountId,
      credentialEpoch: epoch ?? 0,
      email,
      createdAt: new Date(now).toISOString(),
      expiresAt: new Date(now + purposes[purpose].hours * 60 * 60_000).toISOString(),
    })
    .execute();
  return token;
}

/** Returns a link's purpose, without using it up. Throws `link-invalid`. */
export async function findLink<P extends Purpose>(
  control: Kysely<ControlTables>,
  purpose: P,
  token: string,
): Promise<LinkOf[P] & { createdAt: string }> {
  const row = await control
    .selectFrom("accountLinks")
    .leftJoin("accounts", "accounts.id", "accountLinks.accountId")
    .select([
      "accountId",
      "accountLinks.email",
      "accountLinks.createdAt",
      "expiresAt",
      "accountLinks.credentialEpoch as epoch",
      "accounts.credentialEpoch as currentEpoch",
    ])
    .where("tokenHash", "=", hashLinkToken(token))
    .where("purpose", "=", purpose)
    .executeTakeFirst();
  if (!row || row.expiresAt < new Date().toISOString()) throw invalidLink(purpose);
  const { accountId, epoch, currentEpoch, email, createdAt } = row;
  if (accountId !== null && epoch !== currentEpoch && !purposes[purpose].outlastsChanges)
    throw invalidLink(purpose);
  const link: unknown = { accountId, epoch: accountId === null ? null : epoch, email, createdAt };
  // As `createLink` stored it for this purpose.
  return link as LinkOf[P] & { createdAt: string };
}

/** Uses a link up and returns what it is for. Throws `link-invalid`. */
export async function consumeLink<P extends Purpose>(
  transaction: Transaction<ControlTables>,
  purpose: P,
  token: string,
): Promise<LinkOf[P] & { createdAt: string }> {
  const link = await findLink(transaction, purpose, token);
  const { numDeletedRows } = await transaction
    .deleteFrom("accountLinks")
    .where("tokenHash", "=", hashLinkToken(token))
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw invalidLink(purpose);
  return link;
}

/**
 * Whether an address can be taken back by the account that had it. Until then nobody else gets it, so that whoever
 * changed the address can't keep its owner out with another account.
 */
export async function isReserved(
  control: Kysely<ControlTables>,
  email: string,
  exceptAccountId: string | null,
): Promise<boolean> {
  const link = await control
    .selectFrom("accountLinks")
    .select("tokenHash")
    .where("email", "=", email)
    .where("purpose", "=", "restore-email")
    .where("expiresAt", ">=", new Date().toISOString())
    .$if(exceptAccountId !== null, (query) => query.where("accountId", "!=", exceptAccountId))
    .executeTakeFirst();
  return link !== undefined;
}

function invalidLink(purpose: Purpose) {
  const detail =
    purpose === "restore-email"
      ? `This link was used already, or is older than ${restoreDays} days. Ask whoever runs this server for help.`
      : `This link was used already, is older than ${linkHours} hour, or the account was changed since. Request a new one.`;
  return problem("link-invalid", { detail });
}
