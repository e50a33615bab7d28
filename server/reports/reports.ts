import type { Kysely, Transaction } from "kysely";
import type { Change } from "../audit/changes.ts";
import { findBoard } from "../boards/boards.ts";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { NewReport, Report, ReportChange, ReportSchedule } from "../schemas/report.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { withLock } from "../storage/settings.ts";
import { nextReportMs } from "./report-schedule.ts";

type ProjectKind = NonNullable<Report["destination"]>["kind"];
type Control = Kysely<ControlTables> | Transaction<ControlTables>;

/** Who reads reports: an account also its own, a key only those to destinations. */
export type ReportReader = { projectId: number; accountId: string | null };

/** The reports that somebody may see, oldest first: their own, and those to the project's destinations. */
export async function listReports(control: Control, reader: ReportReader): Promise<Report[]> {
  const rows = await selectReports(control, reader).orderBy("reports.id").execute();
  return rows.map(reportOf);
}

/** Throws `report-unknown`, also for the report of another member. */
export async function findReport(control: Control, reader: ReportReader, id: string): Promise<Report> {
  const row = await selectReports(control, reader).where("reports.id", "=", id).executeTakeFirst();
  if (!row) throw problem("report-unknown", { detail: "You have no report with this ID in this project." });
  return reportOf(row);
}

/**
 * Creates a report: to a destination of the project, or to the account's own email. Throws `board-unknown`,
 * `destination-unknown`, `report-empty`, `report-unreachable` and `limit-reached`.
 */
export async function createReport(
  { transaction, projectId, record }: Change,
  { board, destination, schedule }: NewReport,
  accountId: string | null,
  nowMs: number,
): Promise<Report> {
  await withLock(transaction, "reports");
  const { name, tiles } = await findBoard(transaction, projectId, board);
  if (tiles.length === 0)
    throw problem("report-empty", {
      detail: `The board "${name}" has no tiles. Add some before you send it.`,
    });
  if (destination === null) await checkOwnEmail(transaction, projectId, accountId);
  else await checkDestination(transaction, projectId, destination);
  const own = destination === null ? accountId : null;
  await checkCount(transaction, projectId, own);
  const id = Bun.randomUUIDv7();
  const row = {
    id,
    projectId,
    boardId: board,
    accountId: own,
    destinationId: destination,
    schedule: JSON.stringify(schedule),
    enabled: 1,
    dueAt: nextReportMs(schedule, nowMs),
    deliveryId: null,
    createdAt: nowMs,
  };
  await transaction.insertInto("reports").values(row).execute();
  await record({ action: "report.created", target: name, detail: { id, destination, schedule } });
  return findReport(transaction, { projectId, accountId }, id);
}

/** Changes when a report is sent, or turns it on or off. Throws `report-unknown` and `changed-meanwhile`. */
export async function changeReport(
  { transaction, projectId, record }: Change,
  { id, board }: Report,
  change: ReportChange,
  ifMatch: IfMatch,
  accountId: string | null,
  nowMs: number,
): Promise<Report> {
  await withLock(transaction, "reports");
  const before = await findReport(transaction, { projectId, accountId }, id);
  checkVersion(ifMatch, before);
  const { schedule = before.schedule, enabled = before.enabled } = change;
  const dueAt = enabled ? nextReportMs(schedule, nowMs) : null;
  await transaction
    .updateTable("reports")
    .set({ schedule: JSON.stringify(schedule), enabled: enabled ? 1 : 0, dueAt })
    .where("id", "=", id)
    .execute();
  await record({ action: "report.changed", target: board.name, detail: { id, ...change } });
  return findReport(transaction, { projectId, accountId }, id);
}

export async function deleteReport({ transaction, record }: Change, { id, board }: Report): Promise<void> {
  await transaction.deleteFrom("reports").where("id", "=", id).execute();
  await record({ action: "report.deleted", target: board.name, detail: { id } });
}

async function checkOwnEmail(
  transaction: Transaction<ControlTables>,
  projectId: number,
  accountId: string | null,
): Promise<void> {
  if (accountId === null)
    throw problem("report-unreachable", {
      detail: "An API key has no email address. Name one of the project's destinations.",
    });
  const row = await transaction
    .selectFrom("accounts")
    .leftJoin("emailUnsubscriptions", (join) =>
      join
        .onRef("emailUnsubscriptions.accountId", "=", "accounts.id")
        .on("emailUnsubscriptions.projectId", "=", projectId),
    )
    .select(["emailVerified", "emailUnsubscriptions.createdAt as unsubscribedAt"])
    .where("accounts.id", "=", accountId)
    .executeTakeFirstOrThrow();
  if (row.emailVerified !== 1)
    throw problem("report-unreachable", {
      detail: "Confirm your email address first: turn on email under Notifications in your account.",
    });
  if (row.unsubscribedAt !== null)
    throw problem("report-unreachable", {
      detail: "You unsubscribed from this project's email. Resume it under Notifications in your account.",
    });
}

async function checkDestination(
  transaction: Transaction<ControlTables>,
  projectId: number,
  id: string,
): Promise<void> {
  const row = await transaction
    .selectFrom("destinations")
    .select("id")
    .where("projectId", "=", projectId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) throw problem("destination-unknown", { detail: "This project has no destination with this ID." });
}

async function checkCount(
  transaction: Transaction<ControlTables>,
  projectId: number,
  accountId: string | null,
): Promise<void> {
  const { count } = await transaction
    .selectFrom("reports")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("projectId", "=", projectId)
    .where("accountId", accountId === null ? "is" : "=", accountId)
    .executeTakeFirstOrThrow();
  const max = accountId === null ? limits.reportsOfProject : limits.reportsOfAccount;
  if (Number(count) < max) return;
  throw problem("limit-reached", {
    detail: `${accountId === null ? "The destinations of a project get" : "You can get"} at most ${max} reports of a project. Delete one that you no longer need.`,
  });
}

function selectReports(control: Control, { projectId, accountId }: ReportReader) {
  return control
    .selectFrom("reports")
    .innerJoin("boards", "boards.id", "reports.boardId")
    .leftJoin("destinations", "destinations.id", "reports.destinationId")
    .leftJoin("deliveries", "deliveries.id", "reports.deliveryId")
    .selectAll("reports")
    .select([
      "boards.name as boardName",
      "destinations.name as destinationName",
      "destinations.kind",
      "deliveries.state",
      "deliveries.detail",
      "deliveries.createdAt as sentAt",
    ])
    .where("reports.projectId", "=", projectId)
    .where((eb) =>
      eb.or([
        eb("reports.accountId", "is", null),
        ...(accountId === null ? [] : [eb("reports.accountId", "=", accountId)]),
      ]),
    );
}

type Row = Awaited<ReturnType<ReturnType<typeof selectReports>["execute"]>>[number];

function reportOf(row: Row): Report {
  const { id, boardId, boardName, destinationId, enabled, dueAt, deliveryId, state } = row;
  return {
    id,
    board: { id: boardId, name: boardName },
    destination:
      destinationId === null
        ? null
        : { id: destinationId, name: row.destinationName!, kind: row.kind as ProjectKind },
    schedule: JSON.parse(row.schedule) as ReportSchedule,
    enabled: enabled === 1,
    dueAt: dueAt === null ? null : new Date(dueAt).toISOString(),
    last:
      deliveryId === null || state === null
        ? null
        : {
            delivery: String(deliveryId),
            state,
            detail: row.detail,
            at: new Date(row.sentAt!).toISOString(),
          },
    version: versionOf(row.schedule, enabled),
    createdAt: new Date(row.createdAt).toISOString(),
  };
}
