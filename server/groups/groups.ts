import type { Kysely, Selectable, Transaction } from "kysely";
import { type Change, makeChange } from "../audit/changes.ts";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { isoOf } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { Event } from "../event/event.ts";
import type { EventFilter } from "../event/filter.ts";
import { Turns } from "../scheduling/turns.ts";
import type { Group, GroupsOfUser } from "../schemas/group.ts";
import type { UserProperties } from "../schemas/user-rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { peopleIn } from "../storage/group-rows.ts";
import { idsOf } from "../storage/people.ts";
import type { Store } from "../storage/store.ts";
import { applyChanges } from "../users/user-change.ts";
import { tooManyProperties } from "./save-groups.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;
type GroupRow = Selectable<ControlTables["userGroups"]>;
export type GroupName = { type: string; id: string };

/** Memberships that are removed in one commit. */
const stepRows = 500;

/** The types of groups that a project has, in the order in which they came. */
export async function listTypes(
  control: Control,
  projectId: number,
): Promise<{ type: string; groups: number }[]> {
  const rows = await control
    .selectFrom("userGroupTypes")
    .select(["type", "groupCount"])
    .where("projectId", "=", projectId)
    .orderBy("createdAt")
    .orderBy("type")
    .execute();
  return rows.map(({ type, groupCount }) => ({ type, groups: Number(groupCount) }));
}

/** A group with its events. Throws `group-unknown`. */
export async function findGroup(store: Store, projectId: number, name: GroupName): Promise<Group> {
  const row = await rowOf(store.control, projectId, name);
  const filter = filterOf(name);
  const [people, first, last] = await Promise.all([
    peopleIn(store.control, projectId, name.type, [name.id]),
    timeOf(store, projectId, filter, "asc"),
    timeOf(store, projectId, filter, "desc"),
  ]);
  const counts =
    first === null || last === null
      ? null
      : await store.events.count({
          projectId,
          filter,
          bounds: [Date.parse(first), Date.parse(last) + 1],
          split: { by: "name" },
          series: limits.userNames,
        });
  return {
    ...name,
    properties: JSON.parse(row.properties) as UserProperties,
    people: people.get(name.id) ?? 0,
    events: counts?.all[0] ?? 0,
    firstSeenAt: first,
    lastSeenAt: last,
    names: counts?.series.map(({ value, counts: [count] }) => ({ name: value, events: count! })) ?? [],
    createdAt: isoOf(row.createdAt),
    version: versionOf(row.properties),
  };
}

/** How many events a group has, and when the last one was. */
export async function activityOf(
  store: Store,
  projectId: number,
  name: GroupName,
): Promise<{ events: number; lastSeenAt: string | null }> {
  const filter = filterOf(name);
  const [first, last] = await Promise.all([
    timeOf(store, projectId, filter, "asc"),
    timeOf(store, projectId, filter, "desc"),
  ]);
  if (!first || !last) return { events: 0, lastSeenAt: null };
  const bounds = [Date.parse(first), Date.parse(last) + 1];
  const counts = await store.events.count({ projectId, filter, bounds, series: 0 });
  return { events: counts?.all[0] ?? 0, lastSeenAt: last };
}

function filterOf({ type, id }: GroupName): EventFilter {
  return { search: { kind: "group", type, ids: [id] } };
}

async function timeOf(
  { events }: Store,
  projectId: number,
  filter: EventFilter,
  order: "asc" | "desc",
): Promise<string | null> {
  const [json] = (await events.page({ projectId, filter, order }, 1)).events;
  return json === undefined ? null : (JSON.parse(json) as Event).createdAt;
}

/** The groups of a person, by any of their IDs. */
export async function groupsOfUser(
  control: Control,
  projectId: number,
  userId: string,
): Promise<GroupsOfUser["groups"]> {
  const rows = await control
    .selectFrom("userGroupMembers as members")
    .innerJoin("userGroups", (join) =>
      join
        .onRef("userGroups.projectId", "=", "members.projectId")
        .onRef("userGroups.type", "=", "members.type")
        .onRef("userGroups.groupId", "=", "members.groupId"),
    )
    .select(["userGroups.type", "userGroups.groupId", "userGroups.properties"])
    .distinct()
    .where("members.projectId", "=", projectId)
    .where("members.userId", "in", await idsOf(control, projectId, userId))
    .orderBy("userGroups.type")
    .orderBy("userGroups.groupId")
    .execute();
  return rows.map(({ type, groupId, properties }) => ({
    type,
    id: groupId,
    properties: JSON.parse(properties) as UserProperties,
  }));
}

/** Throws `group-unknown`. */
export async function rowOf(control: Control, projectId: number, { type, id }: GroupName): Promise<GroupRow> {
  const row = await control
    .selectFrom("userGroups")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("type", "=", type)
    .where("groupId", "=", id)
    .executeTakeFirst();
  if (!row)
    throw problem("group-unknown", { detail: "This project has no group of this type with this ID." });
  return row;
}

/** Merges properties into those of a group; null removes one. Throws `group-unknown`, `changed-meanwhile` and `body-invalid`. */
export async function changeGroup(
  { transaction, projectId }: Change,
  name: GroupName,
  set: UserProperties,
  ifMatch: IfMatch,
): Promise<void> {
  await lockType(transaction, projectId, name.type);
  const row = await rowOf(transaction, projectId, name);
  const properties = JSON.parse(row.properties) as UserProperties;
  const current = { ...name, properties, version: versionOf(row.properties) };
  checkVersion(ifMatch, current);
  const merged = applyChanges(properties, [{ userId: "", set }]);
  if (Object.entries(set).some(([key, value]) => value !== null && !Object.hasOwn(merged, key)))
    throw tooManyProperties();
  await transaction
    .updateTable("userGroups")
    .set({ properties: JSON.stringify(merged), updatedAt: Date.now() })
    .where("projectId", "=", projectId)
    .where("type", "=", name.type)
    .where("groupId", "=", name.id)
    .execute();
}

/** Deletes a group with its memberships. Events that name it by a tag keep the tag. Throws `group-unknown`. */
export async function deleteGroup(
  control: Kysely<ControlTables>,
  by: Pick<Change, "actor" | "projectId">,
  name: GroupName,
): Promise<void> {
  const { projectId } = by;
  await rowOf(control, projectId, name);
  const turns = new Turns(projectId);
  const members = () =>
    control
      .selectFrom("userGroupMembers")
      .select("userId")
      .where("projectId", "=", projectId)
      .where("type", "=", name.type)
      .where("groupId", "=", name.id);
  // A large one in small commits first, so that events are not held up.
  for (;;) {
    const rows = await members().orderBy("userId").limit(stepRows).execute();
    if (rows.length < stepRows) break;
    const userIds = rows.map(({ userId }) => userId);
    await control
      .deleteFrom("userGroupMembers")
      .where("projectId", "=", projectId)
      .where("type", "=", name.type)
      .where("groupId", "=", name.id)
      .where("userId", "in", userIds)
      .execute();
    await turns.next();
  }
  await makeChange(control, by, async ({ transaction, record }) => {
    await lockType(transaction, projectId, name.type);
    await rowOf(transaction, projectId, name);
    for (const table of ["userGroupMembers", "userGroups"] as const)
      await transaction
        .deleteFrom(table)
        .where("projectId", "=", projectId)
        .where("type", "=", name.type)
        .where("groupId", "=", name.id)
        .execute();
    await transaction
      .updateTable("userGroupTypes")
      .set((eb) => ({ groupCount: eb("groupCount", "-", 1) }))
      .where("projectId", "=", projectId)
      .where("type", "=", name.type)
      .execute();
    await transaction
      .deleteFrom("userGroupTypes")
      .where("projectId", "=", projectId)
      .where("type", "=", name.type)
      .where("groupCount", "<=", 0)
      .execute();
    await record({ action: "group.deleted", target: `${name.type} ${name.id}` });
  });
}

/** Keeps groups of a type from being changed by others until the transaction ends. */
export async function lockType(
  transaction: Transaction<ControlTables>,
  projectId: number,
  type: string,
): Promise<void> {
  await transaction
    .updateTable("userGroupTypes")
    .set((eb) => ({ groupCount: eb.ref("groupCount") }))
    .where("projectId", "=", projectId)
    .where("type", "=", type)
    .execute();
}
