import type { Kysely, Transaction } from "kysely";
import { limits } from "../core/limits.ts";
import { type ProblemError, problem } from "../core/problems.ts";
import { FairQueue } from "../scheduling/fair-queue.ts";
import type { JoinedBy } from "../schemas/user.ts";
import { faultInUserId } from "../schemas/user-rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { peopleChanged, personsOf } from "../storage/people.ts";
import type { Store } from "../storage/store.ts";
import { addToJoined, beginPeopleChange, type PeopleChange } from "../users/people-lock.ts";
import {
  lockProfiles,
  readLocked,
  type StoredProfile,
  storeProfile,
  unlockProfiles,
} from "../users/profile-lock.ts";
import { applyChanges } from "../users/user-change.ts";
import { isSharedId } from "./id-rules.ts";
import { bothKnown, splitOff, taken, tooManyIds, tooManyJoined } from "./join-problems.ts";

type Control = Transaction<ControlTables>;

/** Two IDs of one person. */
export type Joining = {
  /** The ID that joins, with all IDs of its person. */
  id: string;
  /** An ID of the person who stays. */
  userId: string;
  by: JoinedBy;
  /** Name of the account or key. */
  name: string | null;
  /** Whether it also says that `userId` is a known user's. */
  identifies: boolean;
  /** Whether both may be known. */
  force?: boolean;
};

/** True if the ID was joined now, false if both were one person before, or the problem for which it was refused. */
export type JoinResult = boolean | ProblemError;

/**
 * Transactions that join IDs of a project wait for each other anyway. Here they wait without a connection of the database.
 */
const projectsTurns = new FairQueue<number>({
  capacity: 2,
  capacityOfOwner: 1,
  waitingOfOwner: limits.joinsWaiting,
  detail: "Too many IDs of this project are being joined. Try again later.",
  retryAfterSeconds: 5,
});

/**
 * Joins IDs. Those that are one person already cost two reads.
 *
 * The problems of a result: `id-not-allowed`, `user-known` if it would merge two known users, `id-taken` if the ID was
 * joined to another known user before, and `limit-reached`.
 */
export async function joinAll(
  { control }: Pick<Store, "control">,
  projectId: number,
  joinings: readonly Joining[],
): Promise<JoinResult[]> {
  const results: JoinResult[] = joinings.map((joining) => faultOf(joining) ?? false);
  const open = await withoutDone(control, projectId, joinings, results);
  for (let start = 0; start < open.length; start += limits.joinedTogether) {
    const indexes = open.slice(start, start + limits.joinedTogether);
    await projectsTurns.run(projectId, () => joinTogether(control, projectId, joinings, indexes, results));
    peopleChanged(control, projectId);
  }
  return results;
}

/** Joins some of the IDs in one transaction. */
async function joinTogether(
  control: Kysely<ControlTables>,
  projectId: number,
  joinings: readonly Joining[],
  indexes: readonly number[],
  results: JoinResult[],
): Promise<void> {
  await control.transaction().execute(async (transaction) => {
    const change = await beginPeopleChange(transaction, projectId);
    const ids = indexes.flatMap((index) => [joinings[index]!.id, joinings[index]!.userId]);
    const persons = await lockPeople(transaction, projectId, ids);
    let joined = 0;
    for (const index of indexes) {
      const result = await join(transaction, projectId, joinings[index]!, {
        ...change,
        joined: change.joined + joined,
      });
      if (result === true) joined++;
      results[index] = result;
    }
    await addToJoined(transaction, projectId, joined);
    await unlockProfiles(transaction, projectId, persons);
  });
}

/** Locks the profiles of the people with some IDs. Returns their main IDs. */
export async function lockPeople(
  transaction: Control,
  projectId: number,
  ids: readonly string[],
): Promise<string[]> {
  const personOf = await personsOf(transaction, projectId, ids);
  const persons = ids.map((id) => personOf.get(id) ?? id);
  await lockProfiles(transaction, projectId, persons);
  return persons;
}

/** The indexes of joinings that change something: the others were made before. */
async function withoutDone(
  control: Kysely<ControlTables>,
  projectId: number,
  joinings: readonly Joining[],
  results: readonly JoinResult[],
): Promise<number[]> {
  const valid = [...joinings.keys()].filter((index) => results[index] === false);
  const ids = valid.flatMap((index) => [joinings[index]!.id, joinings[index]!.userId]);
  if (ids.length === 0) return [];
  const persons = await personsOf(control, projectId, ids);
  const personOfId = (id: string) => persons.get(id) ?? id;
  const known = await knownAmong(control, projectId, [...new Set(ids.map(personOfId))]);
  return valid.filter((index) => {
    const { id, userId, identifies } = joinings[index]!;
    const person = personOfId(userId);
    return personOfId(id) !== person || (identifies && !known.has(person));
  });
}

/** Joins two IDs in a change of the project's people, whose profiles are locked. */
export async function join(
  transaction: Control,
  projectId: number,
  joining: Joining,
  { version, joined }: PeopleChange,
): Promise<JoinResult> {
  const { id, userId, by, name, identifies, force = false } = joining;
  const fault = faultOf(joining);
  if (fault) return fault;
  const persons = await personsOf(transaction, projectId, [id, userId]);
  const joiner = persons.get(id) ?? id;
  const person = persons.get(userId) ?? userId;
  if (identifies) await markKnown(transaction, projectId, person);
  if (joiner === person) return false;
  const profileOf = await readLocked(transaction, projectId, [joiner, person]);
  const own = profileOf(joiner);
  const stays = profileOf(person);
  // Whoever merges on purpose may name the two in either order. The known one stays.
  if (by === "merge" && own.identifiedAt !== null && stays.identifiedAt === null)
    return join(transaction, projectId, { ...joining, id: userId, userId: id }, { version, joined });
  if (own.identifiedAt !== null && !force) return id === joiner ? bothKnown() : taken();
  if (by !== "merge" && (await wasSplitOff(transaction, projectId, [id, joiner]))) return splitOff();
  const others = await joinedIdsOf(transaction, projectId, [joiner, person]);
  if (others.count + 2 > limits.idsOfPerson) return tooManyIds();
  if (joined >= limits.joinedIds) return tooManyJoined();

  const merged = applyChanges(stays.properties, [{ userId: person, setOnce: own.properties }]);
  const filled = Object.keys(merged).filter((key) => !Object.hasOwn(stays.properties, key));
  const row = {
    personId: person,
    joinedTo: userId,
    // Of one person's joins, each is later than those before: a split replays them in this order.
    joinedAt: Math.max(Date.now(), others.lastAt + 1),
    joinedBy: by,
    joinedName: name,
    properties: JSON.stringify(own.properties),
    identifiedAt: own.identifiedAt,
    filled: JSON.stringify(filled),
    version,
  };
  await transaction
    .updateTable("personIds")
    .set({ personId: person, version })
    .where("projectId", "=", projectId)
    .where("personId", "=", joiner)
    .where("userId", "!=", joiner)
    .execute();
  await transaction
    .insertInto("personIds")
    .values({ projectId, userId: joiner, ...row })
    .onConflict((conflict) => conflict.columns(["projectId", "userId"]).doUpdateSet(row))
    .execute();
  await moveProfile(transaction, projectId, joiner, person, { ...stays, properties: merged });
  await moveActivity(transaction, projectId, joiner, person);
  return true;
}

/** Those of some people whom a call identified. */
async function knownAmong(
  control: Kysely<ControlTables>,
  projectId: number,
  persons: readonly string[],
): Promise<Set<string>> {
  const rows = await control
    .selectFrom("users")
    .select("userId")
    .where("projectId", "=", projectId)
    .where("userId", "in", persons)
    .where("identifiedAt", "is not", null)
    .execute();
  return new Set(rows.map(({ userId }) => userId));
}

async function markKnown(transaction: Control, projectId: number, person: string): Promise<void> {
  const nowMs = Date.now();
  await transaction
    .insertInto("users")
    .values({ projectId, userId: person, properties: "{}", updatedAt: nowMs, identifiedAt: nowMs })
    .onConflict((conflict) =>
      conflict.columns(["projectId", "userId"]).doUpdateSet((eb) => ({
        updatedAt: nowMs,
        identifiedAt: eb.fn.coalesce("users.identifiedAt", eb.val(nowMs)),
      })),
    )
    .execute();
}

/** Whether one of some IDs was split off and is still the main one: with it, those that went along stay apart. */
async function wasSplitOff(
  transaction: Control,
  projectId: number,
  ids: readonly string[],
): Promise<boolean> {
  const row = await transaction
    .selectFrom("personIds")
    .select("userId")
    .where("projectId", "=", projectId)
    .where("userId", "in", ids)
    .whereRef("personId", "=", "userId")
    .executeTakeFirst();
  return row !== undefined;
}

/** How many IDs are joined to some people, and when the last one was. */
async function joinedIdsOf(
  transaction: Control,
  projectId: number,
  persons: readonly string[],
): Promise<{ count: number; lastAt: number }> {
  const { count, lastAt } = await transaction
    .selectFrom("personIds")
    .select((eb) => [eb.fn.countAll<number>().as("count"), eb.fn.max("joinedAt").as("lastAt")])
    .where("projectId", "=", projectId)
    .where("personId", "in", persons)
    .whereRef("userId", "!=", "personId")
    .executeTakeFirstOrThrow();
  return { count: Number(count), lastAt: lastAt === null ? 0 : Number(lastAt) };
}

/** Stores the profile of the person who stays, and deletes the other one. */
async function moveProfile(
  transaction: Control,
  projectId: number,
  joiner: string,
  person: string,
  profile: StoredProfile,
): Promise<void> {
  await transaction
    .deleteFrom("users")
    .where("projectId", "=", projectId)
    .where("userId", "=", joiner)
    .execute();
  await storeProfile(transaction, projectId, person, profile);
}

/** Adds what the list of users is sorted by to the entry of the person who stays. */
async function moveActivity(
  transaction: Control,
  projectId: number,
  joiner: string,
  person: string,
): Promise<void> {
  const entries = await transaction
    .selectFrom("userActivity")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("userId", "in", [joiner, person])
    .execute();
  if (!entries.some(({ userId }) => userId === joiner)) return;
  await transaction
    .deleteFrom("userActivity")
    .where("projectId", "=", projectId)
    .where("userId", "=", joiner)
    .execute();
  const sum = {
    events: entries.reduce((sum, { events }) => sum + events, 0),
    firstAt: Math.min(...entries.map(({ firstAt }) => firstAt)),
    lastAt: Math.max(...entries.map(({ lastAt }) => lastAt)),
    stale: entries.reduce((sum, { stale }) => sum + stale, 0),
  };
  await transaction
    .insertInto("userActivity")
    .values({ projectId, userId: person, ...sum })
    .onConflict((conflict) => conflict.columns(["projectId", "userId"]).doUpdateSet(sum))
    .execute();
}

function faultOf({ id, userId }: Joining): ProblemError | null {
  for (const each of [id, userId]) {
    const fault = faultInUserId(each);
    if (fault) return problem("body-invalid", { detail: `The user ID ${fault}.` });
    if (isSharedId(each))
      return problem("id-not-allowed", {
        detail:
          "The ID can't be joined, because mistakes in applications give it to many people. Send an ID that only one person has.",
      });
  }
  return null;
}
