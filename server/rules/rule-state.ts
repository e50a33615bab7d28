/**
 * What a rule alerts on, and when: pure functions over a small state that can be stored as JSON.
 *
 * Time is what the caller passes in: for an event, when it arrived, as the server's clock showed it. An event first
 * makes up for everything that was due before it arrived. So being late, after a restart for example, delays
 * notifications but doesn't change them. `onTime` ends windows, so it is called with a moment up to which all events
 * were passed in. An event from before that still comes belongs to the next window.
 *
 * Backdated events, more than an hour old when they arrive, change nothing. All others count at the moment when they
 * arrive. A silence decides by its own window instead: an event is a sign of life if it happened within the last
 * `minutes`, even if those are days.
 */
import { isDeepStrictEqual } from "node:util";
import { type Event, isBackdated } from "../event/event.ts";
import type { Rule, RuleWhen } from "../schemas/rule.ts";
import { type BurstState, burst } from "./burst.ts";
import { type CountState, count } from "./count.ts";
import { type DigestState, digest } from "./digest.ts";
import { each, number } from "./each.ts";
import { type MetricState, metric } from "./metric.ts";
import type { RuleKind, Step, WhenOf } from "./rule-kind.ts";
import { type SilenceState, silence } from "./silence.ts";

type States = {
  each: null;
  burst: BurstState;
  digest: DigestState;
  silence: SilenceState;
  count: CountState;
  number: null;
  metric: MetricState;
};

const kinds: { [Type in RuleWhen["type"]]: RuleKind<WhenOf<Type>, States[Type]> } = {
  each,
  burst,
  digest,
  silence,
  count,
  number,
  metric,
};

type KindState = States[keyof States];

/**
 * JSON of limited size, however many events match. `clockMs` is the latest moment that it knows of.
 *
 * Invariant: what a rule alerts on depends on its events and their times of arrival alone, not on when time is checked.
 * A preview, a restart and a late worker give the same. Checked by `server/rules/rule-properties.test.ts`.
 */
export type RuleState = { clockMs: number; kind: KindState };

/** How far behind `clockMs` an event may be before the clock was set back: nodes' clocks differ a little. */
const clockDifferenceMs = 60_000;

/** The state of a rule that begins now. */
export function startState({ when }: Pick<Rule, "when">, nowMs: number): RuleState {
  return { clockMs: nowMs, kind: kindOf(when).start(nowMs) };
}

/** Whether a changed rule begins anew. What it had counted or collected is dropped. */
export function startsAnew(
  before: Pick<Rule, "q" | "when" | "forEach" | "enabled">,
  after: Pick<Rule, "q" | "when" | "forEach" | "enabled">,
): boolean {
  const isTurnedOn = after.enabled && !before.enabled;
  const isAboutOthers = before.q !== after.q || before.forEach !== after.forEach;
  return isTurnedOn || isAboutOthers || !isDeepStrictEqual(before.when, after.when);
}

/** When `onTime` is needed next, in milliseconds since 1970; null as long as nothing is due without another event. */
export function dueAt({ when }: Pick<Rule, "when">, state: RuleState): number | null {
  return kindOf(when).dueAt(when, state.kind);
}

/** When the metric of a rule is read next, in milliseconds since 1970; null for other rules. */
export function readAt({ when }: Pick<Rule, "when">, { kind }: RuleState): number | null {
  return when.type === "metric" ? (kind as MetricState).nextMs : null;
}

/**
 * Alerts on everything that is due. Returns the same state if nothing changes.
 *
 * @param nowMs - all events that arrived before were passed in
 */
export function onTime({ when }: Pick<Rule, "when">, state: RuleState, nowMs: number): Step<RuleState> {
  return advance(when, ...withoutClockJump(when, state, nowMs));
}

/**
 * Takes in an event that matches the rule's `q`, in the order of arrival. Returns the same state if nothing changes.
 *
 * @param receivedMs - when it arrived
 */
export function onMatch(
  { when }: Pick<Rule, "when">,
  state: RuleState,
  event: Event,
  receivedMs: number,
): Step<RuleState> {
  if (when.type !== "silence" && isBackdated(Date.parse(event.createdAt), receivedMs)) {
    return { state, notifications: [] };
  }
  const [current, nowMs] = withoutClockJump(when, state, receivedMs);
  const before = advance(when, current, nowMs);
  const step = kindOf(when).onMatch(when, before.state.kind, event, nowMs);
  return {
    state: step.state === before.state.kind ? before.state : { clockMs: nowMs, kind: step.state },
    notifications: [...before.notifications, ...step.notifications],
  };
}

/** The state of a rule when the server starts after it was down. Returns the same state if nothing changes. */
export function afterDowntime({ when }: Pick<Rule, "when">, state: RuleState, nowMs: number): RuleState {
  const { afterDowntime } = kindOf(when);
  const kind = afterDowntime ? afterDowntime(when, state.kind, nowMs) : state.kind;
  return kind === state.kind ? state : { ...state, kind };
}

/** @param nowMs - not before the state's clock */
function advance(when: RuleWhen, state: RuleState, nowMs: number): Step<RuleState> {
  const step = kindOf(when).onTime(when, state.kind, nowMs);
  return {
    state: step.state === state.kind ? state : { clockMs: nowMs, kind: step.state },
    notifications: step.notifications,
  };
}

/** A time that isn't before the state's clock. If the clock was set back, the state's goes with it. */
function withoutClockJump(when: RuleWhen, state: RuleState, nowMs: number): [RuleState, number] {
  if (state.clockMs - nowMs <= clockDifferenceMs) return [state, Math.max(state.clockMs, nowMs)];
  return [{ clockMs: nowMs, kind: kindOf(when).setBack(when, state.kind, nowMs) }, nowMs];
}

/** The kind of a rule. TypeScript can't tell that its state belongs to the same type of `when`. */
function kindOf(when: RuleWhen): RuleKind<RuleWhen, KindState> {
  return kinds[when.type] as RuleKind<RuleWhen, KindState>;
}
