import type { Kysely, Selectable, Transaction } from "kysely";
import type { Access } from "../http/caller.ts";
import { limits } from "../limits.ts";
import { problem } from "../problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Job, Receipt } from "../wire/job.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;
export type JobRow = Selectable<ControlTables["jobs"]>;

/** What a receipt counts beside the events, which the job's row counts itself. */
type Counts = Omit<Receipt, "erasedEvents" | "startedAt" | "endedAt">;

/** What is kept with a job as JSON: whom or what it is about, for as long as it needs to know, and what it did so far. */
export type JobDetail = { subject?: string; counts: Counts };

type Order = { projectId: number; kind: Job["kind"]; subject?: string; accountId?: string };

/**
 * The job that waits to do the same, or else a new one. One that has begun is not joined: it may be past what it would have to do again.
 *
 * Throws `limit-reached` where too many jobs of the project are not done.
 */
export async function joinOrStartJob(control: Kysely<ControlTables>, order: Order): Promise<Job> {
  return control.transaction().execute(async (transaction) => {
    // Orders of one project come one after another, also from several nodes: the row is theirs until the transaction ends.
    await transaction
      .updateTable("projects")
      .set((eb) => ({ slug: eb.ref("slug") }))
      .where("id", "=", order.projectId)
      .execute();
    const open = transaction
      .selectFrom("jobs")
      .where("endedAt", "is", null)
      .where("projectId", "=", order.projectId);
    const waiting = await open
      .selectAll()
      .where("kind", "=", order.kind)
      .where("state", "=", "waiting")
      .where("detail", "=", detailOf(order))
      .executeTakeFirst();
    if (waiting) return jobOf(waiting);
    const { count } = await open
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .executeTakeFirstOrThrow();
    if (Number(count) >= limits.openJobs) {
      throw problem("limit-reached", {
        detail: `This project has ${limits.openJobs.toLocaleString("en")} unfinished jobs, the maximum. Try again in a minute.`,
        retryAfterSeconds: 60,
      });
    }
    return startJob(transaction, order);
  });
}

/** Puts a job into the queue. It is done by `worker.ts`, after a restart too. */
export async function startJob(control: Control, order: Order): Promise<Job> {
  const row = {
    id: Bun.randomUUIDv7(),
    projectId: order.projectId,
    accountId: order.accountId ?? null,
    kind: order.kind,
    state: "waiting" as const,
    detail: detailOf(order),
    done: 0,
    total: null,
    createdAt: Date.now(),
    endedAt: null,
  };
  await control.insertInto("jobs").values(row).execute();
  await removeOldestDone(control, order.projectId);
  return jobOf(row);
}

/** Removes the oldest done jobs of a project that has more than are kept; each job that is started removes more than it adds. */
async function removeOldestDone(control: Control, projectId: number): Promise<void> {
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

/** A job's detail before it has begun. */
function detailOf({ subject }: Order): string {
  return JSON.stringify({ ...(subject !== undefined && { subject }), counts: {} } satisfies JobDetail);
}

/** The jobs that are not done, oldest first. */
export function openJobs(control: Control): Promise<JobRow[]> {
  return control.selectFrom("jobs").selectAll().where("endedAt", "is", null).orderBy("createdAt").execute();
}

/** The job, if it is not done. */
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

/** Adds to what a job's receipt will count, in the transaction that did it. */
export async function addToReceipt(control: Control, id: string, counts: Counts): Promise<void> {
  const known = await detailToChange(control, id);
  for (const name of Object.keys(counts) as (keyof Counts)[]) {
    known.counts[name] = (known.counts[name] ?? 0) + counts[name]!;
  }
  await changeJob(control, id, { detail: JSON.stringify(known) });
}

/** From now on the job names nobody. To be called in a transaction. */
export async function forgetSubject(control: Control, id: string): Promise<void> {
  const { counts } = await detailToChange(control, id);
  await changeJob(control, id, { detail: JSON.stringify({ counts } satisfies JobDetail) });
}

/** A job's detail, which nobody else changes until the transaction ends. */
async function detailToChange(control: Control, id: string): Promise<JobDetail> {
  const { detail } = await control
    .updateTable("jobs")
    .set((eb) => ({ detail: eb.ref("detail") }))
    .where("id", "=", id)
    .returning("detail")
    .executeTakeFirstOrThrow();
  return JSON.parse(detail) as JobDetail;
}

/** A job that a key's project has, or that an account's has or that the account started. Throws `job-unknown`. */
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

/** Who starts a job: an account, or nobody in particular where a key does. */
export function starterOf(access: Access): { accountId?: string } {
  return access.by === "account" ? { accountId: access.account.id } : {};
}
