import type { Kysely, Transaction } from "kysely";
import type { ControlTables } from "./control-tables.ts";

/** A value that is made once for an installation and kept, such as its secret; the first one made stays. */
export async function getOrCreateSetting(
  control: Kysely<ControlTables>,
  name: string,
  make: () => string,
): Promise<string> {
  const find = () =>
    control.selectFrom("settings").select("value").where("name", "=", name).executeTakeFirst();
  const known = await find();
  if (known) return known.value;
  await control
    .insertInto("settings")
    .values({ name, value: make() })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return (await find())!.value;
}

/**
 * Waits until no other transaction is alone under this name, also on another node, and keeps others out until this one ends: for what
 * is decided by what is there.
 */
export async function withLock(transaction: Transaction<ControlTables>, name: string): Promise<void> {
  await transaction
    .insertInto("settings")
    .values({ name: `alone: ${name}`, value: "" })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value: "" }))
    .execute();
}
