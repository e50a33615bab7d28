import type { Transaction } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";

/** The version that a change of a project's people gets, and how many IDs were joined before. */
export type PeopleChange = { version: number; joined: number };

/**
 * Begins a change of a project's people. Until the transaction ends, nothing else changes them, counts their events or
 * removes some. Those who do lock the position of counting first, too.
 */
export async function beginPeopleChange(
  transaction: Transaction<ControlTables>,
  projectId: number,
): Promise<PeopleChange> {
  await transaction
    .insertInto("userActivityPositions")
    .values({ projectId, ms: 0, sequence: 0, changes: 1 })
    .onConflict((conflict) =>
      conflict
        .column("projectId")
        .doUpdateSet((eb) => ({ changes: eb("userActivityPositions.changes", "+", 1) })),
    )
    .execute();
  await transaction
    .insertInto("peopleVersions")
    .values({ projectId, version: 1, removedVersion: 0, joined: 0 })
    .onConflict((conflict) =>
      conflict.column("projectId").doUpdateSet((eb) => ({ version: eb("peopleVersions.version", "+", 1) })),
    )
    .execute();
  const { version, joined } = await transaction
    .selectFrom("peopleVersions")
    .select(["version", "joined"])
    .where("projectId", "=", projectId)
    .executeTakeFirstOrThrow();
  return { version, joined };
}

/** Ends a change that made so many more IDs, or fewer, be joined to another one. */
export async function addToJoined(
  transaction: Transaction<ControlTables>,
  projectId: number,
  count: number,
): Promise<void> {
  if (count === 0) return;
  await transaction
    .updateTable("peopleVersions")
    .set((eb) => ({ joined: eb("joined", "+", count) }))
    .where("projectId", "=", projectId)
    .execute();
}
