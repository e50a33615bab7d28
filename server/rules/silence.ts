import { minuteMs, type RuleKind, type WhenOf } from "./rule-kind.ts";

/** When the last event arrived, or the rule began, and whether the silence since then was notified of. */
export type SilenceState = { sinceMs: number; isSilent: boolean };

/**
 * Notifies once if no event has arrived for some time, and of the next one. An event that happened longer ago than that
 * is no sign of life.
 */
export const silence: RuleKind<WhenOf<"silence">, SilenceState> = {
  start: (nowMs) => ({ sinceMs: nowMs, isSilent: false }),

  dueAt: ({ minutes }, { sinceMs, isSilent }) => (isSilent ? null : sinceMs + minutes * minuteMs),

  onTime({ minutes }, state, nowMs) {
    const { sinceMs, isSilent } = state;
    const atMs = sinceMs + minutes * minuteMs;
    if (isSilent || nowMs < atMs) return { state, notifications: [] };
    return { state: { sinceMs, isSilent: true }, notifications: [{ type: "silence", atMs, sinceMs }] };
  },

  onMatch({ minutes }, state, event, nowMs) {
    if (nowMs - Date.parse(event.createdAt) > minutes * minuteMs) return { state, notifications: [] };
    const afterMs = nowMs - state.sinceMs;
    return {
      state: { sinceMs: nowMs, isSilent: false },
      notifications: state.isSilent ? [{ type: "recovery", atMs: nowMs, afterMs, event }] : [],
    };
  },

  setBack: (_, { sinceMs, isSilent }, nowMs) => ({ sinceMs: Math.min(sinceMs, nowMs), isSilent }),
};
