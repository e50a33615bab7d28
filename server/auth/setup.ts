import type { Kysely } from "kysely";
import { changeIn } from "../audit/changes.ts";
import { problem } from "../core/problems.ts";
import type { Actor } from "../http/caller.ts";
import type { Project } from "../schemas/project.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { withLock } from "../storage/settings.ts";
import { createAccount, hasAccounts, type NewAccount } from "./create-account.ts";
import { createKey } from "./keys.ts";
import { checkNewPassword } from "./password-rules.ts";
import type { PasswordQueue } from "./passwords.ts";

const setting = "setupTokens";
/** Tokens older than this are void at the next start. Nodes that start together each print a link. */
const startWindowMs = 10 * 60_000;

type Token = { hash: string; madeAt: number };

export type OpenSetup = {
  token: string;
  /** Voids the token when the process that printed it ends. */
  close: () => Promise<void>;
};

/** Creates a one-time token for a setup link, and voids those of earlier starts. Null if an account exists. */
export async function openSetup(control: Kysely<ControlTables>): Promise<OpenSetup | null> {
  if (await hasAccounts(control)) return null;
  const token = Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString("base64url");
  const hash = hashOf(token);
  const now = Date.now();
  await changeTokens(control, (tokens) => [
    ...tokens.filter(({ madeAt }) => madeAt > now - startWindowMs),
    { hash, madeAt: now },
  ]);
  return {
    token,
    close: () => changeTokens(control, (tokens) => tokens.filter((other) => other.hash !== hash)),
  };
}

async function changeTokens(
  control: Kysely<ControlTables>,
  change: (tokens: Token[]) => Token[],
): Promise<void> {
  await control.transaction().execute(async (transaction) => {
    await withLock(transaction, setting);
    if (await hasAccounts(transaction)) return;
    const value = JSON.stringify(change(await readTokens(transaction)));
    await transaction
      .insertInto("settings")
      .values({ name: setting, value })
      .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
      .execute();
  });
}

async function readTokens(control: Kysely<ControlTables>): Promise<Token[]> {
  const row = await control
    .selectFrom("settings")
    .select("value")
    .where("name", "=", setting)
    .executeTakeFirst();
  return row ? (JSON.parse(row.value) as Token[]) : [];
}

/**
 * Creates the owner's account, the project "Default" and its first key in one transaction. Of concurrent claims, one
 * succeeds.
 *
 * Throws `setup-closed`, `setup-token-invalid` and `password-common`.
 */
export async function claimSetup(
  control: Kysely<ControlTables>,
  token: string,
  account: NewAccount,
  passwords: PasswordQueue,
  actor: Actor,
): Promise<{ project: Project; secret: string }> {
  await checkToken(control, token);
  await checkNewPassword(account.password, account);
  const passwordHash = await passwords.hash(account.password, { address: actor.address, isKnown: false });
  return control.transaction().execute(async (transaction) => {
    await withLock(transaction, setting);
    await checkToken(transaction, token);
    const { id: accountId, firstProject } = await createAccount(
      transaction,
      account,
      passwordHash,
      null,
      actor,
    );
    await transaction.deleteFrom("settings").where("name", "=", setting).execute();
    const { id, project } = firstProject!;
    const owner: Actor = { ...actor, kind: "account", id: accountId, name: account.email.toLowerCase() };
    const change = changeIn(transaction, { actor: owner, projectId: id });
    const { secret } = await createKey(change, { name: "First key" });
    return { project, secret };
  });
}

async function checkToken(control: Kysely<ControlTables>, token: string): Promise<void> {
  if (await hasAccounts(control)) {
    throw problem("setup-closed", { detail: "This installation already has an owner. Sign in instead." });
  }
  const hash = hashOf(token);
  if (!(await readTokens(control)).some((stored) => stored.hash === hash)) {
    throw problem("setup-token-invalid", {
      detail: "This setup link is out of date. Use the link that the server printed at its last start.",
    });
  }
}

function hashOf(token: string): string {
  return new Bun.CryptoHasher("sha256").update(token).digest("hex");
}
