import type { Kysely, Transaction } from "kysely";
import { problem } from "../problems.ts";
import { addMember, createProject } from "../projects/projects.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { withLock } from "../storage/settings.ts";
import type { Project } from "../wire/project.ts";

export type NewAccount = { email: string; password: string; name?: string | undefined };

export type CreatedAccount = { id: string; firstProject: { id: number; project: Project } | null };

/**
 * Makes an account in an open transaction, with the destinations that every account has. The first account of an
 * installation is its owner and gets the project "Default"; later ones join the project that is given.
 *
 * @param passwordHash - of `PasswordHashing.hash`; it takes a while and is made before the transaction
 *
 * Throws `account-exists`.
 */
export async function createAccount(
  transaction: Transaction<ControlTables>,
  { email, name }: NewAccount,
  passwordHash: string,
  joins: { id: number } | null,
): Promise<CreatedAccount> {
  const address = email.toLowerCase();
  await withLock(transaction, "createAccount");
  const isFirst = !(await hasAccounts(transaction));
  const taken = await transaction
    .selectFrom("accounts")
    .select("id")
    .where("email", "=", address)
    .executeTakeFirst();
  if (taken)
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
  // A password is better-auth's provider "credential", whose account id is the account's own.
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
  if (joins) await addMember(transaction, joins.id, id, "member");
  return { id, firstProject: isFirst ? await createProject(transaction, "Default", id) : null };
}

export async function hasAccounts(
  control: Kysely<ControlTables> | Transaction<ControlTables>,
): Promise<boolean> {
  return (await control.selectFrom("accounts").select("id").limit(1).executeTakeFirst()) !== undefined;
}
