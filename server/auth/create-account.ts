import type { Kysely, Transaction } from "kysely";
import type { Role } from "../permissions.ts";
import { problem } from "../problems.ts";
import { addMember, createProject } from "../projects/projects.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { withLock } from "../storage/settings.ts";
import type { Project } from "../wire/project.ts";

export type NewAccount = { email: string; password: string; name?: string | undefined };

export type CreatedAccount = { id: string; firstProject: { id: number; project: Project } | null };

/**
 * Creates an account, with its default destinations, in an open transaction. The first account owns the installation
 * and gets the project "Default"; later ones join `projectToJoin`.
 *
 * @param passwordHash - from `PasswordHashing.hash`; computed before the transaction, because it takes a while
 *
 * Throws `account-exists`.
 */
export async function createAccount(
  transaction: Transaction<ControlTables>,
  { email, name }: NewAccount,
  passwordHash: string,
  projectToJoin: { id: number; role: Role } | null,
): Promise<CreatedAccount> {
  const address = email.toLowerCase();
  await withLock(transaction, "createAccount");
  const isFirst = !(await hasAccounts(transaction));
  const existing = await transaction
    .selectFrom("accounts")
    .select("id")
    .where("email", "=", address)
    .executeTakeFirst();
  if (existing)
    throw problem("account-exists", {
      detail: `An account with the email address ${address} already exists.`,
    });

  const id = Bun.randomUUIDv7();
  const nowMs = Date.now();
  const now = new Date(nowMs).toISOString();
  await transaction
    .insertInto("accounts")
    .values({
      id,
      name: name ?? address.split("@")[0]!,
      email: address,
      emailVerified: 0,
      image: null,
      createdAt: now,
      updatedAt: now,
    })
    .execute();
  // For passwords, better-auth's provider is "credential", and the provider's account ID is our own.
  await transaction
    .insertInto("credentials")
    .values({
      id: Bun.randomUUIDv7(),
      accountId: id,
      providerId: "credential",
      userId: id,
      password: passwordHash,
      createdAt: now,
      updatedAt: now,
    })
    .execute();
  await transaction
    .insertInto("destinations")
    .values(
      [
        { kind: "dashboard" as const, label: "Dashboard", address: id, enabled: 1 },
        { kind: "email" as const, label: address, address, enabled: 0 },
      ].map((destination) => ({
        ...destination,
        id: Bun.randomUUIDv7(),
        accountId: id,
        secret: null,
        createdAt: nowMs,
      })),
    )
    .execute();
  if (projectToJoin) await addMember(transaction, projectToJoin.id, id, projectToJoin.role);
  return { id, firstProject: isFirst ? await createProject(transaction, "Default", id) : null };
}

export async function hasAccounts(
  control: Kysely<ControlTables> | Transaction<ControlTables>,
): Promise<boolean> {
  return (await control.selectFrom("accounts").select("id").limit(1).executeTakeFirst()) !== undefined;
}
