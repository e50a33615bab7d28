import { type Kysely, type RawBuilder, sql, type Transaction } from "kysely";
import type { ControlTables } from "./control-tables.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;

/** Transactions that change properties at the same time wait for each other only if they are in the same slot. */
const propertySlots = 8;

/**
 * SQL for the number of changes of a project's people: of their counted events, their IDs and their properties. It only
 * grows, in the transaction of the change, so what was computed from people is right while the number is the same.
 *
 * @param projectId - a column or a number
 */
export function peopleChanges(projectId: RawBuilder<unknown> | number): RawBuilder<number> {
  return sql<number>`cast(
    coalesce((SELECT changes FROM user_activity_positions WHERE project_id = ${projectId}), 0) +
    coalesce((SELECT sum(changes) FROM property_changes WHERE project_id = ${projectId}), 0) AS bigint)`;
}

/** Reads the number of changes of a project's people. */
export async function readPeopleChanges(control: Control, projectId: number): Promise<number> {
  const { changes } = await control
    .selectNoFrom([peopleChanges(projectId).as("changes")])
    .executeTakeFirstOrThrow();
  return changes;
}

/** Notes a change of properties. Call it last in the transaction: others wait for the slot until the commit. */
export async function notePropertyChange(transaction: Control, projectId: number): Promise<void> {
  const slot = Math.floor(Math.random() * propertySlots);
  await transaction
    .insertInto("propertyChanges")
    .values({ projectId, slot, changes: 1 })
    .onConflict((conflict) =>
      conflict
        .columns(["projectId", "slot"])
        .doUpdateSet((eb) => ({ changes: eb("propertyChanges.changes", "+", 1) })),
    )
    .execute();
}
