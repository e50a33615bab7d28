import { limits } from "../core/limits.ts";
import { countInGroup, type EventGroup, largestFirst } from "./event-groups.ts";
import type { RuleKind, WhenOf } from "./rule-kind.ts";
import { nextDigestMs } from "./schedule.ts";

/**
 * What was collected for the next digest; null if nothing was. Ids and groups are in the order in which they arrived.
 */
export type DigestState = null | {
  fromMs: number;
  dueMs: number;
  count: number;
  ids: string[];
  groups: EventGroup[];
};

/**
 * Alerts on all events since the last digest together. The time of a digest is set by its first event, so there is no
 * digest without events, and one that is overdue comes once.
 */
export const digest: RuleKind<WhenOf<"digest">, DigestState> = {
  start: () => null,

  dueAt: (_, collected) => collected?.dueMs ?? null,

  onTime(_, collected, nowMs) {
    if (!collected || nowMs < collected.dueMs) return { state: collected, notifications: [] };
    const { fromMs, dueMs, count, ids, groups } = collected;
    const newestIds = ids.toReversed();
    return {
      state: null,
      notifications: [
        { type: "digest", atMs: dueMs, count, fromMs, newestIds, groups: largestFirst(groups) },
      ],
    };
  },

  onMatch(when, state, event, nowMs) {
    const collected = state ?? {
      fromMs: nowMs,
      dueMs: nextDigestMs(when, nowMs),
      count: 0,
      ids: [],
      groups: [],
    };
    return {
      state: {
        ...collected,
        count: collected.count + 1,
        ids: [...collected.ids, event.id].slice(-limits.digestEvents),
        groups: countInGroup(collected.groups, event),
      },
      notifications: [],
    };
  },

  setBack(when, collected, nowMs) {
    if (!collected || collected.fromMs <= nowMs) return collected;
    return { ...collected, fromMs: nowMs, dueMs: nextDigestMs(when, nowMs) };
  },
};
