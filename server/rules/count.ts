import { minuteMs, type RuleKind, type WhenOf } from "./rule-kind.ts";

/** A window is this many buckets: the current one and those before it. */
const bucketsInWindow = 60;

/**
 * Counts of the window's buckets that have events, in their order. Buckets are numbered from 1970 on. `isAbove`: the
 * count was too high at the last event.
 */
export type CountState = { buckets: [bucket: number, count: number][]; isAbove: boolean };

/**
 * Notifies when more events than `above` have arrived within the window, then not until the count was `above` or less.
 * As the window moves on by a bucket at a time, it covers at least 59 sixtieths of `minutes`, and never more than
 * `minutes`.
 */
export const count: RuleKind<WhenOf<"count">, CountState> = {
  start: () => ({ buckets: [], isAbove: false }),
  dueAt: (when, state) => (state.isAbove ? fallsAt(when, state) : null),

  onTime(when, state, nowMs) {
    const atMs = state.isAbove ? fallsAt(when, state) : Number.POSITIVE_INFINITY;
    if (nowMs < atMs) return { state, notifications: [] };
    return { state: { ...state, isAbove: false }, notifications: [{ type: "below", atMs }] };
  },

  onMatch({ above, minutes }, state, event, nowMs) {
    const current = bucketOf(minutes, nowMs);
    const recent = state.buckets.filter(([bucket]) => bucket > current - bucketsInWindow);
    const buckets = withOneMore(recent, current);
    const count = total(buckets);
    const isAbove = count > above;
    return {
      state: { buckets, isAbove },
      notifications:
        isAbove && !state.isAbove ? [{ type: "threshold", atMs: nowMs, count, minutes, event }] : [],
    };
  },

  setBack({ minutes }, { buckets, isAbove }, nowMs) {
    const current = bucketOf(minutes, nowMs);
    const later = total(buckets.filter(([bucket]) => bucket >= current));
    const earlier = buckets.filter(([bucket]) => bucket < current);
    return { buckets: later > 0 ? [...earlier, [current, later]] : earlier, isAbove };
  },
};

/** When the window has moved on so far that its count is no longer above the limit, if no event comes. */
function fallsAt({ above, minutes }: WhenOf<"count">, { buckets }: CountState): number {
  let count = total(buckets);
  for (const [bucket, events] of buckets) {
    count -= events;
    if (count <= above) return (bucket + bucketsInWindow) * ((minutes * minuteMs) / bucketsInWindow);
  }
  return 0;
}

function bucketOf(minutes: number, ms: number): number {
  return Math.floor((ms * bucketsInWindow) / (minutes * minuteMs));
}

function withOneMore(buckets: CountState["buckets"], current: number): CountState["buckets"] {
  const [bucket, count] = buckets.at(-1) ?? [];
  return bucket === current ? buckets.with(-1, [current, count! + 1]) : [...buckets, [current, 1]];
}

function total(buckets: CountState["buckets"]): number {
  return buckets.reduce((sum, [, count]) => sum + count, 0);
}
