import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";
import { type TurnOwner, Turns } from "../scheduling/turns.ts";
import type { Rule } from "../schemas/rule.ts";
import { valueOfEvent } from "./for-each.ts";
import type { RuleNotification, Step } from "./rule-kind.ts";
import { type RuleSearches, ruleMatcher } from "./rule-matcher.ts";
import { onMatch, onTime, type RuleState, startState } from "./rule-state.ts";

/** An event, and what the server's clock showed when it arrived. */
export type ReceivedEvent = {
  event: Event;
  receivedMs: number;
  /** The main IDs of IDs that are joined to another one. */
  persons?: ReadonlyMap<string, string>;
};

type PreviewedNotification = Exclude<RuleNotification, { type: "below" | "forgotten" }>;

export const isTold = (notification: RuleNotification): notification is PreviewedNotification =>
  notification.type !== "below" && notification.type !== "forgotten";

/** How often a rule would have notified, and the latest of these notifications, in their order. */
export type RulePreview = {
  count: number;
  /** With `of`, the value of a rule that follows each by itself. */
  notifications: (PreviewedNotification & { of?: string })[];
};

/**
 * The alerts that a rule would have raised if it had begun at `fromMs`, up to `toMs`; milliseconds since 1970. It is
 * run as it would have been then, on events that arrived in that time, in the order of arrival.
 */
export async function previewRule(
  rule: Pick<Rule, "when" | "forEach"> & Pick<RuleSearches, "q">,
  events: AsyncIterable<ReceivedEvent>,
  fromMs: number,
  toMs: number,
  owner: TurnOwner = "server",
): Promise<RulePreview> {
  const isMatch = ruleMatcher(rule);
  const turns = new Turns(owner);
  const preview: RulePreview = { count: 0, notifications: [] };
  const { forEach } = rule;
  /** By value; of a rule that takes all events together, at null. */
  const states = new Map<string | null, RuleState>();
  if (forEach === null) states.set(null, startState(rule, fromMs));
  for await (const { event, receivedMs, persons } of events) {
    const value = forEach === null ? null : valueOfEvent(forEach, event, persons);
    if ((forEach === null || value !== null) && isMatch(event)) match(value, event, receivedMs);
    if (turns.isOver) await turns.next();
  }
  for (const [value, state] of states) follow(value, onTime(rule, state, toMs));
  keepLatest();
  return preview;

  function match(value: string | null, event: Event, receivedMs: number): void {
    const state = states.get(value) ?? startState(rule, receivedMs);
    if (!states.has(value) && states.size >= limits.ruleValues) return;
    states.set(value, follow(value, onMatch(rule, state, event, receivedMs)));
  }

  /** Things due for a value are found with its next event, so others may come before them. */
  function keepLatest(): void {
    preview.notifications.sort((a, b) => a.atMs - b.atMs);
    preview.notifications.splice(0, preview.notifications.length - limits.previewNotifications);
  }

  function follow(value: string | null, step: Step<RuleState>): RuleState {
    const told = step.notifications.filter(isTold);
    preview.count += told.length;
    preview.notifications.push(...(value === null ? told : told.map((each) => ({ ...each, of: value }))));
    if (preview.notifications.length > 10 * limits.previewNotifications) keepLatest();
    return step.state;
  }
}
