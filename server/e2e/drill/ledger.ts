/** An event that the service has acknowledged. */
export type Acknowledged = {
  id: string;
  /** Unique per event. */
  userId: string;
  channel: string;
  createdAtMs: number;
  /** When the acknowledgement came, by `performance.now()`. */
  atMs: number;
};

/** Acknowledged events that readers look for. */
const recentMax = 600;

/** What clients were told, and when. */
export class Ledger {
  readonly acknowledged = new Map<string, Acknowledged>();
  readonly writes = new Successes();
  readonly reads = new Successes();
  #recent: Acknowledged[] = [];

  acknowledge(event: Acknowledged): void {
    if (!this.acknowledged.has(event.id)) this.#recent.push(event);
    this.acknowledged.set(event.id, event);
    if (this.#recent.length > 2 * recentMax) this.#recent = this.#recent.slice(-recentMax);
  }

  /** The latest acknowledged events. */
  recent(): readonly Acknowledged[] {
    return this.#recent.slice(-recentMax);
  }
}

type Success = { startedMs: number; endedMs: number };

/** When calls succeeded, by `performance.now()`. A call includes its retries. */
export class Successes {
  readonly #all: Success[] = [];

  add(startedMs: number, endedMs = performance.now()): void {
    this.#all.push({ startedMs, endedMs });
  }

  /** The longest time in which no call succeeded, in milliseconds. */
  longestPause(fromMs: number, toMs: number): number {
    let [longest, lastMs] = [0, fromMs];
    for (const { endedMs } of this.#within(fromMs, toMs)) {
      longest = Math.max(longest, endedMs - lastMs);
      lastMs = endedMs;
    }
    return Math.max(longest, toMs - lastMs);
  }

  /** The longest time that a single call took, in milliseconds. */
  slowest(fromMs: number, toMs: number): number {
    return this.#within(fromMs, toMs).reduce(
      (most, { startedMs, endedMs }) => Math.max(most, endedMs - startedMs),
      0,
    );
  }

  #within(fromMs: number, toMs: number): Success[] {
    return this.#all.filter(({ endedMs }) => endedMs >= fromMs && endedMs <= toMs);
  }
}
