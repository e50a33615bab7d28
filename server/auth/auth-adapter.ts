import { kyselyAdapter } from "@better-auth/kysely-adapter";
import type { BetterAuthOptions, DBAdapter, Where } from "better-auth";
import type { Kysely, Transaction } from "kysely";
import { recordAudit } from "../audit/audit-log.ts";
import type { AuditAction } from "../schemas/audit.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { type AuthCall, currentCall } from "./auth-call.ts";
import { addDefaultDestinations } from "./create-account.ts";
import { epochForStamp, raiseForCall, spendCode, validRows } from "./credential-checks.ts";
import { type CredentialChange, credentialEpochOf } from "./credential-epoch.ts";

type Adapter = DBAdapter<BetterAuthOptions>;
type AuthRow = Record<string, unknown>;
/** A change that better-auth made to a row: what is known of the row, and the columns that an update changed. */
type AdapterChange = { kind: "create" | "update" | "delete"; model: string; row: AuthRow; changed?: AuthRow };
type AuditedChange = { action: AuditAction; detail?: object; raises?: CredentialChange["change"] };
/** Runs a change, and what must be committed with it, in a transaction. */
type Atomically = <Result>(
  run: (adapter: Adapter, committed: (change: AdapterChange) => Promise<void>) => Promise<Result>,
) => Promise<Result>;

/** How people sign in, by better-auth's path. */
const signInMethods: Record<string, string> = {
  "/sign-in/email": "password",
  "/two-factor/verify-totp": "two-factor",
  "/two-factor/verify-backup-code": "recovery-code",
  "/passkey/verify-authentication": "passkey",
  "/callback/oidc": "oidc",
};

/**
 * better-auth's adapter for our tables. What belongs in the audit log is recorded there in the transaction of the
 * change.
 *
 * Invariant: the rows that better-auth makes for an account are stamped with its credential epoch, and those of an
 * earlier epoch are not read, whichever route it is. Checked by `server/auth/credential-epoch.test.ts`.
 *
 * @param secret - seals the secrets of authenticator apps
 */
export function createAuthAdapter(
  control: Kysely<ControlTables>,
  secret: string,
): (options: BetterAuthOptions) => Adapter {
  return (options) => {
    const adapterOn = (db: Kysely<ControlTables>) =>
      // Not the real engine: with this type, better-auth stores timestamps as texts and booleans as numbers, as our
      // tables do.
      withReads(kyselyAdapter(db, { type: "sqlite", transaction: true })(options), db, secret);
    const joining =
      (transaction: Transaction<ControlTables>): Atomically =>
      (run) =>
        run(adapterOn(transaction), (change) => onChange(transaction, change));
    const base = adapterOn(control);
    return {
      ...withWrites(base, (run) => control.transaction().execute((transaction) => joining(transaction)(run))),
      transaction: (work) =>
        control
          .transaction()
          .execute((transaction) => work(withWrites(adapterOn(transaction), joining(transaction)))),
    };
  };
}

/** An adapter that reads only what is valid, and accepts each code of an authenticator app once. */
function withReads(adapter: Adapter, db: Kysely<ControlTables>, secret: string): Adapter {
  return {
    ...adapter,
    async findOne<T>(data: Parameters<Adapter["findOne"]>[0]) {
      const row = await adapter.findOne<AuthRow>(data);
      if (!row) return null;
      const { path, code } = currentCall() ?? {};
      if (data.model === "twoFactor" && path === "/two-factor/verify-totp" && code !== undefined)
        await spendCode(db, row as { id: string; secret: string }, secret, code);
      const [valid] = await validRows(db, data.model, [row]);
      return (valid as T | undefined) ?? null;
    },
    async findMany<T>(data: Parameters<Adapter["findMany"]>[0]) {
      return (await validRows(db, data.model, await adapter.findMany<AuthRow>(data))) as T[];
    },
  };
}

/** An adapter whose writes of single rows go through `atomically`. */
function withWrites(adapter: Adapter, atomically: Atomically): Adapter {
  return {
    ...adapter,
    create: (data) =>
      atomically(async ({ create }, committed) => {
        const row = await create(data);
        await committed({ kind: "create", model: data.model, row: row as AuthRow });
        return row as never;
      }),
    update: (data) =>
      atomically(async ({ update }, committed) => {
        const row = await update<AuthRow>(data);
        if (row) await committed({ kind: "update", model: data.model, row, changed: data.update });
        return row as never;
      }),
    updateMany: (data) =>
      atomically(async ({ updateMany }, committed) => {
        const count = await updateMany(data);
        if (count > 0)
          await committed({
            kind: "update",
            model: data.model,
            row: rowOf(data.where),
            changed: data.update,
          });
        return count;
      }),
    incrementOne: (data) =>
      atomically(async ({ incrementOne }, committed) => {
        const row = await incrementOne<AuthRow>(data);
        if (row) await committed({ kind: "update", model: data.model, row, changed: data.increment });
        return row as never;
      }),
    delete: (data) =>
      atomically(async ({ findOne, delete: remove }, committed) => {
        const row = await findOne<AuthRow>(data);
        await remove(data);
        if (row) await committed({ kind: "delete", model: data.model, row });
      }),
  };
}

/** Values that a condition sets for its rows. */
function rowOf(where: Where[]): AuthRow {
  return Object.fromEntries(where.map(({ field, value }) => [field, value]));
}

/** Does what belongs to a change, in its transaction. */
async function onChange(transaction: Transaction<ControlTables>, change: AdapterChange): Promise<void> {
  const { kind, model, row } = change;
  if (model === "verification") return kind === "create" ? stampChallenge(transaction, row) : undefined;
  const accountId = (model === "user" ? row.id : row.userId) as string;
  const account = await transaction
    .selectFrom("accounts")
    .select(["email", "emailVerified", "twoFactorEnabled"])
    .where("id", "=", accountId)
    .executeTakeFirst();
  if (!account) return;
  if (kind === "create" && model === "user")
    await addDefaultDestinations(transaction, accountId, account.email);

  const call = currentCall();
  const entry = entryOf(change, call?.path ?? "", account.twoFactorEnabled === 1, call);
  if (entry?.raises) await raiseForCall(transaction, accountId, entry.raises);
  await stamp(transaction, change, accountId);
  if (!entry) return;
  await recordAudit(
    transaction,
    {
      kind: entry.action === "session.failed" ? "nobody" : "account",
      id: entry.action === "session.failed" ? null : accountId,
      name: entry.action === "session.failed" ? null : account.email,
      address: call?.address ?? null,
      userAgent: call?.userAgent ?? null,
    },
    { target: account.email, action: entry.action, ...(entry.detail && { detail: entry.detail }) },
  );
  const { email, emailVerified } = account;
  const about = { email, emailVerified: emailVerified === 1 };
  if (call) call.recorded = [...(call.recorded ?? []), { action: entry.action, account: about }];
}

/** Stamps what was made for an account with the credential epoch under which it was made. */
async function stamp(
  transaction: Transaction<ControlTables>,
  { kind, model, row, changed }: AdapterChange,
  accountId: string,
): Promise<void> {
  if (kind === "update" && model === "user" && changed?.twoFactorEnabled === true) {
    const credentialEpoch = await epochForStamp(transaction, accountId);
    await transaction
      .updateTable("twoFactors")
      .set({ credentialEpoch, enabledAt: new Date().toISOString() })
      .where("userId", "=", accountId)
      .execute();
    return;
  }
  const table = { session: "sessions", passkey: "passkeys", account: "credentials" } as const;
  if (kind !== "create" || !(model in table)) return;
  const credentialEpoch = await epochForStamp(transaction, accountId);
  await transaction
    .updateTable(table[model as keyof typeof table])
    .set({ credentialEpoch })
    .where("id", "=", row.id as string)
    .execute();
}

/**
 * Stamps a sign-in that waits for its second factor, whose value is the account, and the challenge for a new passkey,
 * whose value names it. Other challenges belong to nobody yet.
 */
async function stampChallenge(
  transaction: Transaction<ControlTables>,
  { id, value }: AuthRow,
): Promise<void> {
  const text = String(value);
  const accountId = text.startsWith("{")
    ? (JSON.parse(text) as { userData?: { id?: string } }).userData?.id
    : text;
  if (!accountId || (await credentialEpochOf(transaction, accountId)) === null) return;
  const credentialEpoch = await epochForStamp(transaction, accountId);
  await transaction
    .updateTable("verifications")
    .set({ accountId, credentialEpoch })
    .where("id", "=", id as string)
    .execute();
}

/** The audit log's entry for a change, and whether it raises the credential epoch; null if it needs neither. */
function entryOf(
  { kind, model, row, changed = {} }: AdapterChange,
  path: string,
  hasTwoFactor: boolean,
  call: AuthCall | undefined,
): AuditedChange | null {
  const method = signInMethods[path];
  switch (`${kind} ${model}`) {
    case "create user":
      return { action: "account.created", detail: { method } };
    case "update user":
      if (!("twoFactorEnabled" in changed)) return null;
      // better-auth replaces the session, too.
      if (call) call.replacesSession = true;
      return changed.twoFactorEnabled
        ? { action: "two-factor.enabled", raises: "second factor turned on" }
        : { action: "two-factor.disabled", raises: "second factor turned off" };
    case "create account":
      return {
        action: "account.changed",
        detail: { connected: row.providerId },
        raises: "provider connected",
      };
    case "update account":
      if (!("password" in changed)) return null;
      return { action: "password.changed", raises: "password changed" };
    case "create session":
      if (method === undefined || call?.replacesSession) return null;
      // The session lasts until better-auth sees that the second factor is missing.
      if ((path === "/sign-in/email" || path === "/callback/oidc") && hasTwoFactor) return null;
      return { action: "session.created", detail: { method } };
    case "delete session":
      return path === "/sign-out" ? { action: "session.ended" } : null;
    case "update twoFactor":
      if ("failedVerificationCount" in changed && changed.failedVerificationCount === 1)
        return { action: "session.failed", detail: { method: "two-factor" } };
      return path === "/two-factor/generate-backup-codes"
        ? { action: "recovery-codes.replaced", raises: "recovery codes replaced" }
        : null;
    case "create passkey":
      return { action: "passkey.added", detail: { name: row.name }, raises: "passkey added" };
    default:
      return null;
  }
}
