import { type JobContext, removeAll } from "../background/job-context.ts";
import { addToReceipt, changeJob, type JobDetail, type JobRow, removeSubject } from "../background/jobs.ts";
import { type Event, NewEvent } from "../event/event.ts";
import type { AppendResult } from "../storage/event-store.ts";
import { peopleChanged } from "../storage/people.ts";
import { eraseFromGroups } from "./erase-from-groups.ts";
import { forgetPerson, noteIds } from "./erase-person.ts";
import { eraseRuleValues } from "./erase-rule-values.ts";
import { eraseVisit } from "./visitors.ts";

/** Rows read at a time. Bodies of rejected events may be long. */
const rejectedRows = 20;
const responseRows = 500;
const userFields = /"user(?:Id|_id)"\s*:\s*("(?:[^"\\]|\\.)*")/g;

/**
 * Erases a user from a project: all events, and everything else that names them by any of their IDs. `eraseTraces` then
 * cleans the files.
 */
export async function eraseUser(context: JobContext, job: JobRow): Promise<void> {
  const { control, events } = context.store;
  const projectId = job.projectId!;
  const subject = subjectOf(job);
  // It stopped after the subject was removed, but before it was finished.
  if (subject === undefined) return;
  const done = new Set<string>();
  for (let isOver = false; !isOver; ) {
    const ids = await noteIds(context, job, subject);
    if (job.total === null && done.size === 0)
      await changeJob(control, job.id, {
        total: await events.countRemovable({ projectId, userIds: ids }),
      });
    const left = ids.filter((userId) => !done.has(userId));
    if (left.length > 0) await eraseEvents(context, job, left);
    for (const userId of left) {
      await eraseId(context, job, userId);
      done.add(userId);
    }
    isOver = await forgetPerson(context, job, [...done]);
    peopleChanged(control, projectId);
  }
}

/** Erases the events of all IDs together: where old events are, a removal takes as long for one ID. */
async function eraseEvents(context: JobContext, job: JobRow, userIds: readonly string[]): Promise<void> {
  const { events } = context.store;
  const projectId = job.projectId!;
  const removal = { projectId, userIds };
  // By event id, because the user's id must not remain anywhere.
  const announce = (ids: string[]) => events.announceDeleted(projectId, { ids });
  await removeAll(context, removal, job.id, announce);
  // Again for events that arrived in the meantime with an earlier `createdAt`.
  await removeAll(context, removal, job.id, announce);
}

/** Erases what else names an ID. */
async function eraseId(context: JobContext, job: JobRow, userId: string): Promise<void> {
  const projectId = job.projectId!;
  await eraseRejectedEvents(context, job, userId);
  await eraseResponses(context, job, userId);
  await eraseFailures(context, projectId, userId);
  await eraseWebhookRequests(context, projectId, userId);
  await erasePingBodies(context, projectId, userId);
  await eraseRuleValues(context, projectId, userId);
  await eraseVisit(context.store.control, projectId, userId);
  await eraseFromGroups(context.store.control, projectId, userId);
  await context.store.control
    .deleteFrom("userNotes")
    .where("projectId", "=", projectId)
    .where("userId", "=", userId)
    .execute();
}

/**
 * Erases all traces of erased users from every file, of many users as quickly as of one. Each receipt counts the copies
 * of the database that were deleted.
 *
 * Invariant: after an erasure, no file of the data directory contains the user's id. Checked by
 * `server/users/erase-user.test.ts`.
 */
export async function eraseTraces(context: JobContext, jobs: JobRow[]): Promise<void> {
  const { control, events } = context.store;
  const { copies } = await events.purge(context.pause);
  for (const { id } of jobs) {
    await control.transaction().execute(async (transaction) => {
      await addToReceipt(transaction, id, { erasedCopies: copies });
      await removeSubject(transaction, id);
    });
    await context.pause();
  }
  // The jobs themselves were the last to name the users.
  await events.purge(context.pause, false);
}

function subjectOf(job: JobRow): string | undefined {
  return (JSON.parse(job.detail) as JobDetail).subject;
}

/** Erases answers of destinations that repeat the user's id. */
async function eraseFailures(
  { store: { control } }: JobContext,
  projectId: number,
  userId: string,
): Promise<void> {
  const rows = await control
    .selectFrom("destinations")
    .select(["id", "failure"])
    .where("projectId", "=", projectId)
    .where("failure", "is not", null)
    .execute();
  const ids = rows.filter(({ failure }) => failure!.includes(userId)).map(({ id }) => id);
  if (ids.length === 0) return;
  await control.updateTable("destinations").set({ failure: null }).where("id", "in", ids).execute();
}

/** Erases what was sent with pings of heartbeats, if it contains the user's id. */
async function erasePingBodies(
  { store: { control }, pause }: JobContext,
  projectId: number,
  userId: string,
): Promise<void> {
  const heartbeats = await control
    .selectFrom("heartbeats")
    .select("id")
    .where("projectId", "=", projectId)
    .execute();
  for (const { id } of heartbeats) {
    const rows = await control
      .selectFrom("heartbeatPings")
      .select(["id", "body"])
      .where("heartbeatId", "=", id)
      .where("body", "is not", null)
      .execute();
    const ids = rows.filter(({ body }) => body!.includes(userId)).map((row) => row.id);
    if (ids.length > 0)
      await control.updateTable("heartbeatPings").set({ body: null }).where("id", "in", ids).execute();
    await pause();
  }
}

/**
 * Erases kept requests of webhooks that contain the user's id: which part of a body is the user depends on the mapping.
 */
async function eraseWebhookRequests(
  { store: { control }, pause }: JobContext,
  projectId: number,
  userId: string,
): Promise<void> {
  const webhooks = await control
    .selectFrom("webhooks")
    .select("id")
    .where("projectId", "=", projectId)
    .execute();
  for (const { id } of webhooks) {
    const rows = await control
      .selectFrom("webhookRequests")
      .select(["id", "body", "headers", "problem"])
      .where("webhookId", "=", id)
      .execute();
    // A body that could not be parsed is kept as one JSON string: of JSON, or of a form.
    const texts = [userId, escaped(userId), escaped(escaped(userId)), encodeURIComponent(userId)];
    const ids = rows
      .filter((row) => texts.some((text) => `${row.body}\n${row.headers}\n${row.problem}`.includes(text)))
      .map((row) => row.id);
    if (ids.length > 0) await control.deleteFrom("webhookRequests").where("id", "in", ids).execute();
    await pause();
  }
}

async function eraseRejectedEvents(context: JobContext, job: JobRow, userId: string): Promise<void> {
  const { control, together } = context.store;
  for (let last = 0; ; ) {
    const rows = await control
      .selectFrom("rejectedEvents")
      .select(["id", "body"])
      .where("projectId", "=", job.projectId!)
      .where("id", ">", last)
      .orderBy("id")
      .limit(rejectedRows)
      .execute();
    const ids = rows.filter(({ body }) => bodyNamesUser(body, userId)).map(({ id }) => id);
    await together("removal", async (transaction) => {
      if (ids.length > 0) await transaction.deleteFrom("rejectedEvents").where("id", "in", ids).execute();
      await addToReceipt(transaction, job.id, { erasedRejectedEvents: ids.length });
    });
    if (rows.length < rejectedRows) return;
    last = rows.at(-1)!.id;
    await context.pause();
  }
}

/**
 * Whether a rejected body is about a user. It names them as an event does, or within a field that events don't have,
 * such as `user`, which may be why it was rejected. If a body can't be parsed, any occurrence of the id counts.
 */
export function bodyNamesUser(body: string, userId: string): boolean {
  // JSON.parse keeps only the last of duplicate fields.
  for (const [, field] of body.matchAll(userFields)) if (field === `"${escaped(userId)}"`) return true;
  let event: unknown;
  try {
    event = JSON.parse(body);
  } catch {
    return body.includes(userId) || body.includes(escaped(userId));
  }
  // An array that a client of another service sent was rejected as a whole.
  if (Array.isArray(event)) return event.some((item) => typeof item === "object" && contains(item, userId));
  if (typeof event !== "object" || event === null) return false;
  return Object.entries(event).some(([field, value]) =>
    field === "userId" || field === "user_id"
      ? String(value) === userId
      : !Object.hasOwn(NewEvent.shape, field) && contains(value, userId),
  );
}

/** Whether a value is a text, or contains it at any depth. */
function contains(value: unknown, text: string): boolean {
  const stack = [value];
  while (stack.length > 0) {
    const next = stack.pop();
    if (typeof next === "object" && next !== null) stack.push(...Object.values(next));
    else if (String(next) === text) return true;
  }
  return false;
}

async function eraseResponses(context: JobContext, job: JobRow, userId: string): Promise<void> {
  const { control, together } = context.store;
  for (let last = ""; ; ) {
    const rows = await control
      .selectFrom("idempotencyKeys")
      .select(["key", "responseTemplate", "results"])
      .where("projectId", "=", job.projectId!)
      .where("key", ">", last)
      .orderBy("key")
      .limit(responseRows)
      .execute();
    const keys = rows.filter((row) => responseNamesUser(row, userId)).map(({ key }) => key);
    await together("removal", async (transaction) => {
      if (keys.length > 0) {
        await transaction
          .deleteFrom("idempotencyKeys")
          .where("projectId", "=", job.projectId!)
          .where("key", "in", keys)
          .execute();
      }
      await addToReceipt(transaction, job.id, { erasedResponses: keys.length });
    });
    if (rows.length < responseRows) return;
    last = rows.at(-1)!.key;
    await context.pause();
  }
}

/** Whether a response contains an event of the user, or quotes the user's id in a problem. */
function responseNamesUser(
  { responseTemplate, results }: { responseTemplate: string; results: string },
  userId: string,
): boolean {
  const template = JSON.parse(responseTemplate) as { userId?: string } | (string | object)[];
  const isInTemplate = Array.isArray(template)
    ? template.some((item) => typeof item === "object" && JSON.stringify(item).includes(escaped(userId)))
    : template.userId === userId;
  if (isInTemplate) return true;
  return (JSON.parse(results) as AppendResult[]).some(
    (result) => result.kind === "duplicate" && (JSON.parse(result.json) as Event).userId === userId,
  );
}

/** Escapes a text as in JSON, without the quotes. */
function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
