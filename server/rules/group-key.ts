import type { Rule } from "../schemas/rule.ts";
import type { ToldNotification } from "./rule-kind.ts";

/**
 * The key by which the inbox groups notifications: events by channel and name, everything else by its rule and the
 * rule's value. A rule for bursts
 * tells of their first event too, which stays with the summary.
 */
export function groupKeyOf(
  rule: Pick<Rule, "id" | "when"> | null,
  value: string | null,
  notification: ToldNotification,
): string {
  if (notification.type !== "event" || rule?.when.type === "burst")
    return value === null ? `rule ${rule?.id}` : `rule ${rule?.id} ${value}`;
  // Neither of them can contain a line break.
  return `event ${notification.event.channelId}\n${notification.event.name}`;
}
