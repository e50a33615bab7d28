import type { Transaction } from "kysely";
import type { Change } from "../audit/changes.ts";
import { problem } from "../core/problems.ts";
import { deliveryTo, type Recipient } from "../notifications/new-delivery.ts";
import type { ReportNotification } from "../notifications/notification-message.ts";
import type { Report, ReportSchedule } from "../schemas/report.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { nextReportMs, periodBefore } from "./report-schedule.ts";

/**
 * Makes the delivery of a report that is due, and notes when it is due next. Does nothing if another node was faster.
 * Returns whether it made one. One that is overdue, after the server was down, is sent once.
 *
 * Invariant: each time of a report is one delivery, over restarts and nodes: the transaction that makes it moves the
 * time, if nobody has. Checked by `server/reports/exactly-once.test.ts`.
 *
 * @param delayMs - how much later it is sent
 */
export async function makeDue(
  transaction: Transaction<ControlTables>,
  { id, dueAt }: { id: string; dueAt: number },
  nowMs: number,
  delayMs: number,
): Promise<boolean> {
  const row = await transaction
    .selectFrom("reports")
    .innerJoin("boards", "boards.id", "reports.boardId")
    .innerJoin("projects", "projects.id", "reports.projectId")
    .select(["reports.projectId", "boardId", "boards.name", "schedule"])
    .select(["accountId", "destinationId"])
    .where("reports.id", "=", id)
    .where("projects.deletedAt", "is", null)
    .executeTakeFirst();
  if (!row) {
    // Its board or project ended while it was made. It must not stay due for ever.
    await transaction.deleteFrom("reports").where("id", "=", id).execute();
    return false;
  }
  const schedule = JSON.parse(row.schedule) as ReportSchedule;
  const { numUpdatedRows } = await transaction
    .updateTable("reports")
    .set({ dueAt: nextReportMs(schedule, nowMs) })
    .where("id", "=", id)
    .where("dueAt", "=", dueAt)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  const recipient = await findRecipient(transaction, row);
  if (!recipient) return false;
  const board = { id: row.boardId, name: row.name };
  const report = { id, projectId: row.projectId, board, schedule };
  await makeDelivery(transaction, report, recipient, { nowMs, delayMs, isTest: false });
  return true;
}

/** Sends a report now, as a test. Throws `report-unreachable`. */
export async function sendReportNow(
  { transaction, projectId, record }: Change,
  { id, board, schedule, destination }: Report,
  accountId: string | null,
  nowMs: number,
): Promise<void> {
  const to = destination
    ? { projectId, accountId: null, destinationId: destination.id }
    : { projectId, accountId, destinationId: null };
  const recipient = await findRecipient(transaction, to);
  if (!recipient)
    throw problem("report-unreachable", {
      detail: destination
        ? "Its destination was deleted. Delete the report, too."
        : "Your account has no email destination.",
    });
  const report = { id, projectId, board, schedule };
  await makeDelivery(transaction, report, recipient, { nowMs, delayMs: 0, isTest: true });
  await record({ action: "report.sent", target: board.name, detail: { id } });
}

async function makeDelivery(
  transaction: Transaction<ControlTables>,
  report: Pick<Report, "id" | "board" | "schedule"> & { projectId: number },
  recipient: Recipient,
  { nowMs, delayMs, isTest }: { nowMs: number; delayMs: number; isTest: boolean },
): Promise<void> {
  const { id, projectId, board, schedule } = report;
  const notification: ReportNotification = {
    type: "report",
    report: id,
    board,
    ...periodBefore(schedule.every, schedule.timeZone, nowMs),
    atMs: nowMs,
    isTest,
  };
  const content = { projectId, notification: JSON.stringify(notification) };
  const delivery = { ...deliveryTo(recipient, content, nowMs), nextAttemptAt: nowMs + delayMs };
  const made = await transaction
    .insertInto("deliveries")
    .values(delivery)
    .returning("id")
    .executeTakeFirstOrThrow();
  await transaction.updateTable("reports").set({ deliveryId: made.id }).where("id", "=", id).execute();
}

/** The destination of the project, or the email of the account. */
async function findRecipient(
  transaction: Transaction<ControlTables>,
  to: { projectId: number; accountId: string | null; destinationId: string | null },
): Promise<Recipient | undefined> {
  const destinations = transaction
    .selectFrom("destinations")
    .select(["accountId", "id", "kind", "name as label"]);
  return to.destinationId === null
    ? destinations.where("accountId", "=", to.accountId).where("kind", "=", "email").executeTakeFirst()
    : destinations
        .where("id", "=", to.destinationId)
        .where("projectId", "=", to.projectId)
        .executeTakeFirst();
}
