import type { Kysely, Selectable, Transaction } from "kysely";
import type { Change } from "../audit/changes.ts";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { isoOf } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { withChange } from "../core/with-change.ts";
import type { Cohort, CohortChange, CohortDraft, NewCohort } from "../schemas/cohort.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { lockCohorts, usesOfCohort } from "../storage/named-cohorts.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;
type CohortRow = Selectable<ControlTables["cohorts"]>;

/** Uses of a cohort that an error names. */
const namedUses = 5;

/** A project's cohorts, by name. */
export async function listCohorts(control: Control, projectId: number): Promise<Cohort[]> {
  const rows = await control
    .selectFrom("cohorts")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("deletedAt", "is", null)
    .orderBy("name")
    .execute();
  return rows.map(cohortOf);
}

/** Throws `cohort-unknown`. */
export async function findCohort(control: Control, projectId: number, id: string): Promise<Cohort> {
  const row = await control
    .selectFrom("cohorts")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("deletedAt", "is", null)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) throw problem("cohort-unknown", { detail: "This project has no cohort with this ID." });
  return cohortOf(row);
}

/** Creates a cohort, whose members are computed next. Throws `cohort-exists` and `limit-reached`. */
export async function createCohort(
  { transaction, projectId, record }: Change,
  { name, match, conditions }: NewCohort,
  nowMs: number,
): Promise<Cohort> {
  await lockCohorts(transaction);
  const all = await listCohorts(transaction, projectId);
  if (all.length >= limits.cohorts)
    throw problem("limit-reached", {
      detail: `A project can have at most ${limits.cohorts} cohorts. Delete one that you no longer need.`,
    });
  checkName(all, name);
  const id = Bun.randomUUIDv7();
  await transaction
    .insertInto("cohorts")
    .values({
      id,
      projectId,
      name,
      condition: conditionOf({ match, conditions }),
      createdAt: nowMs,
      updatedAt: nowMs,
      people: null,
      ids: null,
      computedAt: null,
      revision: crypto.randomUUID(),
      tookMs: null,
      failure: null,
      deletedAt: null,
      dueAt: nowMs,
      computedChanges: null,
      changesAt: null,
    })
    .execute();
  // Conditions are not in the audit log: they may name users.
  await record({ action: "cohort.created", target: name, detail: { id, conditions: conditions.length } });
  return findCohort(transaction, projectId, id);
}

/**
 * Changes a cohort. Other conditions are computed next; until then, it has the members of before. Throws
 * `cohort-unknown`, `changed-meanwhile`, `cohort-exists`, and `cohort-in-use` for another name if something names it.
 */
export async function changeCohort(
  { transaction, projectId, record }: Change,
  id: string,
  change: CohortChange,
  ifMatch: IfMatch,
  nowMs: number,
): Promise<Cohort> {
  await lockCohorts(transaction);
  const before = await findCohort(transaction, projectId, id);
  checkVersion(ifMatch, before);
  const after = withChange(before, change);
  if (after.name !== before.name) {
    checkName(await listCohorts(transaction, projectId), after.name);
    await checkUnused(transaction, projectId, before.name, "renamed");
  }
  const condition = conditionOf(after);
  const isOther = condition !== conditionOf(before);
  await transaction
    .updateTable("cohorts")
    .set({
      name: after.name,
      condition,
      updatedAt: nowMs,
      ...(isOther && { dueAt: nowMs, computedChanges: null, failure: null }),
    })
    .where("id", "=", id)
    .execute();
  const { name, match, conditions } = change;
  await record({
    action: "cohort.changed",
    target: after.name,
    detail: {
      id,
      ...(name && { name }),
      ...(match && { match }),
      ...(conditions && { conditions: conditions.length }),
    },
  });
  return findCohort(transaction, projectId, id);
}

/**
 * Deletes a cohort. Its members are removed afterwards. Throws `cohort-unknown`, and `cohort-in-use` if something names
 * it.
 */
export async function deleteCohort(
  { transaction, projectId, record }: Change,
  id: string,
  nowMs: number,
): Promise<void> {
  await lockCohorts(transaction);
  const { name } = await findCohort(transaction, projectId, id);
  await checkUnused(transaction, projectId, name, "deleted");
  await transaction
    .updateTable("cohorts")
    .set({ deletedAt: nowMs, dueAt: nowMs, name: deletedName(id) })
    .where("id", "=", id)
    .execute();
  await record({ action: "cohort.deleted", target: name, detail: { id } });
}

/** Frees the name of a deleted cohort. No other cohort can have this one, because names have no line breaks. */
function deletedName(id: string): string {
  return `${id}\n`;
}

async function checkUnused(control: Control, projectId: number, name: string, to: string): Promise<void> {
  const uses = await usesOfCohort(control, projectId, name);
  if (uses.length === 0) return;
  const named = uses.slice(0, namedUses).join(", ");
  const more = uses.length > namedUses ? ` and ${uses.length - namedUses} more` : "";
  throw problem("cohort-in-use", {
    detail: `The cohort "${name}" can't be ${to}, because it is used by ${named}${more}. Change or delete these first.`,
  });
}

function checkName(all: readonly Cohort[], name: string): void {
  if (all.some((cohort) => cohort.name === name))
    throw problem("cohort-exists", { detail: `The project has a cohort called "${name}" already.` });
}

/** The conditions of a stored cohort. */
export function draftOf({ condition }: Pick<CohortRow, "condition">): CohortDraft {
  return JSON.parse(condition) as CohortDraft;
}

function conditionOf({ match, conditions }: CohortDraft): string {
  return JSON.stringify({ match, conditions });
}

function cohortOf(row: CohortRow): Cohort {
  const { id, name, people, computedAt, failure, createdAt, updatedAt } = row;
  const { match, conditions } = draftOf(row);
  return {
    id,
    name,
    match,
    conditions,
    people,
    computedAt: computedAt === null ? null : isoOf(computedAt),
    failure,
    version: versionOf(name, match, conditions),
    createdAt: isoOf(createdAt),
    updatedAt: isoOf(updatedAt),
  };
}
