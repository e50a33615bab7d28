import type { Kysely } from "kysely";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import { createKey } from "../auth/keys.ts";
import type { NewKey } from "../schemas/key.ts";
import type { ControlTables } from "../storage/control-tables.ts";

/** Creates an API key that is not in the audit log. Returns its secret. */
export async function createTestKey(
  control: Kysely<ControlTables>,
  projectId: number,
  settings: NewKey,
): Promise<string> {
  const by = { actor: commandActor, projectId };
  const { secret } = await makeChange(control, by, (change) =>
    createKey({ ...change, record: async () => {} }, settings),
  );
  return secret;
}
