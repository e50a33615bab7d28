import { isoOf } from "../core/iso.ts";
import type { MetricReading } from "../schemas/rule.ts";
import { isBack, isBeyond } from "./metric-value.ts";
import { minuteMs, type RuleKind, type RuleNotification, type WhenOf } from "./rule-kind.ts";

type When = WhenOf<"metric">;

/** Times are milliseconds since 1970. */
export type MetricState = {
  /** When it is read next. */
  nextMs: number;
  last: (Pick<Reading, "value"> & { endMs: number }) | null;
  /** Since when the condition holds without a break; null if it doesn't, or if the rule has notified. */
  pendingSinceMs: number | null;
  /** Since when the rule has notified and the value isn't back yet. */
  firingSinceMs: number | null;
  /** The readings that fail since the last one that succeeded, and whether the owners know. */
  failure: { sinceMs: number; detail: string; isTold: boolean } | null;
};

/** A value that was read when it was due. */
export type Reading = { dueMs: number; value: number | null };

/** The newest events have so long to arrive before the minute is measured that they belong to. */
const settleMs = 10_000;
/** How long clients have to send again after the server was down. */
const graceMs = 5 * minuteMs;

/**
 * Notifies once a metric has been beyond its threshold for `pendingMinutes`, and again when it is back at `clear`. It
 * follows no events: what it reads is passed to `onReading`.
 */
export const metric: RuleKind<When, MetricState> = {
  start: (nowMs) => ({
    nextMs: nowMs + settleMs + spreadMs(nowMs),
    last: null,
    pendingSinceMs: null,
    firingSinceMs: null,
    failure: null,
  }),
  dueAt: () => null,
  onTime: (_, state) => ({ state, notifications: [] }),
  onMatch: (_, state) => ({ state, notifications: [] }),
  setBack: (_, state) => state,

  afterDowntime(when, state, nowMs) {
    if (nowMs < state.nextMs) return state;
    const nextMs = canMissEvents(when) ? nowMs + graceMs : state.nextMs;
    return { ...state, nextMs, pendingSinceMs: null };
  },
};

/** How far two readings are apart. */
export function stepMinutes({ minutes }: Pick<When, "minutes">): number {
  if (minutes <= 60) return 1;
  return minutes <= 24 * 60 ? 5 : 15;
}

/** The reading that is due at a time: the last one if several were missed, or at once if the clock was set back. */
export function dueReading(
  when: When,
  { nextMs }: MetricState,
  nowMs: number,
): { dueMs: number; endMs: number } {
  const stepMs = stepMinutes(when) * minuteMs;
  const dueMs = nowMs < nextMs ? nowMs : nextMs + Math.floor((nowMs - nextMs) / stepMs) * stepMs;
  return { dueMs, endMs: endOf(dueMs) };
}

/** Takes in a reading. */
export function onReading(
  when: When,
  state: MetricState,
  { dueMs, value }: Reading,
): { state: MetricState; notifications: RuleNotification[] } {
  const endMs = endOf(dueMs);
  const next = {
    ...state,
    nextMs: dueMs + stepMinutes(when) * minuteMs,
    last: { endMs, value },
    failure: null,
  };
  const { firingSinceMs } = state;
  if (firingSinceMs !== null) {
    if (!isBack(when, value)) return { state: next, notifications: [] };
    return {
      state: { ...next, firingSinceMs: null },
      notifications: [{ type: "metric-recovery", atMs: endMs, sinceMs: firingSinceMs, value, when }],
    };
  }
  if (!isBeyond(when, value)) return { state: { ...next, pendingSinceMs: null }, notifications: [] };
  const sinceMs = Math.min(state.pendingSinceMs ?? endMs, endMs);
  if (endMs - sinceMs < when.pendingMinutes * minuteMs)
    return { state: { ...next, pendingSinceMs: sinceMs }, notifications: [] };
  return {
    state: { ...next, pendingSinceMs: null, firingSinceMs: endMs },
    notifications: [{ type: "metric", atMs: endMs, sinceMs, value, when }],
  };
}

/** Notes that a reading failed. It is tried again after a minute. */
export function onFailure(state: MetricState, detail: string, nowMs: number): MetricState {
  const { sinceMs = nowMs, isTold = false } = state.failure ?? {};
  return { ...state, nextMs: nowMs + minuteMs, failure: { sinceMs, detail, isTold } };
}

/** The readings of a rule, as its API answers them. */
export function readingOf({
  nextMs,
  last,
  pendingSinceMs,
  firingSinceMs,
  failure,
}: MetricState): MetricReading {
  const sinceMs = firingSinceMs ?? pendingSinceMs;
  return {
    state: firingSinceMs !== null ? "firing" : pendingSinceMs !== null ? "pending" : "ok",
    since: sinceMs === null ? null : isoOf(sinceMs),
    value: last?.value ?? null,
    at: last && isoOf(last.endMs),
    nextAt: isoOf(nextMs),
    failure: failure?.detail ?? null,
  };
}

/** The end of what is measured: the last full minute whose events have had time to arrive. */
function endOf(dueMs: number): number {
  return Math.floor((dueMs - settleMs) / minuteMs) * minuteMs;
}

/** Rules that are created within moments are read at different seconds. */
function spreadMs(nowMs: number): number {
  return (nowMs * 7_919) % (minuteMs - settleMs);
}

/** Whether events that are missing could let the rule alert. */
function canMissEvents({ above, against, measure: { metric } }: When): boolean {
  const growsOnly = metric === "events" || metric === "users" || metric === "maximum";
  return above === undefined || against !== null || !growsOnly;
}
