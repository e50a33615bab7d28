import type { Kysely, Transaction } from "kysely";
import { problem } from "../core/problems.ts";
import { parseSearch, SearchError } from "../event/search.ts";
import { cohortsIn } from "./cohorts.ts";
import type { ControlTables } from "./control-tables.ts";
import { withLock } from "./settings.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;

/** Fields of rules, tiles, views, silences and annotations that are searches. */
export const searchFields: ReadonlySet<string> = new Set([
  "q",
  "resolve",
  "steps",
  "again",
  "of",
  "activity",
  "anchor",
]);

/** A cohort that a search names, and where the search is, as a JSON Pointer. */
type NamedCohort = { name: string; pointer: string };

/**
 * Checks that the cohorts exist which the searches of something name that is to be saved. Until the transaction ends,
 * none is deleted or renamed. Throws `body-invalid`.
 *
 * @param saved - what is saved, with its searches at any depth
 */
export async function checkNamedCohorts(
  transaction: Transaction<ControlTables>,
  projectId: number,
  saved: object,
): Promise<void> {
  const named = [...namedCohorts(saved, "", false)];
  if (named.length === 0) return;
  await lockCohorts(transaction);
  const rows = await transaction
    .selectFrom("cohorts")
    .select("name")
    .where("projectId", "=", projectId)
    .where("deletedAt", "is", null)
    .execute();
  const known = new Set(rows.map(({ name }) => name));
  const errors = named
    .filter(({ name }) => !known.has(name))
    .map(({ name, pointer }) => ({
      pointer,
      detail: `"${pointer.slice(1)}" names a cohort that the project doesn't have: "${name}".`,
    }));
  if (errors.length > 0) throw problem("body-invalid", { detail: errors[0]!.detail, errors });
}

/** Keeps cohorts from being deleted or renamed, and what names them from being saved, until the transaction ends. */
export async function lockCohorts(transaction: Transaction<ControlTables>): Promise<void> {
  await withLock(transaction, "cohorts");
}

/** The things of a project that name a cohort, in words: `the rule "Payments"`. Deleted boards can be restored, so they count. */
export async function usesOfCohort(control: Control, projectId: number, name: string): Promise<string[]> {
  const [rules, boards, views, silences, annotations] = await Promise.all([
    control
      .selectFrom("rules")
      .select(["name", "q", "resolveQ as resolve", "condition"])
      .where("projectId", "=", projectId)
      .orderBy("name")
      .execute(),
    control
      .selectFrom("boards")
      .select(["name", "tiles", "deletedAt"])
      .where("projectId", "=", projectId)
      .orderBy("name")
      .execute(),
    control
      .selectFrom("views")
      .select(["name", "q", "accountId"])
      .where("projectId", "=", projectId)
      .orderBy("name")
      .execute(),
    control
      .selectFrom("silences")
      .select(["reason", "q"])
      .where("projectId", "=", projectId)
      .where("endsAt", ">", Date.now())
      .orderBy("reason")
      .execute(),
    control
      .selectFrom("annotations")
      .select(["name", "q"])
      .where("projectId", "=", projectId)
      .orderBy("name")
      .execute(),
  ]);
  const isUsed = (saved: object) => [...namedCohorts(saved, "", false)].some((each) => each.name === name);
  return [
    ...rules
      .filter(({ condition, ...rule }) => isUsed({ ...rule, condition: JSON.parse(condition) }))
      .map((rule) => `the rule "${rule.name}"`),
    ...boards
      .filter(({ tiles }) => isUsed({ tiles: JSON.parse(tiles) }))
      .map((board) => `the ${board.deletedAt === null ? "" : "deleted "}board "${board.name}"`),
    ...views
      .filter(isUsed)
      // The views of members are their own.
      .map((view) => (view.accountId === null ? `the view "${view.name}"` : "a member's own view")),
    ...silences.filter(isUsed).map((silence) => `the silence "${silence.reason}"`),
    ...annotations.filter(isUsed).map((annotation) => `the annotation "${annotation.name}"`),
  ];
}

function* namedCohorts(value: unknown, pointer: string, isSearch: boolean): Generator<NamedCohort> {
  if (typeof value === "string") {
    if (!isSearch || !value.includes("cohort:")) return;
    for (const name of new Set(cohortsOf(value))) yield { name, pointer };
  } else if (typeof value === "object" && value !== null) {
    const isList = Array.isArray(value);
    for (const [key, part] of Object.entries(value))
      yield* namedCohorts(part, `${pointer}/${key}`, isList ? isSearch : searchFields.has(key));
  }
}

function cohortsOf(q: string): string[] {
  try {
    const search = parseSearch(q);
    return search === null ? [] : cohortsIn(search);
  } catch (error) {
    if (error instanceof SearchError) return [];
    throw error;
  }
}
