import { WorkLoop } from "../scheduling/work-loop.ts";
import type { Job } from "../schemas/job.ts";
import type { Pause } from "../storage/event-store.ts";
import type { Store } from "../storage/store.ts";
import type { JobContext } from "./job-context.ts";
import { changeJob, type JobRow, openJob, openJobs } from "./jobs.ts";
import { Leases } from "./leases.ts";
import { expire, expireRecords, isAnythingExpired, removeDeletedProjects } from "./retention.ts";

type Deps = {
  store: Store;
  /** The function for each kind of job. */
  jobs: { [Kind in Job["kind"]]: (context: JobContext, job: JobRow) => Promise<void> };
  /** Cleans all files once after users were erased. */
  eraseTraces: (context: JobContext, erasures: JobRow[]) => Promise<void>;
  correctUsers: JobContext["correctUsers"];
  onRemoved: (eventIds: string[]) => void;
  onError: (error: unknown) => void;
  /** Called when work begins and when it is done. */
  onInfo?: (message: string, fields: Record<string, unknown>) => void;
  /** How long deliveries are kept, and the audit log. */
  deliveryDays: number;
  auditDays: number;
  now?: () => number;
  /** Milliseconds between two looks for work; see `pollMs`. */
  everyMs?: number;
  /** See `turnMsMax`. */
  turnMs?: number;
};

/** Expired events are removed within this time, plus the time that removal takes. */
const expiryEveryMs = 60_000;
/**
 * How often to look for unfinished jobs, which a dead node may have left, and for events that are in no block; also
 * during long work.
 */
const pollMs = 5_000;
/**
 * Expiry and blocks wait no longer than this for jobs that can be interrupted, and then have as long a turn as they
 * waited, up to this time; so do blocks for expiry. Otherwise one user who erases others all the time would keep all
 * expired events, and all new events out of blocks, so that every chart would read them one by one.
 */
const turnMsMax = 60_000;
/**
 * After each step, the worker rests three times as long as the step held the writer, which leaves ingest at least three
 * quarters of it, and at least as long as the step took.
 */
const restRatio = 3;
const restMsMax = 500;
/** The same for blocks, whose steps are mostly the reader's and not the writer's. */
const blocksRestRatio = 1;

const erasuresLease = "erasures";

/** Thrown when the server stops. The work continues at the next start. */
class Stopped extends Error {}
/** Thrown in a job or an expiry when a job was started, or when it is the turn of blocks. Their next run continues. */
class Interrupted extends Error {}
/** Thrown when this node did not renew its lease, so another one may have taken over. */
class LeaseLost extends Error {}

/**
 * Does work that outlasts a request, one thing at a time: jobs, then expiry, then blocks. Each has its turn also if the
 * others never end. One of several nodes runs a job; if it dies, another one continues. Steps can be repeated, so if
 * two nodes run one at the same time, that only costs time. Building a block is never interrupted, because a half-built
 * one is worth nothing: more urgent work runs in its pauses.
 */
export class BackgroundWorker extends WorkLoop {
  readonly #deps: Deps;
  readonly #context: Omit<JobContext, "pause">;
  readonly #leases: Leases;
  readonly #now: () => number;
  readonly #everyMs: number;
  readonly #turnMs: number;
  #isExpiryDue = true;
  #expiredAtMs = 0;
  #stepStartedMs = 0;
  /** How long the writer had been held then. */
  #heldMsBefore = 0;
  #polledAtMs = 0;
  /** When the urgent work began, and until when blocks then have their turn. */
  #urgentSinceMs = 0;
  #blocksUntilMs = 0;
  /** When this process started each unfinished job. */
  readonly #startedMs = new Map<string, number>();

  constructor(deps: Deps) {
    super(deps);
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
    this.#everyMs = deps.everyMs ?? pollMs;
    this.#turnMs = deps.turnMs ?? turnMsMax;
    this.#leases = new Leases(deps.store.control, deps.onError);
    this.#context = { store: deps.store, onRemoved: deps.onRemoved, correctUsers: deps.correctUsers };
  }

  /** Looks for work: at startup, after a job was started, and after a change of retention. */
  override wake(): void {
    this.#isExpiryDue = true;
    super.wake();
  }

  /** Removes one event at once. Returns false if it doesn't exist. */
  async removeEvent(projectId: number, id: string): Promise<boolean> {
    const { events } = this.#deps.store;
    const { ids } = await events.remove({ projectId, id }, 1);
    this.#deps.onRemoved(ids);
    if (ids.length === 0) return false;
    await this.#deps.correctUsers(projectId);
    await events.announceDeleted(projectId, { ids });
    return true;
  }

  protected async work(): Promise<void> {
    try {
      await this.#doUrgent();
      await this.#buildBlocks().catch((error) => this.#report(error));
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    }
  }

  protected waitMs(): number {
    return this.#everyMs;
  }

  /** Jobs, then expiry, and what was started meanwhile, until it is the turn of expiry and then of blocks. */
  async #doUrgent(): Promise<void> {
    this.#urgentSinceMs = performance.now();
    do {
      this.restart();
      this.#startTurn();
      await this.#doJobs();
      if (this.isWoken && !this.#isUrgentOver()) continue;
      if (this.#isExpiryDue || performance.now() - this.#expiredAtMs >= expiryEveryMs) {
        const isAsked = this.#isExpiryDue;
        this.#isExpiryDue = false;
        this.#expiredAtMs = performance.now();
        await this.#expire(isAsked).catch((error) => this.#report(error));
      }
    } while (this.isWoken && !this.#isUrgentOver());
    this.#blocksUntilMs = this.#turnEndMs();
  }

  /** When the turn ends that is given now to what has waited for urgent work. */
  #turnEndMs(): number {
    const nowMs = performance.now();
    return nowMs + Math.min(nowMs - this.#urgentSinceMs, this.#turnMs);
  }

  /** Erasures first. Other jobs are interrupted when new work is started, and continue after it. */
  async #doJobs(): Promise<void> {
    const jobs = await this.#doErasures();
    for (const { id, kind } of jobs) {
      if (isErasure({ kind })) continue;
      await this.#withLease(`job ${id}`, async ({ pause, ...rest }) => {
        const context = { ...rest, pause: () => this.#orYield(() => this.#orErase(pause)) };
        const job = await this.#runJob(id, context);
        if (job) await this.#finish(context, [job]);
      }).catch((error) => this.#report(error));
      if (this.isWoken) return;
    }
  }

  /** Returns the unfinished jobs, with the erasures that it has just done. */
  async #doErasures(): Promise<JobRow[]> {
    const jobs = await openJobs(this.#deps.store.control);
    const erasures = jobs.filter(isErasure);
    if (erasures.length > 0)
      await this.#withLease(erasuresLease, (context) => this.#erase(erasures, context));
    return jobs;
  }

  /** Erasures are finished together, because cleaning the files takes equally long for one or many. */
  async #erase(jobs: JobRow[], context: JobContext): Promise<void> {
    const erased: JobRow[] = [];
    for (const { id } of jobs) {
      await this.#runJob(id, context)
        .then((job) => job && erased.push(job))
        .catch((error) => this.#report(error));
      await context.pause();
    }
    if (erased.length === 0) return;
    await this.#deps
      .eraseTraces(context, erased)
      .then(() => this.#finish(context, erased))
      .catch((error) => this.#report(error));
  }

  /** Runs a job up to its end. Returns null if another node has just finished it. */
  async #runJob(id: string, context: JobContext): Promise<JobRow | null> {
    const { control } = this.#deps.store;
    const job = await openJob(control, id);
    if (!job) return null;
    if (job.state === "waiting") await changeJob(control, id, { state: "running" });
    if (!this.#startedMs.has(id)) {
      const { kind, projectId, done } = job;
      this.#startedMs.set(id, performance.now());
      this.#deps.onInfo?.("a job has begun", { job: id, kind, projectId, done });
    }
    await this.#deps.jobs[job.kind](context, job);
    return job;
  }

  async #finish(context: JobContext, jobs: JobRow[]): Promise<void> {
    const endedAt = this.#now();
    for (const { id, kind, projectId } of jobs) {
      const done = (await openJob(this.#deps.store.control, id))?.done;
      await changeJob(this.#deps.store.control, id, { state: "done", endedAt });
      const ms = sinceMs(this.#startedMs.get(id)!);
      this.#startedMs.delete(id);
      this.#deps.onInfo?.("a job is done", { job: id, kind, projectId, done, ms });
      await context.pause();
    }
  }

  /** @param isAsked - also does what can't be seen without a lease, which is a write */
  async #expire(isAsked: boolean): Promise<void> {
    if (!isAsked && !(await isAnythingExpired(this.#deps.store, this.#now(), this.#deps))) return;
    const turnEndMs = this.#turnEndMs();
    await this.#withLease("expiry", async ({ pause, ...rest }) => {
      const context = { ...rest, pause: () => this.#pauseExpiry(pause, turnEndMs) };
      await removeDeletedProjects(context, this.#now());
      await expireRecords(context, this.#now(), this.#deps);
      const startMs = performance.now();
      const events = await expire(context, this.#now());
      if (events === 0) return;
      await context.store.events.shrink(context.pause);
      this.#deps.onInfo?.("removed events that are too old", { events, ms: sinceMs(startMs) });
    });
  }

  /**
   * Lets expiry go on in its turn, and jobs begin after it. Erasures don't run in this pause: each would take the time
   * of many steps.
   */
  async #pauseExpiry(pause: Pause, turnEndMs: number): Promise<void> {
    if (performance.now() < turnEndMs) return pause();
    await this.#orYield(pause);
    if (!this.#isTurnOver()) return;
    this.#polledAtMs = performance.now();
    const jobs = await openJobs(this.#deps.store.control);
    if (!jobs.some(isErasure)) return;
    this.wake();
    throw new Interrupted();
  }

  async #buildBlocks(): Promise<void> {
    await this.#context.store.events.indexBlocks(() => this.#pauseBlocks(), this.#now());
  }

  /** Does all other work that is due, and then lets the build go on. */
  async #pauseBlocks(): Promise<void> {
    await this.#pause(() => true, blocksRestRatio);
    if (!(this.isWoken || this.#isTurnOver()) || performance.now() < this.#blocksUntilMs) return;
    await this.#doUrgent().catch((error) => this.#report(error));
    this.#startTurn();
  }

  /** Does some work and returns true, or returns false if another node is doing it. */
  #withLease(name: string, work: (context: JobContext) => Promise<void>): Promise<boolean> {
    return this.#leases.whileHeld(name, (isHeld) =>
      work({ ...this.#context, pause: () => this.#pause(isHeld) }),
    );
  }

  #startTurn(): void {
    this.#polledAtMs = performance.now();
    this.#startStep();
  }

  #startStep(): void {
    this.#stepStartedMs = performance.now();
    this.#heldMsBefore = this.#deps.store.backgroundHeldMs() ?? 0;
  }

  #isTurnOver(): boolean {
    return performance.now() - this.#polledAtMs >= this.#everyMs;
  }

  #isUrgentOver(): boolean {
    return performance.now() - this.#urgentSinceMs >= this.#turnMs;
  }

  /** Does erasures that another node left, during long work. */
  async #orErase(pause: Pause): Promise<void> {
    await pause();
    if (!this.#isTurnOver()) return;
    this.#polledAtMs = performance.now();
    await this.#doErasures();
    this.#startTurn();
  }

  /** Lets a job that was started begin, or blocks have their turn. */
  async #orYield(pause: Pause): Promise<void> {
    await pause();
    if (this.#isUrgentOver()) this.wake();
    if (this.isWoken) throw new Interrupted();
  }

  /** Reports an error. The work is retried next time, and other work continues. */
  #report(error: unknown): void {
    if (error instanceof Stopped) throw error;
    if (!(error instanceof Interrupted || error instanceof LeaseLost)) this.#deps.onError(error);
  }

  async #pause(isHeld: () => boolean, ratio = restRatio): Promise<void> {
    if (this.isClosed) throw new Stopped();
    const tookMs = performance.now() - this.#stepStartedMs;
    const heldMs = this.#deps.store.backgroundHeldMs();
    const loadMs = heldMs === null ? tookMs : heldMs - this.#heldMsBefore;
    await Bun.sleep(Math.min(Math.max(loadMs * ratio, tookMs), restMsMax));
    if (this.isClosed) throw new Stopped();
    if (!isHeld()) throw new LeaseLost();
    this.#startStep();
  }
}

function isErasure({ kind }: Pick<JobRow, "kind">): boolean {
  return kind === "erase-user";
}

function sinceMs(startMs: number): number {
  return Math.round(performance.now() - startMs);
}
