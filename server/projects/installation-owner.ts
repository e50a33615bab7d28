import type { Kysely, Transaction } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";

/** Whether an account owns the installation: it is the oldest that there is. */
export async function ownsInstallation(
  control: Kysely<ControlTables> | Transaction<ControlTables>,
  accountId: string,
): Promise<boolean> {
  const oldest = await control
    .selectFrom("accounts")
    .select("id")
    .orderBy("createdAt")
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
  return oldest?.id === accountId;
}
