/** A user's way through a funnel: the time of each step that was taken. */
export type Attempt = readonly number[];

/**
 * Finds how far a user gets in a funnel. Steps are taken in order, by different events, at most `windowMs` after the
 * first one. Events of the same millisecond have no order: they are taken in whichever order leads furthest.
 *
 * Of all attempts, the one that gets furthest is returned, and of those the one that gets there first.
 */
export class FunnelSteps {
  readonly #count: number;
  readonly #windowMs: number;
  /** For each number of steps, the attempt with the latest start: it has the most time left. */
  #attempts: (Attempt | null)[] = [];

  constructor(count: number, windowMs: number) {
    this.#count = count;
    this.#windowMs = windowMs;
  }

  /**
   * @param order - indexes of the user's events in `times` and `masks`, in the order of time, from `from` to before `to`
   * @param masks - bit n of an event is set if it can be step n
   */
  furthest(times: Float64Array, masks: Uint8Array, order: Uint32Array, from: number, to: number): Attempt {
    this.#attempts = [];
    let best: Attempt = [];
    for (let at = from; at < to; ) {
      const ms = times[order[at]!]!;
      let end = at + 1;
      while (end < to && times[order[end]!] === ms) end++;
      if (end === at + 1) this.#takeOne(ms, masks[order[at]!]!);
      else
        this.#takeAll(
          ms,
          Array.from(order.subarray(at, end), (index) => masks[index]!),
        );
      at = end;
      for (let taken = this.#count; taken > best.length; taken--) {
        const attempt = this.#attempts[taken];
        if (attempt) best = attempt;
      }
      if (best.length === this.#count) break;
    }
    return best;
  }

  #takeOne(ms: number, mask: number): void {
    // From the last step down, so that no event is two steps of an attempt.
    for (let step = this.#count - 1; step >= 0; step--) {
      if ((mask >> step) & 1) this.#extend(this.#attempts, step, step + 1, ms);
    }
  }

  #takeAll(ms: number, masks: number[]): void {
    const before = [...this.#attempts];
    const kinds = kindsOf(masks, this.#count);
    for (let taken = 1; taken <= this.#count; taken++) {
      for (let base = taken - 1; base >= 0; base--) {
        if (canTake(kinds, base, taken)) this.#extend(before, base, taken, ms);
      }
    }
  }

  /** Extends the attempt with `base` steps to `taken` if that starts later than the known one. */
  #extend(attempts: (Attempt | null)[], base: number, taken: number, ms: number): void {
    const attempt = base === 0 ? [] : attempts[base];
    if (!attempt) return;
    const startMs = attempt[0] ?? ms;
    if (ms - startMs > this.#windowMs) return;
    const known = this.#attempts[taken];
    if (known && known[0]! >= startMs) return;
    this.#attempts[taken] = [...attempt, ...new Array<number>(taken - base).fill(ms)];
  }
}

type Kinds = { mask: number; left: number }[];

/** The different masks, and how many events have each; more than there are steps make no difference. */
function kindsOf(masks: number[], stepsMax: number): Kinds {
  const counts = new Map<number, number>();
  for (const mask of masks) counts.set(mask, Math.min((counts.get(mask) ?? 0) + 1, stepsMax));
  return [...counts].map(([mask, left]) => ({ mask, left }));
}

/** Whether different events can take the steps from `step` to before `end`. */
function canTake(kinds: Kinds, step: number, end: number): boolean {
  if (step === end) return true;
  for (const kind of kinds) {
    if (kind.left === 0 || !((kind.mask >> step) & 1)) continue;
    kind.left--;
    const isPossible = canTake(kinds, step + 1, end);
    kind.left++;
    if (isPossible) return true;
  }
  return false;
}
