import { countInGroup, type EventGroup, largestFirst } from "./event-groups.ts";
import { minuteMs, type RuleKind, type RuleNotification, type WhenOf } from "./rule-kind.ts";

/**
 * The window in which events are counted; null if the next event alerts at once. `total` counts all events of
 * the burst, the other fields are of the window.
 */
export type BurstState = null | {
  fromMs: number;
  total: number;
  count: number;
  firstId: string;
  newestId: string;
  groups: EventGroup[];
};

/**
 * Alerts on the first event at once, and on those that follow in a summary at the end of each window. After a window
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
      if (window.count > 0) notifications.push(summaryOf(window, endMs));
      window = window.count > 0 ? { ...window, fromMs: endMs, count: 0, groups: [] } : null;
    }
    return { state: window, notifications };
  },

  onMatch(_, window, event, nowMs) {
    if (window) {
      const { total, count, groups } = window;
      const counted = { total: total + 1, count: count + 1, groups: countInGroup(groups, event) };
      return { state: { ...window, ...counted, newestId: event.id }, notifications: [] };
    }
    return {
      state: { fromMs: nowMs, total: 1, count: 0, firstId: event.id, newestId: event.id, groups: [] },
      notifications: [{ type: "event", atMs: nowMs, event }],
    };
  },

  setBack: (_, window, nowMs) => window && { ...window, fromMs: Math.min(window.fromMs, nowMs) },
};

function summaryOf(window: NonNullable<BurstState>, atMs: number): RuleNotification {
  const { fromMs, total, count, firstId, newestId, groups } = window;
  return {
    type: "summary",
    atMs,
    fromMs,
    total,
    count,
    firstId,
    newestIds: [newestId],
    groups: largestFirst(groups),
  };
}
