import type { Change } from "../audit/changes.ts";
import { problem } from "../core/problems.ts";
import type { UserProperties } from "../schemas/user-rule.ts";
import { addToJoined, beginPeopleChange } from "../users/people-lock.ts";

/** An ID that was split off, with those that go along, and the person that they left. */
export type Split = { userId: string; ids: string[]; from: string };

/**
 * Splits an ID off its person, as if it had never been joined, with the IDs that were joined to it before. It gets the
 * properties back that it had; those that the person got from it go, unless they were changed since. Calls don't join it
 * again, only a merge on purpose does.
 *
 * Call `recountUsers` afterwards. Throws `id-not-joined`.
 */
export async function splitId(change: Change, userId: string): Promise<Split> {
  const { transaction, projectId, record } = change;
  const { version } = await beginPeopleChange(transaction, projectId);
  const row = await transaction
    .selectFrom("personIds")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("userId", "=", userId)
    .executeTakeFirst();
  if (!row || row.joinedTo === null) throw notJoined(userId);
  const { personId } = row;
  const ofPerson = await transaction
    .selectFrom("personIds")
    .select(["userId", "joinedTo"])
    .where("projectId", "=", projectId)
    .where("personId", "=", personId)
    .execute();
  const ids = idsBelow(userId, ofPerson);
  await transaction
    .updateTable("personIds")
    .set({ personId: userId, version })
    .where("projectId", "=", projectId)
    .where("userId", "in", ids)
    .execute();
  await transaction
    .updateTable("personIds")
    .set({ joinedTo: null, properties: "{}", identifiedAt: null, filled: "[]" })
    .where("projectId", "=", projectId)
    .where("userId", "=", userId)
    .execute();
  await addToJoined(transaction, projectId, -1);

  const own = JSON.parse(row.properties) as UserProperties;
  const nowMs = Date.now();
  if (row.properties !== "{}" || row.identifiedAt !== null)
    await transaction
      .insertInto("users")
      .values({
        projectId,
        userId,
        properties: row.properties,
        updatedAt: nowMs,
        identifiedAt: row.identifiedAt,
      })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  await takeBack(change, personId, own, JSON.parse(row.filled) as string[]);
  await splitActivity(change, userId, personId);
  // IDs would outlive an erasure here.
  await record({ action: "user.split", detail: { ids: ids.length } });
  return { userId, ids, from: personId };
}

/** An ID, and those that were joined to it, or to one of these. */
function idsBelow(userId: string, rows: readonly { userId: string; joinedTo: string | null }[]): string[] {
  const ids = [userId];
  const below = Map.groupBy(rows, ({ joinedTo }) => joinedTo);
  for (let at = 0; at < ids.length; at++)
    for (const row of below.get(ids[at]!) ?? []) if (row.userId !== userId) ids.push(row.userId);
  return ids;
}

/** Removes the properties that a person got from an ID, if they still have these values. */
async function takeBack(
  { transaction, projectId }: Change,
  person: string,
  own: UserProperties,
  filled: readonly string[],
): Promise<void> {
  const row = await transaction
    .selectFrom("users")
    .select("properties")
    .where("projectId", "=", projectId)
    .where("userId", "=", person)
    .executeTakeFirst();
  if (!row) return;
  const properties = new Map(Object.entries(JSON.parse(row.properties) as UserProperties));
  for (const name of filled) if (properties.get(name) === own[name]) properties.delete(name);
  await transaction
    .updateTable("users")
    .set({ properties: JSON.stringify(Object.fromEntries(properties)), updatedAt: Date.now() })
    .where("projectId", "=", projectId)
    .where("userId", "=", person)
    .execute();
}

/**
 * Gives an ID an entry in what the list of users is sorted by. Its events are counted after the transaction; until then,
 * both entries say that their times may be wrong.
 */
async function splitActivity(
  { transaction, projectId }: Change,
  userId: string,
  person: string,
): Promise<void> {
  const entry = await transaction
    .selectFrom("userActivity")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("userId", "=", person)
    .executeTakeFirst();
  if (!entry) return;
  const { firstAt, lastAt, stale } = entry;
  await transaction
    .updateTable("userActivity")
    .set({ stale: stale + 1 })
    .where("projectId", "=", projectId)
    .where("userId", "=", person)
    .execute();
  await transaction
    .insertInto("userActivity")
    .values({ projectId, userId, events: 0, firstAt, lastAt, stale: stale + 1 })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  // If the server stops before they are counted, all entries of the project are compared.
  await transaction
    .updateTable("userActivityPositions")
    .set((eb) => ({ checkedTo: eb.fn.coalesce("checkedTo", eb.val("")) }))
    .where("projectId", "=", projectId)
    .execute();
}

function notJoined(userId: string) {
  return problem("id-not-joined", {
    detail: `${JSON.stringify(userId)} isn't joined to another ID. To take a user apart, split off the other IDs of the user.`,
  });
}
