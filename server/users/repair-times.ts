import { sql, type Transaction } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Store } from "../storage/store.ts";
import { seenAt } from "./exact-users.ts";

/** Users whose times are looked up in one step. */
const stepUsers = 50;

/**
 * Looks up the times of some users whose first or last event was removed. Returns whether there may be more.
 *
 * @param projectId - only of this project
 */
export async function repairTimes(store: Store, projectId?: number): Promise<boolean> {
  const stale = await store.control
    .selectFrom("userActivity")
    .selectAll()
    // A literal, so that a planner can use the index of stale entries.
    .where(sql<boolean>`stale > 0`)
    .$if(projectId !== undefined, (query) => query.where("projectId", "=", projectId!))
    .limit(stepUsers)
    .execute();
  for (const [projectId, rows] of Map.groupBy(stale, (row) => row.projectId)) {
    const seen = await Promise.all(rows.map((row) => seenAt(store, projectId, row.userId)));
    await store.together("user-activity", async (transaction) => {
      const unchanged = await unchangedOf(transaction, projectId, rows);
      const repaired = rows.flatMap((row, index) => {
        const times = seen[index];
        if (!times || !unchanged.has(row.userId)) return [];
        return [{ ...row, firstAt: Date.parse(times.first), lastAt: Date.parse(times.last) }];
      });
      if (repaired.length > 0)
        await transaction
          .insertInto("userActivity")
          .columns(["projectId", "userId", "events", "firstAt", "lastAt"])
          .expression(
            store.rowsOf("userActivity", ["projectId", "userId", "events", "firstAt", "lastAt"], repaired),
          )
          .onConflict((conflict) =>
            conflict.columns(["projectId", "userId"]).doUpdateSet((eb) => ({
              firstAt: eb.ref("excluded.firstAt"),
              lastAt: eb.ref("excluded.lastAt"),
              stale: 0,
            })),
          )
          .execute();
      const gone = rows.flatMap(({ userId }, index) => (seen[index] || !unchanged.has(userId) ? [] : userId));
      if (gone.length > 0)
        await transaction
          .deleteFrom("userActivity")
          .where("projectId", "=", projectId)
          .where("userId", "in", gone)
          .execute();
    });
  }
  return stale.length === stepUsers;
}

/** The users whose entry is as it was. Until the transaction ends, nothing else changes the project's entries. */
export async function unchangedOf(
  transaction: Transaction<ControlTables>,
  projectId: number,
  rows: readonly { userId: string; events: number; stale: number }[],
): Promise<Set<string>> {
  await transaction
    .updateTable("userActivityPositions")
    .set((eb) => ({ removals: eb.ref("removals") }))
    .where("projectId", "=", projectId)
    .execute();
  const current = await transaction
    .selectFrom("userActivity")
    .select(["userId", "events", "stale"])
    .where("projectId", "=", projectId)
    .where(
      "userId",
      "in",
      rows.map(({ userId }) => userId),
    )
    .execute();
  const before = new Map(rows.map((row) => [row.userId, row]));
  return new Set(
    current.flatMap(({ userId, events, stale }) => {
      const row = before.get(userId)!;
      return row.events === events && row.stale === stale ? [userId] : [];
    }),
  );
}
