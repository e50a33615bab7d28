import type { Kysely, Selectable, Transaction } from "kysely";
import { LRUCache } from "lru-cache";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { printText, type Search } from "../event/search.ts";
import { type UserSet, UserSetBuilder } from "../event/user-set.ts";
import { nearest } from "../validation/nearest.ts";
import type { ControlTables } from "./control-tables.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;

/** Members that one statement reads. */
const stepRows = 5_000;
/** The members of a small cohort are searched for like users in a search: an index finds their events at once. */
const smallCohortIds = 200;

/**
 * The members of cohorts, as searches use them. A search names cohorts, and each read of events replaces them by their
 * members of that moment: a few IDs, or a set that threads share.
 *
 * A revision names the members for good. So sets are cached by it, whichever store they are of.
 *
 * Invariant: the members of cohorts in memory are bounded. Checked by `server/storage/cohorts.test.ts`.
 */
type Members = { ids: string[] } | { set: UserSet };
type CohortRow = Pick<Selectable<ControlTables["cohorts"]>, "id" | "ids" | "revision">;

const cache = new LRUCache<string, Members>({
  maxSize: limits.cohortBytes,
  sizeCalculation: (members) =>
    "set" in members ? members.set.slots.byteLength : 1_024 + members.ids.length * 256,
});

/** The names of the cohorts in a search. */
export function cohortsIn(search: Search): string[] {
  switch (search.kind) {
    case "all":
    case "any":
      return search.of.flatMap(cohortsIn);
    case "not":
      return cohortsIn(search.of);
    case "cohort":
      return search.names;
    default:
      return [];
  }
}

/**
 * A search with the members of its cohorts in their place; the same search if it has none. Throws `query-invalid` for a
 * cohort that doesn't exist, and `cohort-not-ready` for one whose members were never computed.
 *
 * @param isSaved - a cohort that doesn't exist, or isn't ready, has no members
 */
export async function searchWithMembers(
  control: Control,
  projectId: number,
  search: Search,
  { isSaved = false } = {},
): Promise<Search> {
  const names = [...new Set(cohortsIn(search))];
  if (names.length === 0) return search;
  const rows = await control
    .selectFrom("cohorts")
    .select(["id", "name", "ids", "revision"])
    .where("projectId", "=", projectId)
    .where("deletedAt", "is", null)
    .where("name", "in", names)
    .execute();
  const members = new Map<string, Members>();
  for (const { name, ...row } of rows) {
    if (row.ids === null && !isSaved) throw notReady(name);
    members.set(name, await membersOf(control, row));
  }
  const unknown = names.find((name) => !members.has(name));
  if (unknown !== undefined && !isSaved) throw await unknownCohort(control, projectId, unknown);
  return replaced(search, members);
}

async function unknownCohort(control: Control, projectId: number, name: string) {
  const rows = await control
    .selectFrom("cohorts")
    .select("name")
    .where("projectId", "=", projectId)
    .where("deletedAt", "is", null)
    .execute();
  const suggestion = nearest(
    name,
    rows.map((row) => row.name),
  );
  const hint = suggestion
    ? ` Did you mean cohort:${printText(suggestion)}?`
    : " GET /api/cohorts lists those that there are.";
  return problem("query-invalid", {
    detail: `This project has no cohort "${[...name].slice(0, 80).join("")}".${hint}`,
  });
}

function notReady(name: string) {
  return problem("cohort-not-ready", {
    detail: `Who is in the cohort "${name}" is being computed for the first time. Try again in some seconds.`,
    retryAfterSeconds: 5,
  });
}

function replaced(search: Search, members: ReadonlyMap<string, Members>): Search {
  switch (search.kind) {
    case "all":
    case "any":
      return { kind: search.kind, of: search.of.map((part) => replaced(part, members)) };
    case "not":
      return { kind: "not", of: replaced(search.of, members) };
    case "cohort": {
      const of = search.names.flatMap((name): Search[] => {
        const found = members.get(name);
        if (found === undefined) return [];
        if ("set" in found) return [{ kind: "members", set: found.set }];
        return found.ids.length === 0 ? [] : [{ kind: "field", field: "user", values: found.ids }];
      });
      // Without members, it is a cohort of nobody.
      if (of.length === 0) return { kind: "cohort", names: [] };
      return of.length === 1 ? of[0]! : { kind: "any", of };
    }
    default:
      return search;
  }
}

async function membersOf(control: Control, { id, ids, revision }: CohortRow): Promise<Members> {
  if (ids === null || ids === 0) return { ids: [] };
  const cached = cache.get(revision);
  if (cached) return cached;
  const read: string[] = [];
  const set = ids > smallCohortIds ? new UserSetBuilder(ids) : null;
  for (let after = ""; ; ) {
    const rows = await control
      .selectFrom("cohortMembers")
      .select("userId")
      .where("cohortId", "=", id)
      .where("userId", ">", after)
      .orderBy("userId")
      .limit(stepRows)
      .execute();
    for (const { userId } of rows) {
      if (set) set.add(userId);
      else read.push(userId);
    }
    if (rows.length < stepRows) break;
    after = rows.at(-1)!.userId;
  }
  const members: Members = set ? { set: set.set } : { ids: read };
  const now = await control.selectFrom("cohorts").select("revision").where("id", "=", id).executeTakeFirst();
  // What was read while the members changed is a mixture: it serves this read, and is read again by the next one.
  if (now?.revision === revision) cache.set(revision, members);
  return members;
}

/** Keeps the members of a new revision, for the process that has just computed them. */
export function rememberMembers(revision: string, userIds: readonly string[]): void {
  if (userIds.length <= smallCohortIds) {
    cache.set(revision, { ids: [...userIds] });
    return;
  }
  const set = new UserSetBuilder(userIds.length);
  for (const userId of userIds) set.add(userId);
  cache.set(revision, { set: set.set });
}
