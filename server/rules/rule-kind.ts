import type { Event } from "../event/event.ts";
import type { RuleWhen } from "../schemas/rule.ts";
import type { EventGroup } from "./event-groups.ts";

export type WhenOf<Type extends RuleWhen["type"]> = Extract<RuleWhen, { type: Type }>;

/**
 * An alert of a rule. `atMs` is when it was due, in milliseconds since 1970, even if it was noticed later. For a
 * summary and a digest, that is also the end of their period.
 */
export type RuleNotification = { atMs: number } & (
  | { type: "event"; event: Event }
  /**
   * Further events of a burst. `firstId` is the event that began it, which alerted at once. `total` counts all
   * events of the burst until now.
   */
  | ({ type: "summary"; firstId: string; total: number } & Collected)
  /** Collected events, the first of which arrived at `fromMs`. */
  | ({ type: "digest" } & Collected)
  /** No event has matched since `sinceMs`. The one before has its id in `newestIds`, if there was one. */
  | { type: "silence"; sinceMs: number; newestIds: string[] }
  /** The event that ended a silence, which had lasted for `afterMs`. */
  | { type: "recovery"; afterMs: number; event: Event }
  /** More events than the rule allows, with the one that was too many. */
  | { type: "threshold"; count: number; minutes: number; event: Event }
  /** Again no more events than the rule allows. It resolves the alert, and nobody is told. */
  | { type: "below" }
  /** A metric is beyond its threshold since `sinceMs`. */
  | ({ type: "metric" } & ReadMetric)
  /** A metric of which the rule has notified at `sinceMs` is back. */
  | ({ type: "metric-recovery" } & ReadMetric)
  /** A value of the rule had no event for so long that it isn't followed any more. It resolves the alert silently. */
  | { type: "forgotten" }
);

/** The value is null if there is none, and in percent for a change, a ratio or a conversion. */
export type ReadMetric = { sinceMs: number; value: number | null; when: WhenOf<"metric"> };

/** What there is to tell of a rule's alert, which was opened at `sinceMs`. */
export type AlertNotification = { atMs: number; sinceMs: number } & (
  | { type: "resolved"; event: Event }
  | { type: "reminder" }
  /** Further alerts of a group, which were collected. `values` are some of theirs. */
  | { type: "group"; values: string[] }
);

/** What people are told. */
export type ToldNotification =
  | Exclude<RuleNotification, { type: "below" | "forgotten" }>
  | AlertNotification
  /** A try of the rule, by an account or key with this name. */
  | { type: "rule-test"; atMs: number; by: string };

/** The newest events come first, and so do the largest groups. Events of further groups are only in `count`. */
type Collected = { count: number; fromMs: number; newestIds: string[]; groups: EventGroup[] };

/** A rule's next state, and its alerts on the way there. */
export type Step<State> = { state: State; notifications: RuleNotification[] };

/**
 * How rules with one type of `when` work. Times never go back: `rule-state.ts` sees to that, and to events that don't
 * notify.
 */
export type RuleKind<When, State> = {
  start: (nowMs: number) => State;
  /** When `onTime` has something to alert on; null as long as that takes another event. */
  dueAt: (when: When, state: State) => number | null;
  /** Alerts on everything that is due. */
  onTime: (when: When, state: State, nowMs: number) => Step<State>;
  /** Takes in a matching event, after `onTime` for the same moment. */
  onMatch: (when: When, state: State, event: Event, nowMs: number) => Step<State>;
  /** Moves what is later than `nowMs` there, because the clock was set back. */
  setBack: (when: When, state: State, nowMs: number) => State;
  /** Delays what became due while the server was down, if what was sent meanwhile could change it. */
  afterDowntime?: (when: When, state: State, nowMs: number) => State;
};

export const minuteMs = 60_000;
