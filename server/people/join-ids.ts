import type { Kysely, Transaction } from "kysely";
import { limits } from "../core/limits.ts";
import { type ProblemError, problem } from "../core/problems.ts";
import type { JoinedBy } from "../schemas/user.ts";
import { faultInUserId, type UserProperties } from "../schemas/user-rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { joinedIdsOf, personOf, personsOf } from "../storage/people.ts";
import type { Store } from "../storage/store.ts";
import { addToJoined, beginPeopleChange, type PeopleChange } from "../users/people-lock.ts";
import { applyChanges } from "../users/user-change.ts";
import { isSharedId } from "./id-rules.ts";

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
    await control.transaction().execute(async (transaction) => {
      const change = await beginPeopleChange(transaction, projectId);
      let joined = 0;
      for (const index of open.slice(start, start + limits.joinedTogether)) {
        const result = await join(transaction, projectId, joinings[index]!, {
          ...change,
          joined: change.joined + joined,
        });
        if (result === true) joined++;
        results[index] = result;
      }
      await addToJoined(transaction, projectId, joined);
    });
  }
  return results;
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

/** Joins two IDs in a change of the project's people. */
export async function join(
  transaction: Control,
  projectId: number,
  joining: Joining,
  { version, joined }: PeopleChange,
): Promise<JoinResult> {
  const { id, userId, by, name, identifies, force = false } = joining;
  const fault = faultOf(joining);
  if (fault) return fault;
  const nowMs = Date.now();
  const joiner = await personOf(transaction, projectId, id);
  const person = await personOf(transaction, projectId, userId);
  if (identifies) await markKnown(transaction, projectId, person, nowMs);
  if (joiner === person) return false;
  const known = await knownAmong(transaction, projectId, [joiner, person]);
  // Whoever merges on purpose may name the two in either order. The known one stays.
  if (by === "merge" && known.has(joiner) && !known.has(person))
    return join(transaction, projectId, { ...joining, id: userId, userId: id }, { version, joined });
  if (known.has(joiner) && !force) return id === joiner ? bothKnown() : taken();
  if (by !== "merge" && (await wasSplitOff(transaction, projectId, id))) return splitOff();
  const ids = await joinedIdsOf(transaction, projectId, [joiner, person]);
  if (ids.get(joiner)!.length + ids.get(person)!.length > limits.idsOfPerson) return tooManyIds();
  if (joined >= limits.joinedIds) return tooManyJoined();

  const own = await profileOf(transaction, projectId, joiner);
  const stays = await profileOf(transaction, projectId, person);
  const merged = applyChanges(stays.properties, [{ userId: person, setOnce: own.properties }]);
  const filled = Object.keys(merged).filter((key) => !Object.hasOwn(stays.properties, key));
  const row = {
    personId: person,
    joinedTo: userId,
    joinedAt: nowMs,
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
  await moveProfile(transaction, projectId, { joiner, person, merged, nowMs });
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

async function markKnown(
  transaction: Control,
  projectId: number,
  person: string,
  nowMs: number,
): Promise<void> {
  await transaction
    .insertInto("users")
    .values({ projectId, userId: person, properties: "{}", updatedAt: nowMs, identifiedAt: nowMs })
    .onConflict((conflict) =>
      conflict
        .columns(["projectId", "userId"])
        .doUpdateSet((eb) => ({ identifiedAt: eb.fn.coalesce("users.identifiedAt", eb.val(nowMs)) })),
    )
    .execute();
}

async function wasSplitOff(transaction: Control, projectId: number, id: string): Promise<boolean> {
  const row = await transaction
    .selectFrom("personIds")
    .select("userId")
    .where("projectId", "=", projectId)
    .where("userId", "=", id)
    .where("personId", "=", id)
    .executeTakeFirst();
  return row !== undefined;
}

type Profile = { properties: UserProperties; identifiedAt: number | null };

async function profileOf(transaction: Control, projectId: number, person: string): Promise<Profile> {
  const row = await transaction
    .selectFrom("users")
    .select(["properties", "identifiedAt"])
    .where("projectId", "=", projectId)
    .where("userId", "=", person)
    .executeTakeFirst();
  return row
    ? { properties: JSON.parse(row.properties) as UserProperties, identifiedAt: row.identifiedAt }
    : { properties: {}, identifiedAt: null };
}

type Move = { joiner: string; person: string; merged: UserProperties; nowMs: number };

/** Fills the properties of the person who stays, and deletes those of the other. */
async function moveProfile(
  transaction: Control,
  projectId: number,
  { joiner, person, merged, nowMs }: Move,
): Promise<void> {
  await transaction
    .deleteFrom("users")
    .where("projectId", "=", projectId)
    .where("userId", "=", joiner)
    .execute();
  const change = { properties: JSON.stringify(merged), updatedAt: nowMs };
  await transaction
    .insertInto("users")
    .values({ projectId, userId: person, ...change })
    .onConflict((conflict) => conflict.columns(["projectId", "userId"]).doUpdateSet(change))
    .execute();
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

function bothKnown(): ProblemError {
  return problem("user-known", {
    detail:
      "The ID was identified before, so it isn't joined to another user. If both are one person, merge them on the user's page, or with POST /api/users/{userId}/merge and \"force\": true.",
  });
}

function taken(): ProblemError {
  return problem("id-taken", {
    detail:
      "The ID belongs to another known user: an anonymous ID stays with the user who signed in first. If it is wrong there, split it off on that user's page.",
  });
}

function splitOff(): ProblemError {
  return problem("user-known", {
    detail:
      "The ID was split off before, so it joins a user only if you merge them on the user's page, or with POST /api/users/{userId}/merge.",
  });
}

function tooManyIds(): ProblemError {
  return problem("limit-reached", {
    detail: `A user can have at most ${limits.idsOfPerson} IDs. Split off IDs that aren't theirs, or send the user's own ID after they signed in.`,
  });
}

function tooManyJoined(): ProblemError {
  return problem("limit-reached", {
    detail: `This project has ${limits.joinedIds.toLocaleString("en")} joined IDs, the maximum. Erase users that you don't need.`,
  });
}
