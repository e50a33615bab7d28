import type { Kysely, Transaction } from "kysely";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { parseSearch, printText, type Search } from "../event/search.ts";
import { nearest } from "../validation/nearest.ts";
import { type CohortRow, type Members, membersOf } from "./cohort-members.ts";
import type { ControlTables } from "./control-tables.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;

/** The members of cohorts that were read for saved searches, by project and name. */
export type ReadCohorts = ReadonlyMap<string, Members>;

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
 * cohort that doesn't exist, `cohort-not-ready` for one whose members were never computed, and `query-too-expensive` for
 * cohorts with more than `limits.searchCohortIds` IDs in all.
 *
 * @param options - `isSaved`: what would be a problem has no members instead; `read`: members that were read before
 */
export async function searchWithMembers(
  control: Control,
  projectId: number,
  search: Search,
  { isSaved = false, read }: { isSaved?: boolean; read?: ReadCohorts | undefined } = {},
): Promise<Search> {
  const names = [...new Set(cohortsIn(search))];
  if (names.length === 0) return search;
  const members = new Map<string, Members>();
  for (const name of names) {
    const known = read?.get(keyOf(projectId, name));
    if (known) members.set(name, known);
  }
  const open = names.filter((name) => !members.has(name));
  const rows = await rowsOf(control, projectId, open);
  let ids = 0;
  for (const row of rows) {
    if (row.ids === null && !isSaved) throw notReady(row.name);
    ids += row.ids ?? 0;
    if (ids > limits.searchCohortIds) {
      if (!isSaved) throw tooLarge();
      break;
    }
    members.set(row.name, await membersOf(control, row));
  }
  const unknown = names.find((name) => !members.has(name));
  if (unknown !== undefined && !isSaved) throw await unknownCohort(control, projectId, unknown);
  return replaced(search, members);
}

/** Reads the members of all cohorts in saved searches, so that a transaction that uses these need not. */
export async function readCohorts(
  control: Kysely<ControlTables>,
  searches: readonly { projectId: number; q: string | null }[],
): Promise<ReadCohorts> {
  const read = new Map<string, Members>();
  for (const { projectId, q } of searches) {
    if (!q?.includes("cohort:")) continue;
    const search = parseSearch(q);
    const names = search === null ? [] : [...new Set(cohortsIn(search))];
    let ids = 0;
    for (const row of await rowsOf(control, projectId, names)) {
      ids += row.ids ?? 0;
      if (ids > limits.searchCohortIds) break;
      const key = keyOf(projectId, row.name);
      if (!read.has(key)) read.set(key, await membersOf(control, row));
    }
  }
  return read;
}

/** The cohorts with these names, in the order of the names. */
async function rowsOf(control: Control, projectId: number, names: readonly string[]): Promise<CohortRow[]> {
  if (names.length === 0) return [];
  return control
    .selectFrom("cohorts")
    .select(["id", "projectId", "name", "ids", "revision"])
    .where("projectId", "=", projectId)
    .where("deletedAt", "is", null)
    .where("name", "in", names)
    .orderBy("name")
    .execute();
}

function keyOf(projectId: number, name: string): string {
  return `${projectId} ${name}`;
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

function tooLarge() {
  return problem("query-too-expensive", {
    detail: `The cohorts in the search have more than ${limits.searchCohortIds.toLocaleString("en")} IDs of people in all. Search for fewer or smaller ones.`,
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
