import { WorkLoop } from "../scheduling/work-loop.ts";
import type { Store } from "../storage/store.ts";
import { Salts } from "./salts.ts";
import { Visits } from "./visits.ts";

type Deps = {
  store: Pick<Store, "control" | "rowsOf">;
  onError: (error: unknown) => void;
  now: () => number;
};

/** Activity of visits is saved so often. */
const saveMs = 60_000;

/** Saves visits that go on, and deletes those that are over, and the salts of days that are over. */
export class WebsiteWorker extends WorkLoop {
  readonly salts: Salts;
  readonly visits: Visits;
  readonly #now: () => number;
  /** Whether there is something to do later. A server without websites rests. */
  #isActive = false;

  constructor({ store, onError, now }: Deps) {
    super({ onError });
    this.salts = new Salts(store.control);
    this.visits = new Visits(store);
    this.#now = now;
  }

  /** Visits begin, so there will be some to save. */
  begin(): void {
    if (this.#isActive) return;
    this.#isActive = true;
    this.wake();
  }

  override async close(): Promise<void> {
    await super.close();
    if (this.#isActive) await this.visits.save(this.#now());
  }

  protected async work(): Promise<void> {
    await this.salts.deleteOld(this.#now());
    await this.visits.save(this.#now());
    this.#isActive = this.visits.hasChanges || !(await this.visits.isEmpty());
  }

  protected async waitMs(): Promise<number> {
    const leftMs = this.salts.leftMs(this.#now());
    // The last day of a website that nobody visits any more must be deleted, too.
    return this.#isActive ? Math.min(saveMs, leftMs) : leftMs;
  }
}
