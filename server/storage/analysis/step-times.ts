import type { FunnelStepResult, TimeBucket } from "./queries.ts";
import { TooLargeError } from "./too-large.ts";

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Where the buckets of times between two steps begin. Each is about twice to five times as long as the one before. */
export const timeBounds: readonly number[] = [
  0,
  ...[1, 5, 10, 30].map((seconds) => seconds * secondMs),
  ...[1, 2, 5, 10, 30].map((minutes) => minutes * minuteMs),
  ...[1, 2, 6, 12].map((hours) => hours * hourMs),
  ...[1, 2, 3, 7, 14, 30, 90].map((days) => days * dayMs),
];

/** Users by step, and the times between steps. */
export class StepTimes {
  users = 0;
  #size = 0;
  /** For each step but the first, the times since the step before. */
  readonly #times: number[][];

  constructor(steps: number) {
    this.#times = Array.from({ length: steps - 1 }, () => []);
  }

  /** Throws `TooLargeError`. */
  add(attempt: readonly number[]): void {
    this.users++;
    this.#size += attempt.length - 1;
    TooLargeError.check("events", this.#size);
    for (let step = 1; step < attempt.length; step++)
      this.#times[step - 1]!.push(attempt[step]! - attempt[step - 1]!);
  }

  addAll(other: StepTimes): void {
    this.users += other.users;
    for (const [index, times] of other.#times.entries())
      for (const time of times) this.#times[index]!.push(time);
  }

  results(): FunnelStepResult[] {
    return [{ users: this.users, medianMs: null, p90Ms: null, times: [] }, ...this.#times.map(resultOf)];
  }
}

function resultOf(times: number[]): FunnelStepResult {
  const users = times.length;
  if (users === 0) return { users, medianMs: null, p90Ms: null, times: [] };
  const sorted = Float64Array.from(times).sort();
  const middle = users >> 1;
  const medianMs = users % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { users, medianMs, p90Ms: sorted[Math.ceil(0.9 * users) - 1]!, times: bucketsOf(sorted) };
}

/** The buckets from the first with users to the last. */
function bucketsOf(sorted: Float64Array): TimeBucket[] {
  const buckets: TimeBucket[] = [];
  let at = 0;
  for (const [index, fromMs] of timeBounds.entries()) {
    const toMs = timeBounds[index + 1] ?? null;
    const before = at;
    while (at < sorted.length && (toMs === null || sorted[at]! < toMs)) at++;
    if (at > before || buckets.length > 0) buckets.push({ fromMs, toMs, users: at - before });
    if (at === sorted.length) break;
  }
  return buckets;
}
