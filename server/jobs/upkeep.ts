import type { Store } from "../storage/store.ts";
import type { Job } from "../wire/job.ts";
import { deleteChannel, deleteProject } from "./delete.ts";
import { eraseTraces, eraseUser } from "./erase-user.ts";
import { changeJob, type JobRow, openJobs } from "./jobs.ts";
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
/** Under load a block of events comes in a second or two; what is in no digest yet is searched event by event. */
const digestEveryMs = 5_000;
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

/** Does what outlasts a request, one thing at a time: jobs, then what has expired, then what makes searches quick. */
export class Upkeep {
  readonly #rooms: Rooms;
  readonly #work: Work;
  readonly #now: () => number;
  #timer: Timer | null = null;
  #working: Promise<void> | null = null;
  #again = false;
  #closed = false;
  #stepStartedMs = 0;
  #wokenMs = 0;

  constructor(rooms: Rooms) {
    this.#rooms = rooms;
    this.#now = rooms.now ?? Date.now;
    this.#work = { store: rooms.store, onRemoved: rooms.onRemoved, pause: () => this.#pause() };
  }

  /** Looks for work: at the start, after a job was started, and when what is kept for how long has changed. */
  wake(): void {
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
    const { control } = this.#rooms.store;
    this.#wokenMs = performance.now();
    while (this.#again) {
      this.#again = false;
      this.#stepStartedMs = performance.now();
      await this.#do(await openJobs(control));
      await this.#expire().catch((error) => this.#failed(error));
      await this.#digest();
    }
  }

  async #do(jobs: JobRow[]): Promise<void> {
    const erasures: JobRow[] = [];
    for (const job of jobs) {
      try {
        await changeJob(this.#rooms.store.control, job.id, { state: "running" });
        await kinds[job.kind](this.#work, job);
        if (job.kind === "erase-user") erasures.push(job);
        else await this.#end([job]);
        await this.#pause();
      } catch (error) {
        this.#failed(error);
      }
    }
    if (erasures.length === 0) return;
    // Cleaning the files looks at all of them, however little was erased: once for all.
    await eraseTraces(this.#work, erasures)
      .then(() => this.#end(erasures))
      .catch((error) => this.#failed(error));
  }

  async #end(jobs: JobRow[]): Promise<void> {
    const endedAt = this.#now();
    for (const { id } of jobs) {
      await changeJob(this.#rooms.store.control, id, { state: "done", endedAt });
      await this.#pause();
    }
  }

  async #expire(): Promise<void> {
    const pause = () => this.#pauseOrGiveWay();
    const work = { ...this.#work, pause };
    await forgetDeletedProjects(work, this.#now());
    if ((await expire(work, this.#now())) > 0) await work.store.events.shrink(pause);
  }

  async #digest(): Promise<void> {
    const pause = () => {
      if (this.#isDue) this.#again = true;
      return this.#pauseOrGiveWay();
    };
    await this.#work.store.events.digest(pause, this.#now()).catch((error) => this.#failed(error));
  }

  /** Whether it is time to look for what has expired. */
  get #isDue(): boolean {
    return performance.now() - this.#wokenMs >= everyMs;
  }

  async #pauseOrGiveWay(): Promise<void> {
    await this.#pause();
    if (this.#again) throw new Interrupted();
  }

  /** What failed is tried again the next time, and holds up nothing else. */
  #failed(error: unknown): void {
    if (error instanceof Stopped) throw error;
    if (!(error instanceof Interrupted)) this.#rooms.onError(error);
  }

  async #pause(): Promise<void> {
    if (this.#closed) throw new Stopped();
    const tookMs = performance.now() - this.#stepStartedMs;
    await Bun.sleep(Math.min(tookMs * restRatio, restMsMax));
    if (this.#closed) throw new Stopped();
    this.#stepStartedMs = performance.now();
  }

  #sleep(): void {
    if (this.#closed) return;
    if (this.#again) this.wake();
    else {
      this.#timer = setTimeout(() => this.#tick(), digestEveryMs);
      this.#timer.unref();
    }
  }

  #tick(): void {
    if (this.#isDue) this.wake();
    else this.#begin(() => this.#digest());
  }
}
