import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";
import { type TurnOwner, Turns } from "../scheduling/turns.ts";
import type { Rule } from "../schemas/rule.ts";
import type { RuleNotification, Step } from "./rule-kind.ts";
import { ruleMatcher } from "./rule-matcher.ts";
import { onMatch, onTime, type RuleState, startState } from "./rule-state.ts";

/** An event, and what the server's clock showed when it arrived. */
export type ReceivedEvent = { event: Event; receivedMs: number };

type PreviewedNotification = Exclude<RuleNotification, { type: "below" }>;

export const isTold = (notification: RuleNotification): notification is PreviewedNotification =>
  notification.type !== "below";

/** How often a rule would have notified, and the latest of these notifications, in their order. */
export type RulePreview = { count: number; notifications: PreviewedNotification[] };

/**
 * The alerts that a rule would have raised if it had begun at `fromMs`, up to `toMs`; milliseconds since 1970. It is
 * run as it would have been then, on events that arrived in that time, in the order of arrival.
 */
export async function previewRule(
  rule: Pick<Rule, "q" | "when">,
  events: AsyncIterable<ReceivedEvent>,
  fromMs: number,
  toMs: number,
  owner: TurnOwner = "server",
): Promise<RulePreview> {
  const isMatch = ruleMatcher(rule);
  const turns = new Turns(owner);
  const preview: RulePreview = { count: 0, notifications: [] };
  let state = startState(rule, fromMs);
  for await (const { event, receivedMs } of events) {
    if (isMatch(event)) state = follow(onMatch(rule, state, event, receivedMs));
    if (turns.isOver) await turns.next();
  }
  follow(onTime(rule, state, toMs));
  return preview;

  function follow(step: Step<RuleState>): RuleState {
    const told = step.notifications.filter(isTold);
    preview.count += told.length;
    preview.notifications.push(...told);
    preview.notifications.splice(0, preview.notifications.length - limits.previewNotifications);
    return step.state;
  }
}
