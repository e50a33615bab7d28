/** Commits whose times are kept. */
const timesMax = 1_000;
const secondsKept = 60;

/** Measures the commits of this process: how many a second in the last minute, and how long the last ones took. */
export class CommitMeter {
  readonly #times = new Float64Array(timesMax);
  #commits = 0;
  /** Events stored in each of the last seconds, by second modulo `secondsKept`. */
  readonly #stored = new Uint32Array(secondsKept);
  readonly #secondOf = new Float64Array(secondsKept);

  /** @param stored - events of the commit */
  observe(stored: number, ms: number, nowMs = performance.now()): void {
    this.#times[this.#commits++ % timesMax] = ms;
    const second = Math.floor(nowMs / 1_000);
    const place = second % secondsKept;
    if (this.#secondOf[place] !== second) {
      this.#secondOf[place] = second;
      this.#stored[place] = 0;
    }
    this.#stored[place]! += stored;
  }

  /** Events stored in the last minute. */
  storedInMinute(nowMs = performance.now()): number {
    const since = Math.floor(nowMs / 1_000) - secondsKept;
    return this.#stored.reduce(
      (sum, stored, place) => sum + (this.#secondOf[place]! > since ? stored : 0),
      0,
    );
  }

  /** Milliseconds that a share of the last commits took at most; null before the first. */
  quantile(share: number): number | null {
    const count = Math.min(this.#commits, timesMax);
    if (count === 0) return null;
    const sorted = this.#times.slice(0, count).sort();
    return sorted[Math.min(count - 1, Math.floor(count * share))]!;
  }
}
