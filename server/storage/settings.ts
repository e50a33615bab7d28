import type { Kysely, Transaction } from "kysely";
import type { ControlTables } from "./control-tables.ts";
import type { SecretBox } from "./secret-box.ts";

/** A value that is created once for an installation. If several processes create it, the first one wins. */
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

/** A secret that is created once for an installation, and stored sealed. */
export async function getOrCreateSecret(
  control: Kysely<ControlTables>,
  secrets: SecretBox,
  name: string,
  make: () => string,
): Promise<string> {
  const sealed = await getOrCreateSetting(control, name, () => secrets.seal(make(), name));
  return secrets.open(sealed, name);
}

/**
 * Takes a lock with this name, on all nodes, until the transaction ends. A row of `settings` is the lock. It protects
 * decisions that depend on the database's contents.
 */
export async function withLock(transaction: Transaction<ControlTables>, name: string): Promise<void> {
  await transaction
    .insertInto("settings")
    .values({ name: `alone: ${name}`, value: "" })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value: "" }))
    .execute();
}
