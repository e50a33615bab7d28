import type { Change } from "../audit/changes.ts";
import { problem } from "../core/problems.ts";
import type { UserProperties } from "../schemas/user-rule.ts";
import { addToJoined, beginPeopleChange } from "../users/people-lock.ts";
import { lockProfiles, readLocked, storeProfile, unlockProfiles } from "../users/profile-lock.ts";
import { type Join, replayWithout } from "./replay-joins.ts";

/** An ID that was split off, with those that go along, and the person that they left. */
export type Split = { userId: string; ids: string[]; from: string };

/**
 * Splits an ID off its person, as if it had never been joined, with the IDs that were joined to it before. Both
 * have the properties that they would have without that join (`replay-joins.ts`). Calls don't join it again, only a merge
 * on purpose does.
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
  const joins = await joinsOf(change, personId);
  const ids = idsBelow(userId, joins);
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
  await splitProfile(change, row, joins);
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

/** The joins of a person's IDs. */
async function joinsOf({ transaction, projectId }: Change, personId: string): Promise<Join[]> {
  const rows = await transaction
    .selectFrom("personIds")
    .select(["userId", "joinedTo", "joinedAt", "properties", "filled"])
    .where("projectId", "=", projectId)
    .where("personId", "=", personId)
    .execute();
  return rows.flatMap(({ joinedTo, properties, filled, ...row }) =>
    joinedTo === null
      ? []
      : {
          ...row,
          joinedTo,
          properties: JSON.parse(properties) as UserProperties,
          filled: JSON.parse(filled) as string[],
        },
  );
}

type SplitRow = { userId: string; personId: string; identifiedAt: number | null };

/** Gives both people the properties that they would have, had the ID never been joined. */
async function splitProfile(
  { transaction, projectId }: Change,
  { userId, personId, identifiedAt }: SplitRow,
  joins: readonly Join[],
): Promise<void> {
  const people = [userId, personId];
  await lockProfiles(transaction, projectId, people);
  const stays = (await readLocked(transaction, projectId, people))(personId);
  const replayed = replayWithout(userId, personId, stays.properties, joins);
  const known = new Map(joins.map((join) => [join.userId, join]));
  for (const { userId: id, properties, filled } of replayed.joins) {
    const stored = known.get(id)!;
    const changed = { properties: JSON.stringify(properties), filled: JSON.stringify(filled) };
    const isChanged =
      changed.properties !== JSON.stringify(stored.properties) ||
      changed.filled !== JSON.stringify(stored.filled);
    if (!isChanged) continue;
    await transaction
      .updateTable("personIds")
      .set(changed)
      .where("projectId", "=", projectId)
      .where("userId", "=", id)
      .execute();
  }
  const store = async (person: string, knownAt: number | null) => {
    const properties = replayed.profiles.get(person)!;
    if (Object.keys(properties).length > 0 || knownAt !== null || person === personId)
      await storeProfile(transaction, projectId, person, { properties, identifiedAt: knownAt });
  };
  await store(personId, stays.identifiedAt);
  await store(userId, identifiedAt);
  await unlockProfiles(transaction, projectId, people);
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
