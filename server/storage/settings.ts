import type { Kysely, Transaction } from "kysely";
import type { ControlTables } from "./control-tables.ts";
import type { SecretBox } from "./secret-box.ts";

/**
 * A secret that is created once for an installation, and stored sealed. If several processes create it, the first one
 * wins.
 */
export async function getOrCreateSecret(
  control: Kysely<ControlTables>,
  secrets: SecretBox,
  name: string,
  make: () => string,
): Promise<string> {
  const find = () =>
    control.selectFrom("settings").select("value").where("name", "=", name).executeTakeFirst();
  const known = await find();
  if (known) return secrets.open(known.value, name);
  await control
    .insertInto("settings")
    .values({ name, value: secrets.seal(make(), name) })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return secrets.open((await find())!.value, name);
}

/**
 * Takes a lock of this name, on all nodes, until the transaction ends. A row of `settings` is the lock. It protects
 * decisions that depend on what is in the database.
 */
export async function withLock(transaction: Transaction<ControlTables>, name: string): Promise<void> {
  await transaction
    .insertInto("settings")
    .values({ name: `alone: ${name}`, value: "" })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value: "" }))
    .execute();
}
