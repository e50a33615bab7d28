import type { Kysely, Transaction } from "kysely";
import type { ControlTables } from "./control-tables.ts";
import { groupMembers } from "./group-members.ts";
import { joinedIdsOf, personsOf } from "./people.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;
type Properties = Record<string, string | number | boolean>;

/** Groups, and IDs of members, that one statement looks up. */
const lookedUp = 500;

/** How many people are in groups of a type, by the group's ID. Groups without members are missing. */
export async function peopleIn(
  control: Control,
  projectId: number,
  type: string,
  ids: readonly string[],
): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map();
  const rows = await groupMembers(control, projectId, type)
    .select((eb) => [
      "members.groupId",
      eb.fn.count<number>(eb.fn.coalesce("personIds.personId", "members.userId")).distinct().as("people"),
    ])
    .where("members.groupId", "in", ids)
    .groupBy("members.groupId")
    .execute();
  return new Map(rows.map(({ groupId, people }) => [groupId, Number(people)]));
}

/** The properties of groups of a type, and when they were saved, by the group's ID. Those that weren't are missing. */
export async function savedGroups(
  control: Control,
  projectId: number,
  type: string,
  ids: readonly string[],
): Promise<Map<string, { properties: Properties; createdAt: number }>> {
  const saved = new Map<string, { properties: Properties; createdAt: number }>();
  for (let at = 0; at < ids.length; at += lookedUp) {
    const rows = await control
      .selectFrom("userGroups")
      .select(["groupId", "properties", "createdAt"])
      .where("projectId", "=", projectId)
      .where("type", "=", type)
      .where("groupId", "in", ids.slice(at, at + lookedUp))
      .execute();
    for (const { groupId, properties, createdAt } of rows)
      saved.set(groupId, { properties: JSON.parse(properties) as Properties, createdAt: Number(createdAt) });
  }
  return saved;
}

/** What people call groups of a type, by the group's ID: their property `name`. Those without one are missing. */
export async function groupNames(
  control: Control,
  projectId: number,
  type: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (const [id, { properties }] of await savedGroups(control, projectId, type, ids)) {
    const name = Object.hasOwn(properties, "name") ? properties.name : undefined;
    if (typeof name === "string" && name.trim() !== "") names.set(id, name);
  }
  return names;
}

/** The IDs of the groups of a type of which the people of some user IDs are members, by user ID. */
export async function groupIdsOf(
  control: Control,
  projectId: number,
  type: string,
  userIds: readonly string[],
): Promise<Map<string, string[]>> {
  const persons = await personsOf(control, projectId, userIds);
  const personOfId = (userId: string) => persons.get(userId) ?? userId;
  const joined = await joinedIdsOf(control, projectId, [...new Set(userIds.map(personOfId))]);
  const all = [...new Set([...joined.values()].flat())];
  const ofId = new Map<string, string[]>();
  for (let at = 0; at < all.length; at += lookedUp) {
    const rows = await control
      .selectFrom("userGroupMembers")
      .select(["userId", "groupId"])
      .where("projectId", "=", projectId)
      .where("type", "=", type)
      .where("userId", "in", all.slice(at, at + lookedUp))
      .execute();
    for (const { userId, groupId } of rows) ofId.set(userId, [...(ofId.get(userId) ?? []), groupId]);
  }
  return new Map(
    userIds.map((userId) => [
      userId,
      [...new Set((joined.get(personOfId(userId)) ?? []).flatMap((id) => ofId.get(id) ?? []))],
    ]),
  );
}
