import { isDeepStrictEqual } from "node:util";
import { limits } from "../core/limits.ts";
import type { UserProperties } from "../schemas/user-rule.ts";
import { personsOf } from "../storage/people.ts";
import { notePropertyChange } from "../storage/people-changes.ts";
import type { Store } from "../storage/store.ts";
import { applyChanges, type UserChange } from "./user-change.ts";

/**
 * Merges changes into the properties of the people with these IDs. Requests that change the same user at the same time all take effect.
 *
 * @param apply - returns the properties after a user's changes; if it throws, nothing is changed
 */
export async function mergeProperties(
  { together }: Pick<Store, "together">,
  projectId: number,
  changes: readonly UserChange[],
  apply = applyChanges,
): Promise<void> {
  const ids = [...new Set(changes.map(({ userId }) => userId))];
  for (let start = 0; start < ids.length; start += limits.mergedUsers) {
    const some = new Set(ids.slice(start, start + limits.mergedUsers));
    await untilSettled(() =>
      together("control", async (transaction) => {
        const persons = await personsOf(transaction, projectId, [...some]);
        const byPerson = Map.groupBy(
          changes.filter(({ userId }) => some.has(userId)),
          ({ userId }) => persons.get(userId) ?? userId,
        );
        let isChanged = false;
        // In order of the IDs, so that two requests never wait for each other's users.
        for (const [userId, ofUser] of [...byPerson].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
          const updatedAt = Date.now();
          const identifiedAt = ofUser.some(({ identifies }) => identifies) ? updatedAt : null;
          // The update locks the row until the transaction ends.
          await transaction
            .insertInto("users")
            .values({ projectId, userId, properties: "{}", updatedAt, identifiedAt })
            .onConflict((conflict) =>
              conflict.columns(["projectId", "userId"]).doUpdateSet((eb) => ({
                updatedAt,
                identifiedAt: eb.fn.coalesce("users.identifiedAt", eb.val(identifiedAt)),
              })),
            )
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
          isChanged = true;
          await transaction
            .updateTable("users")
            .set({ properties: merged })
            .where("projectId", "=", projectId)
            .where("userId", "=", userId)
            .execute();
        }
        // A join has either waited for these rows, or is seen now.
        const after = await personsOf(transaction, projectId, [...some]);
        if (!isDeepStrictEqual(after, persons)) throw new PeopleChanged();
        if (isChanged) await notePropertyChange(transaction, projectId);
      }),
    );
  }
}

/** IDs were joined or split after it was read whose they are. */
class PeopleChanged extends Error {}

async function untilSettled(change: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await change();
    } catch (error) {
      if (!(error instanceof PeopleChanged)) throw error;
    }
  }
}
