import { minuteMs, type RuleKind, type RuleNotification, type WhenOf } from "./rule-kind.ts";

/** The window in which events are counted; null if the next event is notified of at once. */
export type BurstState = null | { fromMs: number; count: number; firstId: string };

/**
 * Notifies of the first event at once, and of those that follow in a summary at the end of each window. After a window
 * without events, the next event is a first one again.
 */
export const burst: RuleKind<WhenOf<"burst">, BurstState> = {
  start: () => null,

  dueAt: ({ minutes }, window) => (window && window.count > 0 ? window.fromMs + minutes * minuteMs : null),

  onTime({ minutes }, state, nowMs) {
    const notifications: RuleNotification[] = [];
    let window = state;
    while (window && window.fromMs + minutes * minuteMs <= nowMs) {
      const endMs = window.fromMs + minutes * minuteMs;
      if (window.count > 0) notifications.push({ type: "summary", atMs: endMs, ...window });
      window = window.count > 0 ? { ...window, fromMs: endMs, count: 0 } : null;
    }
    return { state: window, notifications };
  },

  onMatch(_, window, event, nowMs) {
    if (window) return { state: { ...window, count: window.count + 1 }, notifications: [] };
    return {
      state: { fromMs: nowMs, count: 0, firstId: event.id },
      notifications: [{ type: "event", atMs: nowMs, event }],
    };
  },

  setBack: (_, window, nowMs) => window && { ...window, fromMs: Math.min(window.fromMs, nowMs) },
};
