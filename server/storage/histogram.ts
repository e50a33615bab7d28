import { limits } from "../core/limits.ts";

/** Finds the bucket of a timestamp. */
export class Buckets {
  readonly length: number;
  readonly #bounds: number[];
  #last = 0;

  /** @param bounds - the start of each bucket, and the end of the last */
  constructor(bounds: number[]) {
    this.length = bounds.length - 1;
    this.#bounds = bounds;
  }

  /** @param ms - within the bounds */
  of(ms: number): number {
    const bounds = this.#bounds;
    // Timestamps mostly come in order: try the last bucket first.
    if (ms >= bounds[this.#last]! && ms < bounds[this.#last + 1]!) return this.#last;
    let low = 0;
    let high = this.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (bounds[middle]! <= ms) low = middle;
      else high = middle - 1;
    }
    this.#last = low;
    return low;
  }

  /** The end of the timestamp's bucket. */
  endOf(ms: number): number {
    return this.#bounds[this.of(ms) + 1]!;
  }
}

/** A split has more values than `limits.statsSplitValues`. */
export class TooManyValuesError extends Error {}

/** Counts by value and bucket; buckets without events take no memory. */
export class Histogram {
  readonly #counts = new Map<string, Map<number, number>>();
  readonly #values: ReadonlySet<string> | null;

  /** @param values - the only values that count; all by default */
  constructor(values?: readonly string[]) {
    this.#values = values ? new Set(values) : null;
  }

  /** Throws `TooManyValuesError`. */
  add(value: string, bucket: number, events: number): void {
    if (this.#values?.has(value) === false) return;
    let counts = this.#counts.get(value);
    if (counts === undefined) {
      if (this.#counts.size >= limits.statsSplitValues) throw new TooManyValuesError();
      counts = new Map();
      this.#counts.set(value, counts);
    }
    counts.set(bucket, (counts.get(bucket) ?? 0) + events);
  }

  /** The values with the most events; equal ones in the order of their code units. */
  largest(count: number, buckets: number): { value: string; counts: number[] }[] {
    return [...this.#counts]
      .map(([value, counts]) => ({ value, counts, total: sum(counts.values()) }))
      .sort((a, b) => b.total - a.total || (a.value < b.value ? -1 : 1))
      .slice(0, count)
      .map(({ value, counts }) => {
        const dense = new Array<number>(buckets).fill(0);
        for (const [bucket, events] of counts) dense[bucket] = events;
        return { value, counts: dense };
      });
  }
}

function sum(counts: Iterable<number>): number {
  let total = 0;
  for (const count of counts) total += count;
  return total;
}
