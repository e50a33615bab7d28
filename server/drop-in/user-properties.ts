import { limits } from "../limits.ts";
import type { UserProperties } from "../wire/user-rule.ts";
import { leavesOf } from "./tags.ts";
import { cleanLine, cleanLines, cut, type JsonObject } from "./text.ts";

/** A change to a user's properties. */
export type UserChange = {
  userId: string;
  set?: UserProperties;
  /** Set only where the user has no such property. */
  setOnce?: UserProperties;
};

/** Properties of a user from a client's: flat, with dotted keys, cut to what a property may contain. */
export function propertiesOf(traits: JsonObject, prefix = ""): UserProperties {
  const properties = new Map<string, UserProperties[string]>();
  for (const [path, leaf] of leavesOf(traits, prefix)) {
    const name = cut(cleanLine(path), limits.tagKeyCharacters);
    if (name.trim() === "" || properties.has(name)) continue;
    if (properties.size === limits.userProperties) break;
    properties.set(name, fitting(leaf));
  }
  return Object.fromEntries(properties);
}

function fitting(leaf: UserProperties[string]): UserProperties[string] {
  if (typeof leaf === "string") return cut(cleanLines(leaf), limits.tagValueCharacters);
  // JSON.parse reads 1e999 as Infinity, which JSON can't express.
  return typeof leaf === "number" && !Number.isFinite(leaf) ? String(leaf) : leaf;
}

/** Applies changes in order. A user keeps the properties that it has; of new ones, as many are added as it may have. */
export function applyChanges(current: UserProperties, changes: readonly UserChange[]): UserProperties {
  const merged = new Map(Object.entries(current));
  const add = (name: string, value: UserProperties[string]) => {
    if (merged.has(name) || merged.size < limits.userProperties) merged.set(name, value);
  };
  for (const { set = {}, setOnce = {} } of changes) {
    for (const [name, value] of Object.entries(set)) add(name, value);
    for (const [name, value] of Object.entries(setOnce)) if (!merged.has(name)) add(name, value);
  }
  return Object.fromEntries(merged);
}
