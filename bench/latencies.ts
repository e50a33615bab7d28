export type LatencySummary = { count: number; p50Ms: number; p99Ms: number; maxMs: number };

const bucketUs = 10;
const bucketsMax = 6_000_000; // one minute; longer latencies count as one minute

/** A histogram of latencies in steps of 10 µs. Adding one is cheap, however many there are. */
export class Latencies {
  readonly #buckets = new Uint32Array(bucketsMax);
  count = 0;
  slowestMs = 0;

  add(latencyMs: number): void {
    this.count++;
    this.#buckets[Math.min((latencyMs * (1_000 / bucketUs)) | 0, bucketsMax - 1)]!++;
    if (latencyMs > this.slowestMs) this.slowestMs = latencyMs;
  }

  /** The latency that a share of all did not exceed, in milliseconds; NaN if there are none. */
  percentile(share: number): number {
    let left = Math.ceil(this.count * share);
    if (left === 0) return Number.NaN;
    for (let bucket = 0; bucket < bucketsMax; bucket++) {
      left -= this.#buckets[bucket]!;
      if (left <= 0) return ((bucket + 1) * bucketUs) / 1_000;
    }
    return Number.NaN;
  }

  summary(): LatencySummary {
    return {
      count: this.count,
      p50Ms: this.percentile(0.5),
      p99Ms: this.percentile(0.99),
      maxMs: this.slowestMs,
    };
  }
}
