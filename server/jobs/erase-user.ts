import type { Verdict } from "../storage/store.ts";
import type { Event } from "../wire/event.ts";
import { addToReceipt, changeJob, detailToChange, type JobDetail, type JobRow } from "./jobs.ts";
import { removeAll, type Work } from "./work.ts";

/** Rows that are looked through at a time; bodies of refused events may be long. */
const refusedRows = 20;
const answerRows = 500;

/** Erases a user of a project: every event, and each other place that names them, from every file. */
export async function eraseUser(work: Work, job: JobRow): Promise<void> {
  const { control, events } = work.store;
  const projectId = job.projectId!;
  const { subject } = JSON.parse(job.detail) as JobDetail;
  if (subject !== undefined) {
    const removal = { projectId, userId: subject };
    if (job.total === null) await changeJob(control, job.id, { total: await events.countRemovable(removal) });
    await removeAll(work, removal, job.id);
    // Once more for those that came meanwhile, dated to before the place where the first way had got to.
    await removeAll(work, removal, job.id);
    await eraseRefusedEvents(work, job, subject);
    await eraseAnswers(work, job, subject);
    await control.transaction().execute(async (transaction) => {
      const { numDeletedRows } = await transaction
        .deleteFrom("users")
        .where("projectId", "=", projectId)
        .where("userId", "=", subject)
        .executeTakeFirst();
      await addToReceipt(transaction, job.id, { erasedProfiles: Number(numDeletedRows) });
    });
    const { copies } = await events.scrub(work.pause, subject);
    await addToReceipt(control, job.id, { erasedCopies: copies });
    await forgetSubject(work, job.id);
  }
  // The job itself was the last place that named the user.
  await events.scrub(work.pause);
}

async function forgetSubject({ store: { control } }: Work, id: string): Promise<void> {
  await control.transaction().execute(async (transaction) => {
    const { counts } = await detailToChange(transaction, id);
    await changeJob(transaction, id, { detail: JSON.stringify({ counts } satisfies JobDetail) });
  });
}

async function eraseRefusedEvents(work: Work, job: JobRow, userId: string): Promise<void> {
  const { control } = work.store;
  for (let last = 0; ; ) {
    const rows = await control
      .selectFrom("refusedEvents")
      .select(["id", "body"])
      .where("projectId", "=", job.projectId!)
      .where("id", ">", last)
      .orderBy("id")
      .limit(refusedRows)
      .execute();
    const ids = rows.filter(({ body }) => names(body, userId)).map(({ id }) => id);
    await control.transaction().execute(async (transaction) => {
      if (ids.length > 0) await transaction.deleteFrom("refusedEvents").where("id", "in", ids).execute();
      await addToReceipt(transaction, job.id, { erasedRefusedEvents: ids.length });
    });
    if (rows.length < refusedRows) return;
    last = rows.at(-1)!.id;
    await work.pause();
  }
}

/** Whether a body that was refused is about a user; of one that can't be read, whether it holds the id at all. */
export function names(body: string, userId: string): boolean {
  let event: unknown;
  try {
    event = JSON.parse(body);
  } catch {
    return body.includes(userId) || body.includes(escaped(userId));
  }
  const { userId: own, user_id: other } = (event ?? {}) as { userId?: unknown; user_id?: unknown };
  return String(own) === userId || String(other) === userId;
}

async function eraseAnswers(work: Work, job: JobRow, userId: string): Promise<void> {
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

/** Whether an answer shows an event of the user's, or quotes the id in what it says of one that was refused. */
function tells({ draft, verdicts }: { draft: string; verdicts: string }, userId: string): boolean {
  const drafted = JSON.parse(draft) as { userId?: string } | (string | object)[];
  const isShown = Array.isArray(drafted)
    ? drafted.some((item) => typeof item === "object" && JSON.stringify(item).includes(escaped(userId)))
    : drafted.userId === userId;
  if (isShown) return true;
  return (JSON.parse(verdicts) as Verdict[]).some(
    (verdict) => verdict.kind === "duplicate" && (JSON.parse(verdict.json) as Event).userId === userId,
  );
}

/** A text as it stands within JSON. */
function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
