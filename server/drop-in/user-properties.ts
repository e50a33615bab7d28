import { limits } from "../core/limits.ts";
import type { UserProperties } from "../schemas/user-rule.ts";
import { leavesOf } from "./tags.ts";
import { cleanLine, cleanLines, cut, type JsonObject } from "./text.ts";

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
