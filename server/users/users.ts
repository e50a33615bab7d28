import { type IfMatch, versionOf } from "../core/edit-version.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { User } from "../schemas/user.ts";
import { faultInUserId, type UserProperties } from "../schemas/user-rule.ts";
import type { Store } from "../storage/store.ts";
import { seenAt } from "./exact-users.ts";
import { mergeProperties } from "./merge-properties.ts";
import { applyChanges } from "./user-change.ts";

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
  store: Store,
  projectId: number,
  userId: string,
  properties: UserProperties,
  ifMatch: IfMatch,
): Promise<boolean> {
  if (ifMatch !== null) return changeProperties(store, projectId, userId, () => properties, ifMatch);
  checkUserId(userId);
  const change = { properties: JSON.stringify(properties), updatedAt: Date.now() };
  await store.control
    .insertInto("users")
    .values({ projectId, userId, ...change })
    .onConflict((conflict) => conflict.columns(["projectId", "userId"]).doUpdateSet(change))
    .execute();
  return true;
}

/**
 * Merges properties into those of a user; null removes one. Throws `query-invalid` for invalid IDs, and `body-invalid`
 * if the user would have too many. Returns false if they have another version.
 */
export async function patchProperties(
  store: Store,
  projectId: number,
  userId: string,
  set: UserProperties,
  ifMatch: IfMatch,
): Promise<boolean> {
  const changes = [{ userId, set }];
  const merge = (current: UserProperties) => {
    const merged = applyChanges(current, changes);
    const isLeftOut = ([name, value]: [string, unknown]) => value !== null && !Object.hasOwn(merged, name);
    if (Object.entries(set).some(isLeftOut)) throw tooManyProperties();
    return merged;
  };
  if (ifMatch !== null) return changeProperties(store, projectId, userId, merge, ifMatch);
  checkUserId(userId);
  await mergeProperties(store, projectId, changes, merge);
  return true;
}

/** Changes the properties of one version. Returns false if they have another, or somebody has just set the first ones. */
async function changeProperties(
  { control }: Store,
  projectId: number,
  userId: string,
  change: (current: UserProperties) => UserProperties,
  ifMatch: NonNullable<IfMatch>,
): Promise<boolean> {
  checkUserId(userId);
  return control.transaction().execute(async (transaction) => {
    const update = transaction
      .updateTable("users")
      .where("projectId", "=", projectId)
      .where("userId", "=", userId);
    // Locks the row until the transaction ends.
    const row = await update.set({ userId }).returning("properties").executeTakeFirst();
    if (!ifMatch.includes(versionOfProperties(row))) return false;
    const changed = change(row ? (JSON.parse(row.properties) as UserProperties) : {});
    const values = { properties: JSON.stringify(changed), updatedAt: Date.now() };
    if (row) {
      await update.set(values).execute();
      return true;
    }
    const inserted = await transaction
      .insertInto("users")
      .values({ projectId, userId, ...values })
      .onConflict((conflict) => conflict.doNothing())
      .returning("userId")
      .executeTakeFirst();
    return inserted !== undefined;
  });
}

function tooManyProperties() {
  const detail = `A user can have at most ${limits.userProperties} properties. Remove some by setting them to null.`;
  return problem("body-invalid", { detail, errors: [{ pointer: "", detail }] });
}

/** @param row - undefined if none were ever set */
function versionOfProperties(row: { properties: string } | undefined): string {
  return versionOf(row?.properties ?? null);
}
