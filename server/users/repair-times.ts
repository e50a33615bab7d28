import { sql } from "kysely";
import type { Store } from "../storage/store.ts";
import { deleteEntries, insertEntries, unchangedOf } from "./activity-entries.ts";
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
        await insertEntries(store, transaction, repaired)
          .onConflict((conflict) =>
            conflict.columns(["projectId", "userId"]).doUpdateSet((eb) => ({
              firstAt: eb.ref("excluded.firstAt"),
              lastAt: eb.ref("excluded.lastAt"),
              stale: 0,
            })),
          )
          .execute();
      const gone = rows.flatMap(({ userId }, index) => (seen[index] || !unchanged.has(userId) ? [] : userId));
      await deleteEntries(transaction, projectId, gone);
    });
  }
  return stale.length === stepUsers;
}
