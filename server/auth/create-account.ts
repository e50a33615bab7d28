import type { Kysely, Transaction } from "kysely";
import { recordAudit } from "../audit/audit-log.ts";
import type { Role } from "../core/permissions.ts";
import { problem } from "../core/problems.ts";
import type { Actor } from "../http/caller.ts";
import { addMember, createProject } from "../projects/projects.ts";
import type { Project } from "../schemas/project.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { withLock } from "../storage/settings.ts";
import { isReserved } from "./account-links.ts";

export type NewAccount = {
  email: string;
  password: string;
  name?: string | undefined;
  /**
   * Whether the address is known to be its owner's: it was reached by email, or whoever runs the server entered it.
   * Default: true. Otherwise OpenID Connect can't sign in to the account.
   */
  emailVerified?: boolean;
};

export type CreatedAccount = { id: string; firstProject: { id: number; project: Project } | null };

/**
 * Creates an account, with its default destinations, in an open transaction. The first account owns the installation
 * and gets the project "Default"; later ones join `projectToJoin`. The audit log says so.
 *
 * @param actor - a command, or whoever makes the request: the account's own person
 * @param passwordHash - from `PasswordHashing.hash`; computed before the transaction, because it takes a while
 *
 * Throws `account-exists`.
 */
export async function createAccount(
  transaction: Transaction<ControlTables>,
  { email, name, emailVerified = true }: NewAccount,
  passwordHash: string,
  projectToJoin: { id: number; role: Role } | null,
  actor: Actor,
): Promise<CreatedAccount> {
  const address = email.toLowerCase();
  await withLock(transaction, "createAccount");
  const isFirst = !(await hasAccounts(transaction));
  await checkEmailIsFree(transaction, address);

  const id = Bun.randomUUIDv7();
  const now = new Date().toISOString();
  await transaction
    .insertInto("accounts")
    .values({
      id,
      name: name ?? address.split("@")[0]!,
      email: address,
      emailVerified: emailVerified ? 1 : 0,
      image: null,
      createdAt: now,
      updatedAt: now,
    })
    .execute();
  await addPassword(transaction, id, passwordHash);
  await addDefaultDestinations(transaction, id, address);
  if (projectToJoin) await addMember(transaction, projectToJoin.id, id, projectToJoin.role);
  const firstProject = isFirst ? await createProject(transaction, "Default", id) : null;
  const creator: Actor = actor.kind === "command" ? actor : { ...actor, kind: "account", id, name: address };
  const projectId = firstProject?.id ?? projectToJoin?.id ?? null;
  await recordAudit(transaction, creator, {
    action: "account.created",
    projectId,
    target: address,
    detail: { id },
  });
  if (firstProject)
    await recordAudit(transaction, creator, {
      action: "project.created",
      projectId,
      target: firstProject.project.slug,
    });
  return { id, firstProject };
}

/** Gives an account that has none a password. */
export async function addPassword(
  transaction: Transaction<ControlTables>,
  accountId: string,
  passwordHash: string,
): Promise<void> {
  const now = new Date().toISOString();
  // For passwords, better-auth's provider is "credential", and the provider's account ID is our own.
  await transaction
    .insertInto("credentials")
    .values({
      id: Bun.randomUUIDv7(),
      accountId,
      providerId: "credential",
      userId: accountId,
      password: passwordHash,
      createdAt: now,
      updatedAt: now,
    })
    .execute();
}

/**
 * Checks that an address has no account, and that none can be taken back to it. Throws `account-exists`.
 *
 * @param ownerId - the account that may take the address back
 */
export async function checkEmailIsFree(
  transaction: Transaction<ControlTables>,
  email: string,
  ownerId: string | null = null,
): Promise<void> {
  const existing = await transaction
    .selectFrom("accounts")
    .select("id")
    .where("email", "=", email)
    .$if(ownerId !== null, (query) => query.where("id", "!=", ownerId!))
    .executeTakeFirst();
  if (!existing && !(await isReserved(transaction, email, ownerId))) return;
  throw problem("account-exists", {
    detail: `An account with the email address ${email} already exists.`,
  });
}

/** The dashboard notifies everyone; email only those who turn it on. */
export async function addDefaultDestinations(
  transaction: Transaction<ControlTables>,
  accountId: string,
  email: string,
): Promise<void> {
  await transaction
    .insertInto("destinations")
    .values(
      [
        { kind: "dashboard", name: "Dashboard", address: accountId, enabled: 1 },
        { kind: "email", name: email, address: email, enabled: 0 },
      ].map((destination) => ({
        ...destination,
        id: Bun.randomUUIDv7(),
        accountId,
        createdAt: Date.now(),
      })),
    )
    .execute();
}

export async function hasAccounts(
  control: Kysely<ControlTables> | Transaction<ControlTables>,
): Promise<boolean> {
  return (await control.selectFrom("accounts").select("id").limit(1).executeTakeFirst()) !== undefined;
}
