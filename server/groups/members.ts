import type { Kysely, Transaction } from "kysely";
import { problem } from "../core/problems.ts";
import type { GroupMembers } from "../schemas/group.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { groupMembers } from "../storage/group-members.ts";
import { idsOf } from "../storage/people.ts";
import type { Store } from "../storage/store.ts";
import { exactCounts } from "../users/exact-users.ts";
import { activityOf, isoOf } from "../users/list-users.ts";
import { readProfiles } from "../users/profiles.ts";
import { cursorOfText } from "../validation/page-query.ts";
import { type GroupName, lockType, rowOf } from "./groups.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;

/** A page of a group's people, by their main IDs. */
export async function listMembers(
  store: Store,
  projectId: number,
  group: GroupName,
  { limit, after }: { limit: number; after: string },
): Promise<Omit<GroupMembers, "ok" | "people">> {
  const found = await personsAfter(store.control, projectId, group, after, limit + 1);
  const persons = found.slice(0, limit);
  const [counts, seen, profileOf] = await Promise.all([
    exactCounts(store, projectId, persons),
    activityOf(store, projectId, persons),
    readProfiles(store.control, projectId, persons),
  ]);
  return {
    users: persons.map((userId) => ({
      userId,
      events: counts.get(userId) ?? 0,
      firstSeenAt: isoOf(seen.get(userId)?.firstAt),
      lastSeenAt: isoOf(seen.get(userId)?.lastAt),
      ...profileOf(userId),
    })),
    nextCursor: found.length > limit ? cursorOfText(persons.at(-1)!) : null,
  };
}

async function personsAfter(
  control: Control,
  projectId: number,
  { type, id }: GroupName,
  after: string,
  limit: number,
): Promise<string[]> {
  const rows = await groupMembers(control, projectId, type)
    .select((eb) => eb.fn.coalesce("personIds.personId", "members.userId").as("person"))
    .distinct()
    .where("members.groupId", "=", id)
    .where((eb) => eb(eb.fn.coalesce("personIds.personId", "members.userId"), ">", after))
    .orderBy("person")
    .limit(limit)
    .execute();
  return rows.map(({ person }) => person);
}

/** Removes a person from a group, by all of their IDs. Throws `group-unknown`, and `user-unknown` if they are no member. */
export async function removeMember(
  transaction: Transaction<ControlTables>,
  projectId: number,
  group: GroupName,
  userId: string,
): Promise<void> {
  await lockType(transaction, projectId, group.type);
  await rowOf(transaction, projectId, group);
  const { numDeletedRows } = await transaction
    .deleteFrom("userGroupMembers")
    .where("projectId", "=", projectId)
    .where("type", "=", group.type)
    .where("groupId", "=", group.id)
    .where("userId", "in", await idsOf(transaction, projectId, userId))
    .executeTakeFirst();
  const removed = Number(numDeletedRows);
  if (removed === 0) throw problem("user-unknown", { detail: "This user is not a member of the group." });
  await transaction
    .updateTable("userGroups")
    .set((eb) => ({
      memberCount: eb("memberCount", "-", removed),
      revision: crypto.randomUUID(),
      updatedAt: Date.now(),
    }))
    .where("projectId", "=", projectId)
    .where("type", "=", group.type)
    .where("groupId", "=", group.id)
    .execute();
}
