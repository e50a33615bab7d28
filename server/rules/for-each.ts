import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";
import { parseSearch, printSearch, type Search } from "../event/search.ts";
import type { Rule } from "../schemas/rule.ts";

/** Each value of a rule is followed by itself: its matches are counted, and its alerts opened, apart from others. */
type ForEach = NonNullable<Rule["forEach"]>;

/** The value that an event belongs to; null if it has none, or an empty one. Long ones are cut. */
export function valueOfEvent(forEach: ForEach, event: Event): string | null {
  const value = fieldOf(forEach, event).slice(0, limits.ruleValueCharacters);
  return value === "" ? null : value;
}

function fieldOf(forEach: ForEach, { channelId, name, userId, tags }: Event): string {
  if (forEach === "channel") return channelId;
  if (forEach === "name") return name;
  if (forEach === "user") return userId;
  const key = forEach.slice("tag.".length);
  return Object.hasOwn(tags, key) ? tags[key]! : "";
}

/** What messages call a rule, or one of its values. */
export function nameOfValue({ name }: Pick<Rule, "name">, value: string | null): string {
  if (value === null) return name;
  return `${name} (${value.replaceAll(/\s*\n\s*/g, " ")})`;
}

/** The search for the events of a rule, or for those of one of its values. */
export function searchOfValue({ q, forEach }: Pick<Rule, "q" | "forEach">, value: string | null): string {
  if (value === null || forEach === null) return q;
  const search = parseSearch(q);
  const ofValue = searchFor(forEach, value);
  return printSearch(search === null ? ofValue : { kind: "all", of: [search, ofValue] });
}

function searchFor(forEach: ForEach, value: string): Search {
  return forEach.startsWith("tag.")
    ? { kind: "tag", key: forEach.slice("tag.".length), values: [value] }
    : { kind: "field", field: forEach as "channel" | "name" | "user", values: [value] };
}
