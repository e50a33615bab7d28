import { type IfMatch, versionOf } from "../core/edit-version.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { IdOfUser, User } from "../schemas/user.ts";
import { faultInUserId, type UserProperties } from "../schemas/user-rule.ts";
import { personOf } from "../storage/people.ts";
import { notePropertyChange } from "../storage/people-changes.ts";
import type { Store } from "../storage/store.ts";
import { seenAt } from "./exact-users.ts";
import { mergeProperties } from "./merge-properties.ts";
import { applyChanges } from "./user-change.ts";

/** The events and properties of the person with an ID; null if there are neither, and no other IDs. */
export async function findUser(store: Store, projectId: number, anyId: string): Promise<User | null> {
  const { events, control } = store;
  const userId = await personOf(control, projectId, anyId);
  const filter = { userId };
  const [row, seen, joined] = await Promise.all([
    control
      .selectFrom("users")
      .select(["properties", "identifiedAt"])
      .where("projectId", "=", projectId)
      .where("userId", "=", userId)
      .executeTakeFirst(),
    seenAt(store, projectId, userId),
    joinedIds(control, projectId, userId),
  ]);
  if (!row && !seen && joined.length === 0) return null;
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
    ids: [{ userId, joinedTo: null, joinedAt: null, joinedBy: null, joinedName: null }, ...joined],
    isKnown: row !== undefined && row.identifiedAt !== null,
    events: counts?.all[0] ?? 0,
    firstSeenAt: seen?.first ?? null,
    lastSeenAt: seen?.last ?? null,
    names: counts?.series.map(({ value, counts: [count] }) => ({ name: value, events: count! })) ?? [],
    properties: row ? (JSON.parse(row.properties) as UserProperties) : {},
    version: versionOfProperties(row),
  };
}

/** The IDs that were joined to a person's main ID, in the order in which they were. */
async function joinedIds(
  control: Store["control"],
  projectId: number,
  personId: string,
): Promise<IdOfUser[]> {
  const rows = await control
    .selectFrom("personIds")
    .select(["userId", "joinedTo", "joinedAt", "joinedBy", "joinedName"])
    .where("projectId", "=", projectId)
    .where("personId", "=", personId)
    .where("joinedTo", "is not", null)
    .orderBy("joinedAt")
    .orderBy("userId")
    .execute();
  return rows.map(({ joinedAt, ...row }) => ({ ...row, joinedAt: new Date(joinedAt).toISOString() }));
}

/** Throws `query-invalid` if an ID is invalid. */
export function checkUserId(userId: string): void {
  const fault = faultInUserId(userId);
  if (fault) throw problem("query-invalid", { detail: `The user ID ${fault}.` });
}

/** Replaces the properties of the person with an ID, who is known from then on. Throws `query-invalid` for invalid IDs. Returns false if they have another version. */
export async function putProperties(
  store: Store,
  projectId: number,
  userId: string,
  properties: UserProperties,
  ifMatch: IfMatch,
): Promise<boolean> {
  if (ifMatch !== null) return changeProperties(store, projectId, userId, () => properties, ifMatch);
  checkUserId(userId);
  await mergeProperties(store, projectId, [{ userId, identifies: true }], () => properties);
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
  const changes = [{ userId, set, identifies: true }];
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
  anyId: string,
  change: (current: UserProperties) => UserProperties,
  ifMatch: NonNullable<IfMatch>,
): Promise<boolean> {
  checkUserId(anyId);
  return control.transaction().execute(async (transaction) => {
    const userId = await personOf(transaction, projectId, anyId);
    const update = transaction
      .updateTable("users")
      .where("projectId", "=", projectId)
      .where("userId", "=", userId);
    // Locks the row until the transaction ends.
    const row = await update.set({ userId }).returning("properties").executeTakeFirst();
    const isJoined = (await personOf(transaction, projectId, anyId)) !== userId;
    if (isJoined || !ifMatch.includes(versionOfProperties(row))) return false;
    const changed = change(row ? (JSON.parse(row.properties) as UserProperties) : {});
    const nowMs = Date.now();
    const values = { properties: JSON.stringify(changed), updatedAt: nowMs };
    if (row) {
      await update
        .set((eb) => ({ ...values, identifiedAt: eb.fn.coalesce("identifiedAt", eb.val(nowMs)) }))
        .execute();
      await notePropertyChange(transaction, projectId);
      return true;
    }
    const inserted = await transaction
      .insertInto("users")
      .values({ projectId, userId, ...values, identifiedAt: nowMs })
      .onConflict((conflict) => conflict.doNothing())
      .returning("userId")
      .executeTakeFirst();
    if (inserted) await notePropertyChange(transaction, projectId);
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
