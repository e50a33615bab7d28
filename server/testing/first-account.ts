import type { Kysely } from "kysely";
import { commandActor } from "../audit/audit-log.ts";
import { createAccount } from "../auth/create-account.ts";
import type { ControlTables } from "../storage/control-tables.ts";

/** Creates an account in an empty store, and the first project, which it owns. */
export async function createFirstAccount(
  control: Kysely<ControlTables>,
): Promise<{ accountId: string; projectId: number }> {
  const { id, firstProject } = await control
    .transaction()
    .execute((transaction) =>
      createAccount(transaction, { email: "a@example.com", password: "" }, "unused", null, commandActor),
    );
  return { accountId: id, projectId: firstProject!.id };
}
