import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";
import { parseSearch, printSearch, type Search } from "../event/search.ts";
import type { Rule } from "../schemas/rule.ts";

/** Tells events apart: `user`, `channel`, `name` or `tag.KEY`. */
type ForEach = NonNullable<Rule["forEach"]>;
/** The subject of a message: a rule, one of its values, or one of its groups of alerts. */
type About = Pick<Rule, "name" | "q">;

/**
 * The value that an event belongs to; null if it has none, or an empty one. Long ones are cut.
 *
 * @param persons - the main IDs of IDs that are joined to another one: the IDs of a person are one user
 */
export function valueOfEvent(
  forEach: ForEach,
  event: Event,
  persons: ReadonlyMap<string, string> = noPersons,
): string | null {
  const field = fieldOf(forEach, event);
  const own = forEach === "user" ? (persons.get(field) ?? field) : field;
  const value = own.slice(0, limits.ruleValueCharacters).toWellFormed();
  return value === "" ? null : value;
}

const noPersons: ReadonlyMap<string, string> = new Map();

function fieldOf(forEach: ForEach, { channelId, name, userId, tags }: Event): string {
  if (forEach === "channel") return channelId;
  if (forEach === "name") return name;
  if (forEach === "user") return userId;
  const key = forEach.slice("tag.".length);
  return Object.hasOwn(tags, key) ? tags[key]! : "";
}

/** A rule, or one of its values, as messages show it. */
export function aboutValue({ name, q, forEach }: Rule, value: string | null): About {
  return value === null || forEach === null ? { name, q } : aboutPart({ name, q }, forEach, value);
}

/** A group of a rule's alerts, as messages show it. */
export function aboutGroup({ name, q, groupBy }: Rule, value: string): About {
  return groupBy === null ? { name, q } : aboutPart({ name, q }, groupBy, value);
}

function aboutPart({ name, q }: About, field: ForEach, value: string): About {
  const search = parseSearch(q);
  const ofValue = searchFor(field, value);
  return {
    name: `${name} (${value.replaceAll(/\s*\n\s*/g, " ")})`,
    q: printSearch(search === null ? ofValue : { kind: "all", of: [search, ofValue] }),
  };
}

function searchFor(forEach: ForEach, value: string): Search {
  return forEach.startsWith("tag.")
    ? { kind: "tag", key: forEach.slice("tag.".length), values: [value] }
    : { kind: "field", field: forEach as "channel" | "name" | "user", values: [value] };
}
