import type { Kysely } from "kysely";
import { z } from "zod";
import type { ControlTables } from "../storage/control-tables.ts";

/** The name of its row in `settings`. */
const name = "lastBackup";

const LastBackup = z.object({
  /** When it began: all that was recorded before is in it. */
  at: z.iso.datetime(),
  /** Where it is. */
  file: z.string(),
  bytes: z.int(),
  events: z.int(),
  /** The generation whose segments can be applied to it. */
  generation: z.string().optional(),
});
export type LastBackup = z.infer<typeof LastBackup>;

/** The last successful backup, or null if there was none. */
export async function lastBackup(control: Kysely<ControlTables>): Promise<LastBackup | null> {
  const row = await control
    .selectFrom("settings")
    .select("value")
    .where("name", "=", name)
    .executeTakeFirst();
  return row ? LastBackup.parse(JSON.parse(row.value)) : null;
}

export async function recordBackup(control: Kysely<ControlTables>, backup: LastBackup): Promise<void> {
  const value = JSON.stringify(backup);
  await control
    .insertInto("settings")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
}
