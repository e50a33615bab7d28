import type { Store } from "../storage/store.ts";
import type { Job } from "../wire/job.ts";
import { deleteChannel, deleteProject } from "./delete.ts";
import { eraseUser } from "./erase-user.ts";
import { changeJob, type JobRow, openJob, openJobs } from "./jobs.ts";
import { Leases, leaseMs } from "./lease.ts";
import { expire, forgetDeletedProjects } from "./retention.ts";
import type { Work } from "./work.ts";

type Rooms = {
  store: Store;
  onRemoved: (eventIds: string[]) => void;
  onError: (error: unknown) => void;
  now?: () => number;
};

/** Events are gone so long after their time at most, give or take the work itself. */
const everyMs = 60_000;
/** How often open jobs are looked for: one may be left by a node that died. */
const lookMs = 10_000;
/** After each step the work rests three times as long as the step took: ingest has three quarters of the writer at least. */
const restRatio = 3;
const restMsMax = 500;

const kinds: { [Kind in Job["kind"]]: (work: Work, job: JobRow) => Promise<void> } = {
  "erase-user": eraseUser,
  "delete-channel": deleteChannel,
  "delete-project": deleteProject,
};

/** Thrown out of the work when the server stops; the work is taken up again at the next start. */
class Stopped extends Error {}
/** Thrown out of what is less urgent when a job was started. */
class Interrupted extends Error {}
/** Thrown out of what another node has taken over, as this one did not renew its lease. */
class Lost extends Error {}

/**
 * Does what outlasts a request, one thing at a time: jobs, then what has expired. Of several nodes, one is at a job; where it dies,
 * another goes on with it. The steps can be done twice: what happens if two meet all the same is nothing worse than lost time.
 */
export class Upkeep {
  readonly #rooms: Rooms;
  readonly #work: Omit<Work, "pause">;
  readonly #leases: Leases;
  readonly #now: () => number;
  #timer: Timer | null = null;
  #working: Promise<void> | null = null;
  #again = false;
  #isExpiryDue = true;
  #expiredAtMs = 0;
  #closed = false;
  #stepStartedMs = 0;
  /** Another node is at a job, or the storage did not answer: it is looked for again before long. */
  #soon = false;

  constructor(rooms: Rooms) {
    this.#rooms = rooms;
    this.#now = rooms.now ?? Date.now;
    this.#leases = new Leases(rooms.store.control);
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
    this.#working ??= this.#run()
      .catch((error) => {
        if (!(error instanceof Stopped)) this.#rooms.onError(error);
      })
      .finally(() => {
        this.#working = null;
        this.#sleep();
      });
  }

  /** Resolves when there is nothing to do for now. */
  async idle(): Promise<void> {
    while (this.#working) await this.#working;
  }

  /** Removes one event at once; false where there is none. */
  async removeEvent(projectId: number, id: string): Promise<boolean> {
    const { ids } = await this.#rooms.store.events.remove({ projectId, id }, 1);
    this.#rooms.onRemoved(ids);
    return ids.length > 0;
  }

  /** Ends after the step that is under way. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#working;
  }

  async #run(): Promise<void> {
    const { control } = this.#rooms.store;
    while (this.#again) {
      this.#again = false;
      this.#soon = false;
      this.#stepStartedMs = performance.now();
      for (const { id } of await openJobs(control)) await this.#do(id).catch((error) => this.#failed(error));
      if (!this.#isExpiryDue && performance.now() - this.#expiredAtMs < everyMs) continue;
      this.#isExpiryDue = false;
      this.#expiredAtMs = performance.now();
      await this.#expire().catch((error) => this.#failed(error));
    }
  }

  async #do(id: string): Promise<void> {
    const { control } = this.#rooms.store;
    const isOurs = await this.#leases.whileHeld(`job ${id}`, async (isHeld) => {
      // Another node may just have done it.
      const job = await openJob(control, id);
      if (!job) return;
      await changeJob(control, id, { state: "running" });
      await kinds[job.kind]({ ...this.#work, pause: () => this.#pause(isHeld) }, job);
      await changeJob(control, id, { state: "done", endedAt: this.#now() });
    });
    if (!isOurs) this.#soon = true;
  }

  async #expire(): Promise<void> {
    const { events } = this.#rooms.store;
    await this.#leases.whileHeld("expiry", async (isHeld) => {
      const pause = async () => {
        await this.#pause(isHeld);
        if (this.#again) throw new Interrupted();
      };
      const work = { ...this.#work, pause };
      await forgetDeletedProjects(work, this.#now());
      if ((await expire(work, this.#now())) > 0) await events.shrink(pause);
    });
  }

  /** What failed is tried again the next time, and holds up nothing else. */
  #failed(error: unknown): void {
    if (error instanceof Stopped) throw error;
    if (error instanceof Interrupted) return;
    this.#soon = true;
    if (!(error instanceof Lost)) this.#rooms.onError(error);
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
      this.#timer = setTimeout(() => this.#start(), this.#soon ? leaseMs / 2 : lookMs);
      this.#timer.unref();
    }
  }
}
