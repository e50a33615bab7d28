import type { Kysely, Transaction } from "kysely";
import { limits } from "../core/limits.ts";
import { RecentReads } from "../core/recent-reads.ts";
import type { EventFilter } from "../event/filter.ts";
import { hasKind, parseSearch, type Search } from "../event/search.ts";
import { type ReadCohorts, searchWithMembers } from "./cohorts.ts";
import type { ControlTables } from "./control-tables.ts";
import { type HasTag, searchWithGroups } from "./groups.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;

/** IDs that one statement looks up. */
const lookedUpIds = 500;

/**
 * The people of projects: each is one user ID, or several that were joined. Events keep the IDs that they were sent with,
 * and this is read whenever they are counted or found. So a merge, or its undoing, counts at once and for all time.
 *
 * A person is known by their main ID. Analyses have the same answers as hashes (`analysis/person-hashes.ts`).
 */

/** The main ID of each of some IDs that are joined to another one. Others are missing: they are people themselves. */
export async function personsOf(
  control: Control,
  projectId: number,
  userIds: readonly string[],
): Promise<Map<string, string>> {
  const persons = new Map<string, string>();
  for (const some of inParts([...new Set(userIds)])) {
    const rows = await control
      .selectFrom("personIds")
      .select(["userId", "personId"])
      .where("projectId", "=", projectId)
      .where("userId", "in", some)
      .execute();
    for (const { userId, personId } of rows) if (userId !== personId) persons.set(userId, personId);
  }
  return persons;
}

/** The main ID of the person that an ID belongs to. */
export async function personOf(control: Control, projectId: number, userId: string): Promise<string> {
  return (await personsOf(control, projectId, [userId])).get(userId) ?? userId;
}

/** All IDs of the person that an ID belongs to, the main one first. */
export async function idsOf(control: Control, projectId: number, userId: string): Promise<string[]> {
  const person = await personOf(control, projectId, userId);
  return (await joinedIdsOf(control, projectId, [person])).get(person)!;
}

/** All IDs of people by their main IDs: the main one, then the others in the order of the database. */
export async function joinedIdsOf(
  control: Control,
  projectId: number,
  persons: readonly string[],
): Promise<Map<string, string[]>> {
  const ids = new Map(persons.map((person) => [person, [person]]));
  for (const some of inParts([...ids.keys()])) {
    const rows = await control
      .selectFrom("personIds")
      .select(["userId", "personId"])
      .where("projectId", "=", projectId)
      .where("personId", "in", some)
      .orderBy("personId")
      .orderBy("userId")
      .execute();
    for (const { userId, personId } of rows) if (userId !== personId) ids.get(personId)!.push(userId);
  }
  return ids;
}

/** IDs of people who were asked for lately. */
type RecentIds = RecentReads<string, { projectId: number; ids: string[] }>;
const recentIds = new WeakMap<Kysely<ControlTables>, RecentIds>();

function recentIdsOf(control: Kysely<ControlTables>): RecentIds {
  const known = recentIds.get(control);
  if (known) return known;
  const made: RecentIds = new RecentReads({
    async read(key) {
      const [project, userId] = JSON.parse(key) as [number, string];
      return { projectId: project, ids: await idsOf(control, project, userId) };
    },
    max: limits.recentPeople,
  });
  recentIds.set(control, made);
  return made;
}

/** Makes a change of a project's people effective at once for filters. Other nodes read them again within a second. */
export function peopleChanged(control: Kysely<ControlTables>, projectId: number): void {
  recentIds.get(control)?.invalidateWhere((recent) => recent.projectId === projectId);
}

/**
 * A filter that finds the events of all IDs of the people that it names, and of the members of its cohorts and groups.
 * The same filter if it names nobody. Throws `query-invalid` for a cohort that doesn't exist.
 *
 * @param options - `isSaved`: a cohort that doesn't exist has no members instead; `hasTag`: whether some event may have
 *   a tag, for a read that is made at once
 */
export async function withPeople(
  control: Kysely<ControlTables>,
  projectId: number,
  filter: EventFilter,
  options: ExpandOptions = {},
): Promise<EventFilter> {
  const named = usersIn(filter);
  if (named.length === 0) {
    if (!filter.search || !hasKind(filter.search, sets)) return filter;
    return { ...filter, search: await searchWithSets(control, projectId, filter.search, options) };
  }
  const { userId, search, ...rest } = filter;
  const recent = recentIdsOf(control);
  const idsOfEach = new Map<string, string[]>();
  for (const each of named) idsOfEach.set(each, (await recent.get(JSON.stringify([projectId, each]))).ids);
  const searches: Search[] = [];
  if (userId !== undefined) searches.push({ kind: "field", field: "user", values: idsOfEach.get(userId)! });
  if (search)
    searches.push(await searchWithSets(control, projectId, searchWithIds(search, idsOfEach), options));
  return { ...rest, search: searches.length === 1 ? searches[0]! : { kind: "all", of: searches } };
}

/**
 * The same for the search of something that was saved, such as a rule. What names nobody is returned as it is. A cohort
 * that doesn't exist any more has no members, because what was saved must go on.
 *
 * @param read - the members of cohorts that were read before
 */
export async function searchOfPeople(
  control: Control,
  projectId: number,
  q: string,
  read?: ReadCohorts,
): Promise<string | Search> {
  // Most searches name nobody, and need not be parsed.
  const search = q.includes(":") ? parseSearch(q) : null;
  if (search === null || !namesPeople({ search })) return q;
  const named = usersIn({ search });
  const withIds =
    named.length === 0 ? search : searchWithIds(search, await idsOfAll(control, projectId, named));
  return searchWithSets(control, projectId, withIds, { isSaved: true, read });
}

/** Whether a filter names users, cohorts or groups, so that what it finds can change without an event. */
export function namesPeople(filter: EventFilter): boolean {
  return usersIn(filter).length > 0 || (filter.search !== undefined && hasKind(filter.search, sets));
}

type ExpandOptions = { isSaved?: boolean; hasTag?: HasTag; read?: ReadCohorts | undefined };

/** Parts of a search that stand for many users. */
const sets = ["cohort", "group"] as const;

async function searchWithSets(
  control: Control,
  projectId: number,
  search: Search,
  { hasTag, ...options }: ExpandOptions,
): Promise<Search> {
  const withMembers = await searchWithMembers(control, projectId, search, options);
  return searchWithGroups(control, projectId, withMembers, hasTag);
}

/** For each of some IDs, all IDs of its person. */
async function idsOfAll(
  control: Control,
  projectId: number,
  userIds: readonly string[],
): Promise<Map<string, string[]>> {
  const persons = await personsOf(control, projectId, userIds);
  const personOfId = (userId: string) => persons.get(userId) ?? userId;
  const ids = await joinedIdsOf(control, projectId, [...new Set(userIds.map(personOfId))]);
  return new Map(userIds.map((userId) => [userId, ids.get(personOfId(userId))!]));
}

function usersIn({ userId, search }: EventFilter): string[] {
  const found: string[] = userId === undefined ? [] : [userId];
  const visit = (part: Search): void => {
    if (part.kind === "all" || part.kind === "any") part.of.forEach(visit);
    else if (part.kind === "not") visit(part.of);
    else if (part.kind === "field" && part.field === "user") found.push(...part.values);
  };
  if (search) visit(search);
  return found;
}

function searchWithIds(search: Search, idsOfEach: ReadonlyMap<string, string[]>): Search {
  switch (search.kind) {
    case "all":
    case "any":
      return { kind: search.kind, of: search.of.map((part) => searchWithIds(part, idsOfEach)) };
    case "not":
      return { kind: "not", of: searchWithIds(search.of, idsOfEach) };
    case "field":
      if (search.field !== "user") return search;
      return { ...search, values: [...new Set(search.values.flatMap((userId) => idsOfEach.get(userId)!))] };
    default:
      return search;
  }
}

function inParts(userIds: readonly string[]): string[][] {
  const parts: string[][] = [];
  for (let at = 0; at < userIds.length; at += lookedUpIds) parts.push(userIds.slice(at, at + lookedUpIds));
  return parts;
}
