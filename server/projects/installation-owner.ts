import type { Kysely, Transaction } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;

/** The account that owns the installation: the oldest. Undefined if there is none. */
export async function installationOwner(control: Control): Promise<string | undefined> {
  const oldest = await control
    .selectFrom("accounts")
    .select("id")
    .orderBy("createdAt")
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
  return oldest?.id;
}

export async function ownsInstallation(control: Control, accountId: string): Promise<boolean> {
  return (await installationOwner(control)) === accountId;
}
