import type { Kysely } from "kysely";
import { z } from "zod";
import type { ControlTables } from "../storage/control-tables.ts";

/** The name of its row in `settings`. */
const name = "lastVerification";

const LastVerification = z.object({
  at: z.iso.datetime(),
  /** Whether the newest backup could be restored, with its changes. */
  ok: z.boolean(),
  /** What was restored, or why it could not be. */
  detail: z.string(),
});
export type LastVerification = z.infer<typeof LastVerification>;

/** The last verification of a backup, or null if there was none. */
export async function lastVerification(control: Kysely<ControlTables>): Promise<LastVerification | null> {
  const row = await control
    .selectFrom("settings")
    .select("value")
    .where("name", "=", name)
    .executeTakeFirst();
  return row ? LastVerification.parse(JSON.parse(row.value)) : null;
}

export async function recordVerification(
  control: Kysely<ControlTables>,
  verification: LastVerification,
): Promise<void> {
  const value = JSON.stringify(verification);
  await control
    .insertInto("settings")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
}
