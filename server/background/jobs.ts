import type { Kysely, Selectable, Transaction } from "kysely";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { Access } from "../http/caller.ts";
import type { Job, Receipt } from "../schemas/job.ts";
import type { ControlTables } from "../storage/control-tables.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;
export type JobRow = Selectable<ControlTables["jobs"]>;

/** The counts of a receipt, except the number of events, which is in the job's row. */
type Counts = Omit<Receipt, "erasedEvents" | "startedAt" | "endedAt">;

/** Stored with a job as JSON: whom or what it is about, as long as it needs to know, and what it did so far. */
export type JobDetail = {
  subject?: string;
  /** Of an erasure: other IDs of the same person. */
  otherIds?: string[];
  counts: Counts;
};

type NewJob = { projectId: number; kind: Job["kind"]; subject?: string; accountId?: string };

/**
 * Returns the waiting job that will do the same, or starts a new one. A running job is not joined, because it may be
 * past what it would have to repeat.
 *
 * Throws `limit-reached` if the project has too many unfinished jobs.
 */
export async function joinOrStartJob(transaction: Transaction<ControlTables>, newJob: NewJob): Promise<Job> {
  // Locks the project's row until the transaction ends, so that its jobs are started one at a time, on all nodes.
  await transaction
    .updateTable("projects")
    .set((eb) => ({ slug: eb.ref("slug") }))
    .where("id", "=", newJob.projectId)
    .execute();
  const open = transaction
    .selectFrom("jobs")
    .where("endedAt", "is", null)
    .where("projectId", "=", newJob.projectId);
  const waiting = await open
    .selectAll()
    .where("kind", "=", newJob.kind)
    .where("state", "=", "waiting")
    .where("detail", "=", detailOf(newJob))
    .executeTakeFirst();
  if (waiting) return jobOf(waiting);
  const { count } = await open.select((eb) => eb.fn.countAll<number>().as("count")).executeTakeFirstOrThrow();
  if (Number(count) >= limits.openJobs) {
    throw problem("limit-reached", {
      detail: `This project has ${limits.openJobs.toLocaleString("en")} unfinished jobs, the maximum. Try again in a minute.`,
      retryAfterSeconds: 60,
    });
  }
  return startJob(transaction, newJob);
}

/** Queues a job. `worker.ts` runs it, also after a restart. */
export async function startJob(control: Control, newJob: NewJob): Promise<Job> {
  const row = {
    id: Bun.randomUUIDv7(),
    projectId: newJob.projectId,
    accountId: newJob.accountId ?? null,
    kind: newJob.kind,
    state: "waiting" as const,
    detail: detailOf(newJob),
    done: 0,
    total: null,
    createdAt: Date.now(),
    endedAt: null,
  };
  await control.insertInto("jobs").values(row).execute();
  await trimFinished(control, newJob.projectId);
  return jobOf(row);
}

/** Removes the oldest finished jobs beyond the limit. Each new job removes more than it adds. */
async function trimFinished(control: Control, projectId: number): Promise<void> {
  await control
    .deleteFrom("jobs")
    .where("id", "in", (eb) =>
      eb
        .selectFrom("jobs")
        .select("id")
        .where("projectId", "=", projectId)
        .where("endedAt", "is not", null)
        .orderBy("id", "desc")
        .offset(limits.doneJobs)
        .limit(10),
    )
    .execute();
}

/** The detail of a new job. */
function detailOf({ subject }: NewJob): string {
  return JSON.stringify({ ...(subject !== undefined && { subject }), counts: {} } satisfies JobDetail);
}

/** Unfinished jobs, oldest first. */
export function openJobs(control: Control): Promise<JobRow[]> {
  return control.selectFrom("jobs").selectAll().where("endedAt", "is", null).orderBy("createdAt").execute();
}

/** The job, if it is unfinished. */
export function openJob(control: Control, id: string): Promise<JobRow | undefined> {
  return control
    .selectFrom("jobs")
    .selectAll()
    .where("id", "=", id)
    .where("endedAt", "is", null)
    .executeTakeFirst();
}

export async function changeJob(control: Control, id: string, change: Partial<JobRow>): Promise<void> {
  await control.updateTable("jobs").set(change).where("id", "=", id).execute();
}

/** Adds to the counts of a job's receipt, in the transaction that did the work. */
export async function addToReceipt(control: Control, id: string, counts: Counts): Promise<void> {
  const detail = await lockDetail(control, id);
  for (const name of Object.keys(counts) as (keyof Counts)[]) {
    detail.counts[name] = (detail.counts[name] ?? 0) + counts[name]!;
  }
  await changeJob(control, id, { detail: JSON.stringify(detail) });
}

/** Adds IDs that the job is about, too, and returns all of them. Must be called in a transaction. */
export async function addOtherIds(control: Control, id: string, ids: readonly string[]): Promise<string[]> {
  const detail = await lockDetail(control, id);
  const otherIds = [...new Set([...(detail.otherIds ?? []), ...ids])];
  await changeJob(control, id, { detail: JSON.stringify({ ...detail, otherIds }) });
  return otherIds;
}

/** Removes the subject, so that the job names nobody. Must be called in a transaction. */
export async function removeSubject(control: Control, id: string): Promise<void> {
  const { counts } = await lockDetail(control, id);
  await changeJob(control, id, { detail: JSON.stringify({ counts } satisfies JobDetail) });
}

/** Reads a job's detail and locks it until the transaction ends. */
async function lockDetail(control: Control, id: string): Promise<JobDetail> {
  await control
    .updateTable("jobs")
    .set((eb) => ({ detail: eb.ref("detail") }))
    .where("id", "=", id)
    .execute();
  const { detail } = await control
    .selectFrom("jobs")
    .select("detail")
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  return JSON.parse(detail) as JobDetail;
}

/**
 * Finds a job of a key's project, or of an account's projects, or one that the account started. Throws `job-unknown`.
 */
export async function findJob(
  control: Control,
  id: string,
  reader: { projectId: number } | { accountId: string },
): Promise<Job> {
  const row = await control
    .selectFrom("jobs")
    .selectAll()
    .where("id", "=", id)
    .where((eb) =>
      "projectId" in reader
        ? eb("projectId", "=", reader.projectId)
        : eb.or([
            eb("accountId", "=", reader.accountId),
            eb(
              "projectId",
              "in",
              eb.selectFrom("members").select("projectId").where("accountId", "=", reader.accountId),
            ),
          ]),
    )
    .executeTakeFirst();
  if (!row) throw problem("job-unknown", { detail: "You have no job with this ID." });
  return jobOf(row);
}

function jobOf(row: JobRow): Job {
  const startedAt = new Date(row.createdAt).toISOString();
  const { counts } = JSON.parse(row.detail) as JobDetail;
  return {
    id: row.id,
    kind: row.kind,
    state: row.state,
    done: row.done,
    total: row.total,
    createdAt: startedAt,
    receipt:
      row.endedAt === null
        ? null
        : {
            erasedEvents: row.done,
            ...counts,
            startedAt,
            endedAt: new Date(row.endedAt).toISOString(),
          },
  };
}

/** The account that starts a job; empty for an API key. */
export function starterOf(access: Access): { accountId?: string } {
  return access.by === "account" ? { accountId: access.account.id } : {};
}
