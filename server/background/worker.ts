import type { Pause, Store } from "../storage/store.ts";
import type { Job } from "../wire/job.ts";
import type { JobContext } from "./job-context.ts";
import { changeJob, type JobRow, openJob, openJobs } from "./jobs.ts";
import { Leases } from "./leases.ts";
import { expire, expireRecords, forgetDeletedProjects } from "./retention.ts";

type Rooms = {
  store: Store;
  /** What does each kind of job. */
  jobs: { [Kind in Job["kind"]]: (context: JobContext, job: JobRow) => Promise<void> };
  /** Cleans every file after some users were erased, all at once. */
  eraseTraces: (context: JobContext, erasures: JobRow[]) => Promise<void>;
  onRemoved: (eventIds: string[]) => void;
  onError: (error: unknown) => void;
  /** Told when work begins and when it is done. */
  onInfo?: (message: string, fields: Record<string, unknown>) => void;
  now?: () => number;
};

/** Events are gone so long after their time at most, give or take the work itself. */
const everyMs = 60_000;
/**
 * How often it is looked for open jobs, which a node that died may have left, and for what is in no digest yet: under load, a block
 * of events comes in a second or two.
 */
const lookMs = 5_000;
/** After each step the work rests three times as long as the step took: ingest has three quarters of the writer at least. */
const restRatio = 3;
const restMsMax = 500;

/** Thrown out of the work when the server stops; the work is taken up again at the next start. */
class Stopped extends Error {}
/** Thrown out of what is less urgent when a job was started. */
class Interrupted extends Error {}
/** Thrown out of what another node has taken over, as this one did not renew its lease. */
class Lost extends Error {}

/**
 * Does what outlasts a request, one thing at a time: jobs, then what has expired, then what makes searches quick. Of several nodes, one
 * is at a job; where it dies, another goes on with it. The steps can be done twice: what happens if two meet all the same is nothing
 * worse than lost time.
 */
export class BackgroundWorker {
  readonly #rooms: Rooms;
  readonly #work: Omit<JobContext, "pause">;
  readonly #leases: Leases;
  readonly #now: () => number;
  #timer: Timer | null = null;
  #working: Promise<void> | null = null;
  #again = false;
  #isExpiryDue = true;
  #expiredAtMs = 0;
  #closed = false;
  #stepStartedMs = 0;
  #lookedAtMs = 0;
  /** When this process began each job that it has not ended. */
  readonly #startedMs = new Map<string, number>();

  constructor(rooms: Rooms) {
    this.#rooms = rooms;
    this.#now = rooms.now ?? Date.now;
    this.#leases = new Leases(rooms.store.control, rooms.onError);
    this.#work = { store: rooms.store, onRemoved: rooms.onRemoved };
  }

  /** Looks for work: at the start, after a job was started, and when what is kept for how long has changed. */
  wake(): void {
    this.#isExpiryDue = true;
    this.#start();
  }

  #start(): void {
    if (this.#closed) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#again = true;
    this.#begin(() => this.#run());
  }

  /** Resolves when there is nothing to do for now. */
  async idle(): Promise<void> {
    while (this.#working) await this.#working;
  }

  /** Removes one event at once; false where there is none. */
  async removeEvent(projectId: number, id: string): Promise<boolean> {
    const { events } = this.#rooms.store;
    const { ids } = await events.remove({ projectId, id }, 1);
    this.#rooms.onRemoved(ids);
    if (ids.length === 0) return false;
    await events.announceDeleted(projectId, { ids });
    return true;
  }

  /** Ends after the step that is under way. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#working;
  }

  #begin(work: () => Promise<void>): void {
    if (this.#working) return;
    this.#stepStartedMs = performance.now();
    this.#working = work()
      .catch((error) => {
        if (!(error instanceof Stopped)) this.#rooms.onError(error);
      })
      .finally(() => {
        this.#working = null;
        this.#sleep();
      });
  }

  async #run(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      this.#lookedAtMs = performance.now();
      this.#stepStartedMs = this.#lookedAtMs;
      await this.#doJobs();
      if (this.#again) continue;
      if (this.#isExpiryDue || this.#lookedAtMs - this.#expiredAtMs >= everyMs) {
        this.#isExpiryDue = false;
        this.#expiredAtMs = this.#lookedAtMs;
        await this.#expire().catch((error) => this.#failed(error));
      }
      await this.#digest().catch((error) => this.#failed(error));
    }
  }

  /** Erasures first; what else there is gives way to one that is started meanwhile, and goes on after it. */
  async #doJobs(): Promise<void> {
    const jobs = await openJobs(this.#rooms.store.control);
    const erasures = jobs.filter(({ kind }) => kind === "erase-user");
    if (erasures.length > 0) await this.#alone("erasures", (work) => this.#erase(erasures, work));
    for (const { id, kind } of jobs) {
      if (kind === "erase-user") continue;
      await this.#alone(`job ${id}`, async ({ pause, ...rest }) => {
        const work = { ...rest, pause: () => this.#orGiveWay(() => this.#orLook(pause)) };
        const job = await this.#do(id, work);
        if (job) await this.#end(work, [job]);
      }).catch((error) => this.#failed(error));
      if (this.#again) return;
    }
  }

  /** Erasures end together, as cleaning the files looks at all of them, however little was erased. */
  async #erase(jobs: JobRow[], work: JobContext): Promise<void> {
    const erased: JobRow[] = [];
    for (const { id } of jobs) {
      await this.#do(id, work)
        .then((job) => job && erased.push(job))
        .catch((error) => this.#failed(error));
      await work.pause();
    }
    if (erased.length === 0) return;
    await this.#rooms
      .eraseTraces(work, erased)
      .then(() => this.#end(work, erased))
      .catch((error) => this.#failed(error));
  }

  /** Does a job but for its end; gives null where another node has just done it. */
  async #do(id: string, work: JobContext): Promise<JobRow | null> {
    const { control } = this.#rooms.store;
    const job = await openJob(control, id);
    if (!job) return null;
    if (job.state === "waiting") await changeJob(control, id, { state: "running" });
    if (!this.#startedMs.has(id)) {
      const { kind, projectId, done } = job;
      this.#startedMs.set(id, performance.now());
      this.#rooms.onInfo?.("a job has begun", { job: id, kind, projectId, done });
    }
    await this.#rooms.jobs[job.kind](work, job);
    return job;
  }

  async #end(work: JobContext, jobs: JobRow[]): Promise<void> {
    const endedAt = this.#now();
    for (const { id, kind, projectId } of jobs) {
      const done = (await openJob(this.#rooms.store.control, id))?.done;
      await changeJob(this.#rooms.store.control, id, { state: "done", endedAt });
      const ms = sinceMs(this.#startedMs.get(id)!);
      this.#startedMs.delete(id);
      this.#rooms.onInfo?.("a job is done", { job: id, kind, projectId, done, ms });
      await work.pause();
    }
  }

  async #expire(): Promise<void> {
    await this.#alone("expiry", async ({ pause, ...rest }) => {
      const work = { ...rest, pause: () => this.#orGiveWay(pause) };
      await forgetDeletedProjects(work, this.#now());
      await expireRecords(work, this.#now());
      const startMs = performance.now();
      const events = await expire(work, this.#now());
      if (events === 0) return;
      await work.store.events.shrink(work.pause);
      this.#rooms.onInfo?.("removed events that are too old", { events, ms: sinceMs(startMs) });
    });
  }

  async #digest(): Promise<void> {
    const pause = () => this.#orGiveWay(() => this.#orLook(() => this.#pause(() => true)));
    await this.#work.store.events.indexBlocks(pause, this.#now());
  }

  /** Does some work and gives true, or gives false where another node is at it. */
  #alone(name: string, work: (work: JobContext) => Promise<void>): Promise<boolean> {
    return this.#leases.whileHeld(name, (isHeld) =>
      work({ ...this.#work, pause: () => this.#pause(isHeld) }),
    );
  }

  /** What is looked for, such as an erasure that another node left, does not wait until long work is done. */
  #orLook(pause: Pause): Promise<void> {
    if (performance.now() - this.#lookedAtMs >= lookMs) this.#again = true;
    return pause();
  }

  async #orGiveWay(pause: Pause): Promise<void> {
    await pause();
    if (this.#again) throw new Interrupted();
  }

  /** What failed is tried again the next time, and holds up nothing else. */
  #failed(error: unknown): void {
    if (error instanceof Stopped) throw error;
    if (!(error instanceof Interrupted || error instanceof Lost)) this.#rooms.onError(error);
  }

  async #pause(isHeld: () => boolean): Promise<void> {
    if (this.#closed) throw new Stopped();
    const tookMs = performance.now() - this.#stepStartedMs;
    await Bun.sleep(Math.min(tookMs * restRatio, restMsMax));
    if (this.#closed) throw new Stopped();
    if (!isHeld()) throw new Lost();
    this.#stepStartedMs = performance.now();
  }

  #sleep(): void {
    if (this.#closed) return;
    if (this.#again) this.#start();
    else {
      this.#timer = setTimeout(() => this.#start(), lookMs);
      this.#timer.unref();
    }
  }
}

function sinceMs(startMs: number): number {
  return Math.round(performance.now() - startMs);
}
