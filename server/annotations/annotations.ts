import type { ExpressionBuilder, Kysely, Selectable, Transaction } from "kysely";
import type { Change } from "../audit/changes.ts";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { isoOf } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { withChange } from "../core/with-change.ts";
import { msOf } from "../event/event-query.ts";
import {
  type Annotation,
  type AnnotationChange,
  type AnnotationListQuery,
  type AnnotationOf,
  isDate,
  type NewAnnotation,
} from "../schemas/annotation.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { checkNamedCohorts } from "../storage/named-cohorts.ts";
import { withLock } from "../storage/settings.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;
type AnnotationRow = Selectable<ControlTables["annotations"]>;

const dayMs = 24 * 60 * 60 * 1_000;
/** How far a day's beginning is from that of the same date in UTC, at most. */
const zoneMs = 14 * 60 * 60 * 1_000;

/** A page of a project's annotations, those created last first. */
export async function listAnnotations(
  control: Control,
  projectId: number,
  { type, limit, cursor }: Pick<AnnotationListQuery, "type" | "limit" | "cursor">,
): Promise<{ annotations: Annotation[]; nextCursor: string | null }> {
  const rows = await control
    .selectFrom("annotations")
    .selectAll()
    .where("projectId", "=", projectId)
    .where(isOfNoDeletedBoard)
    .$if(type !== undefined, (query) => query.where("type", "=", type!))
    // Ids are in the order in which annotations were created.
    .$if(cursor !== undefined, (query) => query.where("id", "<", cursor!))
    .orderBy("id", "desc")
    .limit(limit + 1)
    .execute();
  const page = rows.slice(0, limit);
  return {
    annotations: page.map(annotationOf),
    nextCursor: rows.length > limit ? page.at(-1)!.id : null,
  };
}

/** A deleted board can be restored, and has its notes again then. */
function isOfNoDeletedBoard({ or, eb, selectFrom }: ExpressionBuilder<ControlTables, "annotations">) {
  return or([
    eb("boardId", "is", null),
    eb("boardId", "in", selectFrom("boards").select("boards.id").where("boards.deletedAt", "is", null)),
  ]);
}

/** The searches whose events charts mark, in the order of their creation. */
export async function enabledSearches(
  control: Control,
  projectId: number,
): Promise<AnnotationOf<"events">[]> {
  const rows = await control
    .selectFrom("annotations")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("type", "=", "events")
    .where("enabled", "=", 1)
    .orderBy("id")
    .execute();
  return rows.map((row) => annotationOf(row) as AnnotationOf<"events">);
}

/** The notes of a project and of a board that may be in a range: days count from the first to the last time zone. */
export async function notesNear(
  control: Control,
  projectId: number,
  { fromMs, toMs, board }: { fromMs: number; toMs: number; board?: string | undefined },
): Promise<AnnotationOf<"note">[]> {
  const rows = await control
    .selectFrom("annotations")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("type", "=", "note")
    .where("at", ">", fromMs - dayMs - zoneMs)
    .where("at", "<", toMs + zoneMs)
    .where(isOfNoDeletedBoard)
    .where((eb) =>
      eb.or([eb("boardId", "is", null), ...(board === undefined ? [] : [eb("boardId", "=", board)])]),
    )
    .execute();
  return rows.map((row) => annotationOf(row) as AnnotationOf<"note">);
}

/** Throws `annotation-unknown`. */
export async function findAnnotation(control: Control, projectId: number, id: string): Promise<Annotation> {
  return annotationOf(await findRow(control, projectId, id));
}

/** Throws `body-invalid` for the board of another project and for an unknown cohort, and `limit-reached`. */
export async function createAnnotation(
  { transaction, projectId, actor, record }: Change,
  annotation: NewAnnotation,
): Promise<Annotation> {
  await withLock(transaction, "annotations");
  await checkRoom(transaction, projectId, annotation.type);
  const id = Bun.randomUUIDv7();
  const row: AnnotationRow = {
    ...{ id, projectId, type: annotation.type, createdBy: actor.name, createdAt: Date.now() },
    ...editableOf(annotation),
  };
  await checkBoard(transaction, projectId, row.boardId);
  await checkNamedCohorts(transaction, projectId, annotation);
  await transaction.insertInto("annotations").values(row).execute();
  await record({ action: "annotation.created", target: row.name, detail: { id, type: annotation.type } });
  return annotationOf(row);
}

/**
 * Changes an annotation. Throws `annotation-unknown`, `changed-meanwhile`, and `body-invalid`, also for fields of the
 * other type.
 */
export async function changeAnnotation(
  { transaction, projectId, record }: Change,
  id: string,
  change: AnnotationChange,
  ifMatch: IfMatch,
): Promise<Annotation> {
  await withLock(transaction, "annotations");
  const row = await findRow(transaction, projectId, id);
  const before = annotationOf(row);
  checkVersion(ifMatch, before);
  for (const field of Object.keys(change))
    if (!(field in before))
      throw invalid(field, before.type === "note" ? "is not a field of notes" : "is only a field of notes");
  const changed = { ...row, ...editableOf(withChange(before, change)) };
  if (changed.boardId !== row.boardId) await checkBoard(transaction, projectId, changed.boardId);
  await checkNamedCohorts(transaction, projectId, change);
  await transaction.updateTable("annotations").set(changed).where("id", "=", id).execute();
  await record({
    action: "annotation.changed",
    target: changed.name,
    detail: { id, fields: Object.keys(change) },
  });
  return annotationOf(changed);
}

/** Throws `annotation-unknown`. */
export async function deleteAnnotation(
  { transaction, projectId, record }: Change,
  id: string,
): Promise<Annotation> {
  const row = await findRow(transaction, projectId, id);
  await transaction.deleteFrom("annotations").where("id", "=", id).execute();
  await record({ action: "annotation.deleted", target: row.name, detail: { id } });
  return annotationOf(row);
}

async function findRow(control: Control, projectId: number, id: string): Promise<AnnotationRow> {
  const row = await control
    .selectFrom("annotations")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) throw problem("annotation-unknown", { detail: "This project has no annotation with this ID." });
  return row;
}

async function checkRoom(
  transaction: Transaction<ControlTables>,
  projectId: number,
  type: NewAnnotation["type"],
): Promise<void> {
  const { count } = await transaction
    .selectFrom("annotations")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("projectId", "=", projectId)
    .where("type", "=", type)
    .executeTakeFirstOrThrow();
  const [max, noun] =
    type === "note"
      ? [limits.noteAnnotations, "notes"]
      : [limits.eventAnnotations, "annotations by a search"];
  if (Number(count) >= max)
    throw problem("limit-reached", {
      detail: `A project can have at most ${max.toLocaleString("en")} ${noun}. Delete one that you no longer need.`,
    });
}

async function checkBoard(
  transaction: Transaction<ControlTables>,
  projectId: number,
  board: string | null,
): Promise<void> {
  if (board === null) return;
  const found = await transaction
    .selectFrom("boards")
    .select("id")
    .where("projectId", "=", projectId)
    .where("id", "=", board)
    .where("deletedAt", "is", null)
    .executeTakeFirst();
  if (!found) throw invalid("board", "is not the ID of a board of the project");
}

function invalid(field: string, fault: string) {
  const detail = `"${field}" ${fault}.`;
  return problem("body-invalid", { detail, errors: [{ pointer: `/${field}`, detail }] });
}

type Editable = Pick<AnnotationRow, "name" | "icon" | "color" | "q" | "enabled" | "at" | "isDay" | "boardId">;

function editableOf(annotation: NewAnnotation | Annotation): Editable {
  const { name, icon, color } = annotation;
  if (annotation.type === "events") {
    const { q, enabled } = annotation;
    return { name, icon, color, q, enabled: enabled ? 1 : 0, at: null, isDay: null, boardId: null };
  }
  const { at, board } = annotation;
  const isDay = isDate(at);
  const ms = isDay ? Date.parse(`${at}T00:00:00Z`) : Math.floor(msOf(at));
  return { name, icon, color, q: null, enabled: null, at: ms, isDay: isDay ? 1 : 0, boardId: board };
}

function annotationOf(row: AnnotationRow): Annotation {
  const { id, type, name, icon, color, createdBy } = row;
  const at = row.at === null ? null : Number(row.at);
  const edited = {
    createdBy,
    version: versionOf(name, icon, color, row.q, row.enabled, at, row.isDay, row.boardId),
    createdAt: isoOf(Number(row.createdAt)),
  };
  const kept = { id, name, icon, color };
  if (type === "events") return { type, ...kept, q: row.q!, enabled: row.enabled === 1, ...edited };
  const iso = isoOf(at!);
  return { type, ...kept, at: row.isDay === 1 ? iso.slice(0, 10) : iso, board: row.boardId, ...edited };
}
