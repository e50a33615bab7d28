import { limits } from "../core/limits.ts";
import { cleanLine, cleanLines, cut, isObject, type JsonObject } from "./text.ts";

export type Scalar = string | number | boolean | null;

/**
 * Yields a value's leaves with dotted keys. Arrays are leaves, as compact JSON. Stops descending when the consumer has
 * enough.
 */
export function* leavesOf(value: JsonObject, prefix = ""): Generator<[key: string, leaf: Scalar]> {
  for (const key in value) {
    const path = prefix + key;
    const inner = value[key];
    if (isObject(inner)) yield* leavesOf(inner, `${path}.`);
    else if (Array.isArray(inner)) yield [path, JSON.stringify(inner)];
    else if (inner !== undefined) yield [path, inner as Scalar];
  }
}

/**
 * Tags from a client's properties: the first ones, each cut to what an event may contain.
 *
 * @returns the tags, and whether anything was cut or left out
 */
export function tagsOf(properties: JsonObject): { tags: Record<string, string>; isCut: boolean } {
  const tags = new Map<string, string>();
  let isCut = false;
  for (const [path, leaf] of leavesOf(properties)) {
    if (leaf === null) continue;
    const key = cut(cleanLine(path), limits.tagKeyCharacters);
    if (key.trim() === "" || tags.has(key)) {
      isCut = true;
      continue;
    }
    if (tags.size === limits.tags) {
      isCut = true;
      break;
    }
    const value = cleanLines(String(leaf));
    const tag = cut(value, limits.tagValueCharacters);
    tags.set(key, tag);
    isCut ||= tag.length !== value.length || key.length !== path.length;
  }
  // Unlike assignments, this keeps a tag named `__proto__`.
  return { tags: Object.fromEntries(tags), isCut };
}
