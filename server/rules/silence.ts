import { minuteMs, type RuleKind, type WhenOf } from "./rule-kind.ts";

/**
 * When the last event arrived, or the rule began, and whether the rule alerted on the silence since then. `lastId` is
 * that event's, null if there was none yet. The rule alerts on it no sooner than `notBeforeMs`, which is null if that
 * needs no delay.
 */
export type SilenceState = {
  sinceMs: number;
  lastId: string | null;
  isSilent: boolean;
  notBeforeMs: number | null;
};

/** How long after a start a silence that became due meanwhile waits: what was sent meanwhile may still arrive. */
const graceMinutesMax = 5;

/**
 * Notifies once if no event has arrived for some time, and of the next one. An event that happened longer ago than that
 * is no sign of life.
 */
export const silence: RuleKind<WhenOf<"silence">, SilenceState> = {
  start: (nowMs) => ({ sinceMs: nowMs, lastId: null, isSilent: false, notBeforeMs: null }),

  dueAt: ({ minutes }, { sinceMs, isSilent, notBeforeMs }) =>
    isSilent ? null : Math.max(sinceMs + minutes * minuteMs, notBeforeMs ?? 0),

  onTime({ minutes }, state, nowMs) {
    const { sinceMs, lastId, isSilent, notBeforeMs } = state;
    const atMs = sinceMs + minutes * minuteMs;
    if (isSilent || nowMs < atMs || nowMs < (notBeforeMs ?? 0)) return { state, notifications: [] };
    return {
      state: { ...state, isSilent: true, notBeforeMs: null },
      notifications: [{ type: "silence", atMs, sinceMs, newestIds: lastId === null ? [] : [lastId] }],
    };
  },

  onMatch({ minutes }, state, event, nowMs) {
    if (nowMs - Date.parse(event.createdAt) > minutes * minuteMs) return { state, notifications: [] };
    const afterMs = nowMs - state.sinceMs;
    return {
      state: { sinceMs: nowMs, lastId: event.id, isSilent: false, notBeforeMs: null },
      notifications: state.isSilent ? [{ type: "recovery", atMs: nowMs, afterMs, event }] : [],
    };
  },

  setBack: (_, state, nowMs) => ({
    ...state,
    sinceMs: Math.min(state.sinceMs, nowMs),
    notBeforeMs: null,
  }),

  afterDowntime({ minutes }, state, nowMs) {
    if (state.isSilent || nowMs < state.sinceMs + minutes * minuteMs) return state;
    return { ...state, notBeforeMs: nowMs + Math.min(minutes, graceMinutesMax) * minuteMs };
  },
};
