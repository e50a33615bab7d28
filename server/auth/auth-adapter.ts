import { kyselyAdapter } from "@better-auth/kysely-adapter";
import type { BetterAuthOptions, DBAdapter, Where } from "better-auth";
import type { Kysely, Transaction } from "kysely";
import { recordAudit } from "../audit/audit-log.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { AuditAction } from "../wire/audit.ts";
import { type AuthCall, currentCall } from "./auth-call.ts";
import { addDefaultDestinations } from "./create-account.ts";

type Adapter = DBAdapter<BetterAuthOptions>;
type Row = Record<string, unknown>;
/** A change that better-auth made to a row: what is known of the row, and the columns that an update changed. */
type Change = { kind: "create" | "update" | "delete"; model: string; row: Row; changed?: Row };
type Entry = { action: AuditAction; detail?: object };
/** Runs a change, and what must be committed with it, in a transaction. */
type Atomically = <Result>(
  run: (adapter: Adapter, committed: (change: Change) => Promise<void>) => Promise<Result>,
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
 */
export function createAuthAdapter(control: Kysely<ControlTables>): (options: BetterAuthOptions) => Adapter {
  return (options) => {
    const adapterOn = (db: Kysely<ControlTables>) =>
      // Not the real engine: with this type, better-auth stores timestamps as texts and booleans as numbers, as our
      // tables do.
      kyselyAdapter(db, { type: "sqlite", transaction: true })(options);
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

/** An adapter whose writes of single rows go through `atomically`. */
function withWrites(adapter: Adapter, atomically: Atomically): Adapter {
  return {
    ...adapter,
    create: (data) =>
      atomically(async ({ create }, committed) => {
        const row = await create(data);
        await committed({ kind: "create", model: data.model, row: row as Row });
        return row as never;
      }),
    update: (data) =>
      atomically(async ({ update }, committed) => {
        const row = await update<Row>(data);
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
        const row = await incrementOne<Row>(data);
        if (row) await committed({ kind: "update", model: data.model, row, changed: data.increment });
        return row as never;
      }),
    delete: (data) =>
      atomically(async ({ findOne, delete: remove }, committed) => {
        const row = await findOne<Row>(data);
        await remove(data);
        if (row) await committed({ kind: "delete", model: data.model, row });
      }),
  };
}

/** What is known of the rows of a condition. */
function rowOf(where: Where[]): Row {
  return Object.fromEntries(where.map(({ field, value }) => [field, value]));
}

/** Does what belongs to a change, in its transaction. */
async function onChange(transaction: Transaction<ControlTables>, change: Change): Promise<void> {
  const { kind, model, row, changed } = change;
  if (model === "verification") return;
  const accountId = (model === "user" ? row.id : row.userId) as string;
  const account = await transaction
    .selectFrom("accounts")
    .select(["email", "twoFactorEnabled"])
    .where("id", "=", accountId)
    .executeTakeFirst();
  if (!account) return;
  if (kind === "create" && model === "user")
    await addDefaultDestinations(transaction, accountId, account.email);
  // A new password voids links to reset the old one, and sign-ins that wait for their second factor.
  if (model === "account" && changed && "password" in changed)
    await transaction.deleteFrom("verifications").where("value", "=", accountId).execute();

  const call = currentCall();
  const entry = entryOf(change, call?.path ?? "", account.twoFactorEnabled === 1, call);
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
    { target: account.email, ...entry },
  );
  if (call) call.recorded = [...(call.recorded ?? []), { action: entry.action, email: account.email }];
}

/** The audit log's entry for a change; null if it needs none. */
function entryOf(
  { kind, model, row, changed = {} }: Change,
  path: string,
  hasTwoFactor: boolean,
  call: AuthCall | undefined,
): Entry | null {
  const method = signInMethods[path];
  switch (`${kind} ${model}`) {
    case "create user":
      return { action: "account.created", detail: { method } };
    case "update user":
      if (!("twoFactorEnabled" in changed)) return null;
      // better-auth replaces the session, too.
      if (call) call.replacesSession = true;
      return { action: changed.twoFactorEnabled ? "two-factor.enabled" : "two-factor.disabled" };
    case "create account":
      if (path === "/reset-password") return { action: "password.reset" };
      return { action: "account.changed", detail: { connected: row.providerId } };
    case "update account":
      if (!("password" in changed)) return null;
      return { action: path === "/reset-password" ? "password.reset" : "password.changed" };
    case "create session":
      if (method === undefined || call?.replacesSession) return null;
      // The session lasts until better-auth sees that the second factor is missing.
      if (path === "/sign-in/email" && hasTwoFactor) return null;
      return { action: "session.created", detail: { method } };
    case "delete session":
      return path === "/sign-out" ? { action: "session.ended" } : null;
    case "update twoFactor":
      if ("failedVerificationCount" in changed && changed.failedVerificationCount === 1)
        return { action: "session.failed", detail: { method: "two-factor" } };
      return path === "/two-factor/generate-backup-codes" ? { action: "recovery-codes.replaced" } : null;
    case "create passkey":
      return { action: "passkey.added", detail: { name: row.name } };
    default:
      return null;
  }
}
