import type { Event } from "../event/event.ts";
import { numberOf } from "../event/number.ts";
import type { RuleKind, Step, WhenOf } from "./rule-kind.ts";

/** Rules that look at each event on its own, and keep nothing. */
const stateless = {
  start: () => null,
  dueAt: () => null,
  onTime: () => ({ state: null, notifications: [] }),
  setBack: () => null,
};

/** Alerts on each event. */
export const each: RuleKind<WhenOf<"each">, null> = {
  ...stateless,
  onMatch: (_, __, event, nowMs) => notifyOf(event, nowMs),
};

/** Alerts on each event with a tag that is a larger number. */
export const number: RuleKind<WhenOf<"number">, null> = {
  ...stateless,
  onMatch({ tag, above }, state, event, nowMs) {
    const value = Object.hasOwn(event.tags, tag) ? numberOf(event.tags[tag]!) : null;
    return value !== null && value > above ? notifyOf(event, nowMs) : { state, notifications: [] };
  },
};

function notifyOf(event: Event, atMs: number): Step<null> {
  return { state: null, notifications: [{ type: "event", atMs, event }] };
}
