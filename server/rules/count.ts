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
 * `minutes`. Only an event can bring the count up, so nothing depends on when time is checked.
 */
export const count: RuleKind<WhenOf<"count">, CountState> = {
  start: () => ({ buckets: [], isAbove: false }),
  dueAt: () => null,
  onTime: (_, state) => ({ state, notifications: [] }),

  onMatch({ above, minutes }, state, event, nowMs) {
    const current = bucketOf(minutes, nowMs);
    const recent = state.buckets.filter(([bucket]) => bucket > current - bucketsInWindow);
    const wasAbove = state.isAbove && total(recent) > above;
    const buckets = withOneMore(recent, current);
    const count = total(buckets);
    const isAbove = count > above;
    return {
      state: { buckets, isAbove },
      notifications: isAbove && !wasAbove ? [{ type: "threshold", atMs: nowMs, count, minutes, event }] : [],
    };
  },

  setBack({ minutes }, { buckets, isAbove }, nowMs) {
    const current = bucketOf(minutes, nowMs);
    const later = total(buckets.filter(([bucket]) => bucket >= current));
    const earlier = buckets.filter(([bucket]) => bucket < current);
    return { buckets: later > 0 ? [...earlier, [current, later]] : earlier, isAbove };
  },
};

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
