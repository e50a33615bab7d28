import { type IfMatch, versionOf } from "../edit-version.ts";
import { limits } from "../limits.ts";
import { problem } from "../problems.ts";
import type { Store } from "../storage/store.ts";
import type { User } from "../wire/user.ts";
import { faultInUserId, type UserProperties } from "../wire/user-rule.ts";
import { seenAt } from "./exact-users.ts";

/** A user's events and properties; null if there are neither. */
export async function findUser(store: Store, projectId: number, userId: string): Promise<User | null> {
  const { events, control } = store;
  const filter = { userId };
  const [row, seen] = await Promise.all([
    control
      .selectFrom("users")
      .select("properties")
      .where("projectId", "=", projectId)
      .where("userId", "=", userId)
      .executeTakeFirst(),
    seenAt(store, projectId, userId),
  ]);
  if (!row && !seen) return null;
  const counts =
    seen &&
    (await events.count({
      projectId,
      filter,
      bounds: [Date.parse(seen.first), Date.parse(seen.last) + 1],
      split: { by: "name" },
      series: limits.userNames,
    }));
  return {
    userId,
    events: counts?.all[0] ?? 0,
    firstSeenAt: seen?.first ?? null,
    lastSeenAt: seen?.last ?? null,
    names: counts?.series.map(({ value, counts: [count] }) => ({ name: value, events: count! })) ?? [],
    properties: row ? (JSON.parse(row.properties) as UserProperties) : {},
    version: versionOfProperties(row),
  };
}

/** Throws `query-invalid` if an ID is invalid. */
export function checkUserId(userId: string): void {
  const fault = faultInUserId(userId);
  if (fault) throw problem("query-invalid", { detail: `The user ID ${fault}.` });
}

/** Replaces a user's properties. Throws `query-invalid` for invalid IDs. Returns false if they have another version. */
export async function putProperties(
  { control }: Store,
  projectId: number,
  userId: string,
  properties: UserProperties,
  ifMatch: IfMatch,
): Promise<boolean> {
  checkUserId(userId);
  const change = { properties: JSON.stringify(properties), updatedAt: Date.now() };
  const insertion = (control: Store["control"]) =>
    control.insertInto("users").values({ projectId, userId, ...change });
  if (ifMatch === null) {
    await insertion(control)
      .onConflict((conflict) => conflict.columns(["projectId", "userId"]).doUpdateSet(change))
      .execute();
    return true;
  }
  return control.transaction().execute(async (transaction) => {
    const update = transaction
      .updateTable("users")
      .where("projectId", "=", projectId)
      .where("userId", "=", userId);
    // Locks the row until the transaction ends.
    const row = await update.set({ userId }).returning("properties").executeTakeFirst();
    if (!ifMatch.includes(versionOfProperties(row))) return false;
    if (row) {
      await update.set(change).execute();
      return true;
    }
    const inserted = await insertion(transaction)
      .onConflict((conflict) => conflict.doNothing())
      .returning("userId")
      .executeTakeFirst();
    return inserted !== undefined;
  });
}

/** @param row - undefined if none were ever set */
function versionOfProperties(row: { properties: string } | undefined): string {
  return versionOf(row?.properties ?? null);
}
