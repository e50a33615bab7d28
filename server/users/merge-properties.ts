import { limits } from "../core/limits.ts";
import type { UserProperties } from "../schemas/user-rule.ts";
import type { Store } from "../storage/store.ts";
import { applyChanges, type UserChange } from "./user-change.ts";

/**
 * Merges changes into users' properties. Requests that change the same user at the same time all take effect.
 *
 * @param apply - returns the properties after a user's changes; if it throws, nothing is changed
 */
export async function mergeProperties(
  { together }: Pick<Store, "together">,
  projectId: number,
  changes: readonly UserChange[],
  apply = applyChanges,
): Promise<void> {
  const byUser = Map.groupBy(changes, ({ userId }) => userId);
  // In order of the IDs, so that two requests never wait for each other's users.
  const users = [...byUser].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (let start = 0; start < users.length; start += limits.mergedUsers) {
    await together("control", async (transaction) => {
      for (const [userId, ofUser] of users.slice(start, start + limits.mergedUsers)) {
        const updatedAt = Date.now();
        // The update locks the row until the transaction ends.
        await transaction
          .insertInto("users")
          .values({ projectId, userId, properties: "{}", updatedAt })
          .onConflict((conflict) => conflict.columns(["projectId", "userId"]).doUpdateSet({ updatedAt }))
          .execute();
        const row = await transaction
          .selectFrom("users")
          .select("properties")
          .where("projectId", "=", projectId)
          .where("userId", "=", userId)
          .executeTakeFirst();
        const properties = row?.properties ?? "{}";
        const merged = JSON.stringify(apply(JSON.parse(properties) as UserProperties, ofUser));
        if (merged === properties) continue;
        await transaction
          .updateTable("users")
          .set({ properties: merged })
          .where("projectId", "=", projectId)
          .where("userId", "=", userId)
          .execute();
      }
    });
  }
}
