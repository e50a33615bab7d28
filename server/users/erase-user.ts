import { type JobContext, removeAll } from "../background/job-context.ts";
import { addToReceipt, changeJob, forgetSubject, type JobDetail, type JobRow } from "../background/jobs.ts";
import { type Event, NewEvent } from "../event/event.ts";
import type { AppendResult } from "../storage/store.ts";

/** Rows that are looked through at a time; bodies of rejected events may be long. */
const rejectedRows = 20;
const answerRows = 500;
const userMembers = /"user(?:Id|_id)"\s*:\s*("(?:[^"\\]|\\.)*")/g;

/** Erases a user of a project: every event, and each other place that names them. Then `eraseTraces` has the files to clean. */
export async function eraseUser(work: JobContext, job: JobRow): Promise<void> {
  const { control, events } = work.store;
  const projectId = job.projectId!;
  const userId = subjectOf(job);
  // Stopped after it had forgotten the user, before it was done.
  if (userId === undefined) return;
  const removal = { projectId, userId };
  if (job.total === null) await changeJob(control, job.id, { total: await events.countRemovable(removal) });
  // By their ids, as what names the user may stay nowhere.
  const announce = (ids: string[]) => events.announceDeleted(projectId, { ids });
  await removeAll(work, removal, job.id, announce);
  // Once more for those that came meanwhile, dated to before the place where the first way had got to.
  await removeAll(work, removal, job.id, announce);
  await eraseRejectedEvents(work, job, userId);
  await eraseAnswers(work, job, userId);
  await control.transaction().execute(async (transaction) => {
    const { numDeletedRows } = await transaction
      .deleteFrom("users")
      .where("projectId", "=", projectId)
      .where("userId", "=", userId)
      .executeTakeFirst();
    await addToReceipt(transaction, job.id, { erasedProfiles: Number(numDeletedRows) });
    await changeJob(transaction, job.id, { state: "cleaning" });
  });
}

/** Erases from every file what is left of erased users, of many as quickly as of one. Each receipt counts the copies that went. */
export async function eraseTraces(work: JobContext, jobs: JobRow[]): Promise<void> {
  const { control, events } = work.store;
  const userIds = jobs.map(subjectOf).filter((userId) => userId !== undefined);
  const { copies } = await events.purge(work.pause, userIds);
  for (const { id } of jobs) {
    await control.transaction().execute(async (transaction) => {
      await addToReceipt(transaction, id, { erasedCopies: copies });
      await forgetSubject(transaction, id);
    });
    await work.pause();
  }
  // The jobs themselves were the last places that named the users.
  await events.purge(work.pause);
}

function subjectOf(job: JobRow): string | undefined {
  return (JSON.parse(job.detail) as JobDetail).subject;
}

async function eraseRejectedEvents(work: JobContext, job: JobRow, userId: string): Promise<void> {
  const { control } = work.store;
  for (let last = 0; ; ) {
    const rows = await control
      .selectFrom("rejectedEvents")
      .select(["id", "body"])
      .where("projectId", "=", job.projectId!)
      .where("id", ">", last)
      .orderBy("id")
      .limit(rejectedRows)
      .execute();
    const ids = rows.filter(({ body }) => names(body, userId)).map(({ id }) => id);
    await control.transaction().execute(async (transaction) => {
      if (ids.length > 0) await transaction.deleteFrom("rejectedEvents").where("id", "in", ids).execute();
      await addToReceipt(transaction, job.id, { erasedRejectedEvents: ids.length });
    });
    if (rows.length < rejectedRows) return;
    last = rows.at(-1)!.id;
    await work.pause();
  }
}

/**
 * Whether a body that was rejected is about a user: it names them as an event does, or within a member that no event has, such as
 * `user`, for which it may have been rejected. Of one that can't be read, whether it holds the id at all.
 */
export function names(body: string, userId: string): boolean {
  // Of a member that stands there twice, JSON.parse tells the last.
  for (const [, member] of body.matchAll(userMembers)) if (member === `"${escaped(userId)}"`) return true;
  let event: unknown;
  try {
    event = JSON.parse(body);
  } catch {
    return body.includes(userId) || body.includes(escaped(userId));
  }
  if (typeof event !== "object" || event === null || Array.isArray(event)) return false;
  return Object.entries(event).some(([member, value]) =>
    member === "userId" || member === "user_id"
      ? String(value) === userId
      : !Object.hasOwn(NewEvent.shape, member) && isWithin(value, userId),
  );
}

/** Whether a value is a text, or holds it however deep. */
function isWithin(value: unknown, text: string): boolean {
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === "object" && next !== null) open.push(...Object.values(next));
    else if (String(next) === text) return true;
  }
  return false;
}

async function eraseAnswers(work: JobContext, job: JobRow, userId: string): Promise<void> {
  const { control } = work.store;
  for (let last = ""; ; ) {
    const rows = await control
      .selectFrom("idempotencyKeys")
      .select(["key", "draft", "verdicts"])
      .where("projectId", "=", job.projectId!)
      .where("key", ">", last)
      .orderBy("key")
      .limit(answerRows)
      .execute();
    const keys = rows.filter((row) => tells(row, userId)).map(({ key }) => key);
    await control.transaction().execute(async (transaction) => {
      if (keys.length > 0) {
        await transaction
          .deleteFrom("idempotencyKeys")
          .where("projectId", "=", job.projectId!)
          .where("key", "in", keys)
          .execute();
      }
      await addToReceipt(transaction, job.id, { erasedAnswers: keys.length });
    });
    if (rows.length < answerRows) return;
    last = rows.at(-1)!.key;
    await work.pause();
  }
}

/** Whether an answer shows an event of the user's, or quotes the id in what it says of one that was rejected. */
function tells({ draft, verdicts }: { draft: string; verdicts: string }, userId: string): boolean {
  const drafted = JSON.parse(draft) as { userId?: string } | (string | object)[];
  const isShown = Array.isArray(drafted)
    ? drafted.some((item) => typeof item === "object" && JSON.stringify(item).includes(escaped(userId)))
    : drafted.userId === userId;
  if (isShown) return true;
  return (JSON.parse(verdicts) as AppendResult[]).some(
    (verdict) => verdict.kind === "duplicate" && (JSON.parse(verdict.json) as Event).userId === userId,
  );
}

/** A text as it stands within JSON. */
function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
