import type { Kysely, Selectable, Transaction } from "kysely";
import type { Search } from "../event/search.ts";
import { UserSetBuilder } from "../event/user-set.ts";
import { Turns } from "../scheduling/turns.ts";
import { type Members, MembersBuilder, memberCache, smallCohortIds } from "./cohort-members.ts";
import type { ControlTables } from "./control-tables.ts";
import { groupMembers } from "./group-members.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;
/** Whether some event may have a tag with a key. */
export type HasTag = (key: string) => Promise<boolean>;
type GroupSearch = Extract<Search, { kind: "group" }>;
type GroupRow = Pick<
  Selectable<ControlTables["userGroups"]>,
  "type" | "groupId" | "memberCount" | "revision"
>;

/** Members that one statement reads. */
const stepRows = 5_000;

/**
 * Groups in searches. An event belongs to the group that it names by a tag, whose key is the group's type. Without such
 * a tag, it belongs to the groups of that type of which its person is a member, by any of their IDs. That is looked up
 * whenever events are counted or found, so a change of the members counts at once and for past events too.
 *
 * Invariant: a search for a group finds the events that name it, and those without such a tag of its members. Checked by
 * `server/groups/membership.test.ts`.
 */

/** The parts of a search that name groups. */
function groupsIn(search: Search): GroupSearch[] {
  switch (search.kind) {
    case "all":
    case "any":
      return search.of.flatMap(groupsIn);
    case "not":
      return groupsIn(search.of);
    case "group":
      return [search];
    default:
      return [];
  }
}

/**
 * A search with tags and members in the place of its groups; the same search if it has none. If the project has no
 * groups of a type, only the tag counts.
 *
 * @param hasTag - without it, events are taken to have the tag of a type. If none has it, users alone decide, as an
 *   index does
 */
export async function searchWithGroups(
  control: Control,
  projectId: number,
  search: Search,
  hasTag: HasTag = async () => true,
): Promise<Search> {
  const named = groupsIn(search);
  if (named.length === 0) return search;
  const types = [...new Set(named.map(({ type }) => type))];
  const ids = [...new Set(named.flatMap((each) => each.ids))];
  const [rows, people] = await Promise.all([
    control
      .selectFrom("userGroups")
      .select(["type", "groupId", "memberCount", "revision"])
      .where("projectId", "=", projectId)
      .where("type", "in", types)
      .where("groupId", "in", ids)
      .execute(),
    peopleVersion(control, projectId),
  ]);
  const members = new Map<string, Members>();
  for (const row of rows) {
    const { type, groupId } = row;
    if (named.some((each) => each.type === type && each.ids.includes(groupId)))
      members.set(keyOf(type, groupId), await membersOf(control, projectId, row, people));
  }
  const tagged = new Set<string>();
  for (const type of new Set(rows.map((row) => row.type))) if (await hasTag(type)) tagged.add(type);
  return replaced(search, members, tagged);
}

function keyOf(type: string, groupId: string): string {
  return JSON.stringify([type, groupId]);
}

/** @param tagged - the types that are the key of a tag of some event */
function replaced(
  search: Search,
  members: ReadonlyMap<string, Members>,
  tagged: ReadonlySet<string>,
): Search {
  switch (search.kind) {
    case "all":
    case "any":
      return { kind: search.kind, of: search.of.map((part) => replaced(part, members, tagged)) };
    case "not":
      return { kind: "not", of: replaced(search.of, members, tagged) };
    case "group": {
      const found = search.ids.flatMap((id) => members.get(keyOf(search.type, id)) ?? []);
      return tagged.has(search.type) ? eventsOf(search, found) : eventsOfMembers(search, found);
    }
    default:
      return search;
  }
}

/** The same where no event has such a tag. */
function eventsOfMembers({ type, ids }: GroupSearch, members: readonly Members[]): Search {
  const of = members.flatMap((each): Search[] => {
    if ("set" in each) return [{ kind: "members", set: each.set }];
    return each.ids.length === 0 ? [] : [{ kind: "field", field: "user", values: each.ids }];
  });
  if (of.length === 0) return { kind: "tag", key: type, values: ids };
  return of.length === 1 ? of[0]! : { kind: "any", of };
}

/** The events that name one of the groups, and those of members that name none of the type. */
function eventsOf({ type, ids }: GroupSearch, members: readonly Members[]): Search {
  const tagged: Search = { kind: "tag", key: type, values: ids };
  const large = members.flatMap((each) => ("set" in each ? [each.set] : []));
  const userIds = [...new Set(members.flatMap((each) => ("ids" in each ? each.ids : [])))];
  if (userIds.length === 0 && large.length === 0) return tagged;
  const ofSets = large.map((set): Search => ({ kind: "members", set, withoutTag: type }));
  if (userIds.length === 0) return { kind: "any", of: [tagged, ...ofSets] };
  const small = new UserSetBuilder(userIds.length);
  for (const userId of userIds) small.add(userId);
  const exact: Search = {
    kind: "any",
    of: [tagged, ...ofSets, { kind: "members", set: small.set, withoutTag: type }],
  };
  if (large.length > 0 || userIds.length > smallCohortIds) return exact;
  // An index knows users and tags, so it finds the few events that can match. It can't tell who lacks a tag.
  const candidates: Search = { kind: "any", of: [tagged, { kind: "field", field: "user", values: userIds }] };
  return { kind: "all", of: [candidates, exact] };
}

/** All IDs of the people in a group. */
async function membersOf(
  control: Control,
  projectId: number,
  row: GroupRow,
  people: number,
): Promise<Members> {
  if (row.memberCount === 0) return { ids: [] };
  // Who has which IDs is a part of it.
  const key = `${row.revision} ${people}`;
  const cached = memberCache.get(key);
  if (cached) return cached;
  const ids = new Set<string>();
  for (let after = ""; ; ) {
    const step = await memberStep(control, projectId, row, after);
    for (const { userId, personId } of step) ids.add(userId).add(personId);
    for (const userId of await otherIdsIn(control, projectId, row, after, step.at(-1)?.userId ?? after))
      ids.add(userId);
    if (step.length < stepRows) break;
    after = step.at(-1)!.userId;
  }
  const turns = new Turns(projectId);
  const built = new MembersBuilder(ids.size);
  for (const userId of ids) {
    built.add(userId);
    if (turns.isOver) await turns.next();
  }
  const members = built.built;
  const now = await control
    .selectFrom("userGroups")
    .select("revision")
    .where("projectId", "=", projectId)
    .where("type", "=", row.type)
    .where("groupId", "=", row.groupId)
    .executeTakeFirst();
  // What was read while the members changed is a mixture: it serves this read, and is read again by the next one.
  if (now?.revision === row.revision && (await peopleVersion(control, projectId)) === people)
    memberCache.set(key, members);
  return members;
}

/** The next members of a group by the IDs that were named, with the main IDs of their people. */
async function memberStep(
  control: Control,
  projectId: number,
  { type, groupId }: GroupRow,
  after: string,
): Promise<{ userId: string; personId: string }[]> {
  return groupMembers(control, projectId, type)
    .select((eb) => ["members.userId", eb.fn.coalesce("personIds.personId", "members.userId").as("personId")])
    .where("members.groupId", "=", groupId)
    .where("members.userId", ">", after)
    .orderBy("members.userId")
    .limit(stepRows)
    .execute();
}

/** The IDs that are joined to the people of such a step. */
async function otherIdsIn(
  control: Control,
  projectId: number,
  { type, groupId }: GroupRow,
  after: string,
  last: string,
): Promise<string[]> {
  const rows = await groupMembers(control, projectId, type)
    .innerJoin("personIds as others", (join) =>
      join
        .onRef("others.projectId", "=", "members.projectId")
        .on((eb) => eb("others.personId", "=", eb.fn.coalesce("personIds.personId", "members.userId"))),
    )
    .select("others.userId as userId")
    .where("members.groupId", "=", groupId)
    .where("members.userId", ">", after)
    .where("members.userId", "<=", last)
    .execute();
  return rows.flatMap(({ userId }) => userId ?? []);
}

async function peopleVersion(control: Control, projectId: number): Promise<number> {
  const row = await control
    .selectFrom("peopleVersions")
    .select("version")
    .where("projectId", "=", projectId)
    .executeTakeFirst();
  return row?.version ?? 0;
}
