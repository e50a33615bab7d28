import type { UserProperties } from "../schemas/user-rule.ts";
import type { UserTerm } from "../storage/event-queries.ts";

/** A term of a search for users, in lower case. `property` is set if it can be `name:value`. */
type Term = { text: string | null; property: Property | null };
type Property = { name: string; value: string; isWhole: boolean };

export type UserSearch = readonly Term[];

/**
 * Parses a search for users: words, or phrases in quotes, that the ID or a property contains; `name:value` for one
 * property, with `name:"value"` for all of its value. All terms must match, in any case.
 */
export function parseUserSearch(q: string): UserSearch {
  const found = q.toLowerCase().matchAll(/([^\s":]+):"([^"]*)"|"([^"]*)"|(\S+)/g);
  return [...found].flatMap(([, name, whole, phrase, word]): Term[] => {
    if (name !== undefined) return [{ text: null, property: { name, value: whole!, isWhole: true } }];
    const text = phrase ?? word!;
    const colon = phrase === undefined ? text.indexOf(":") : -1;
    const isPair = colon > 0 && colon < text.length - 1;
    const property = isPair
      ? { name: text.slice(0, colon), value: text.slice(colon + 1), isWhole: false }
      : null;
    return text === "" ? [] : [{ text, property }];
  });
}

export function matchesUser(
  search: UserSearch,
  userIds: readonly string[],
  properties: UserProperties,
): boolean {
  const values = Object.entries(properties).flatMap(([name, value]) =>
    value === null ? [] : [[name.toLowerCase(), String(value).toLowerCase()] as const],
  );
  const ids = userIds.map((userId) => userId.toLowerCase());
  return search.every(({ text, property }) => {
    if (
      text !== null &&
      (ids.some((id) => id.includes(text)) || values.some(([, value]) => value.includes(text)))
    )
      return true;
    if (!property) return false;
    const { name, value: sought, isWhole } = property;
    return values.some(
      ([each, value]) => each === name && (isWhole ? value === sought : value.includes(sought)),
    );
  });
}

/** Patterns that find too much, never too little. */
export function likePatterns(search: UserSearch): UserTerm[] {
  return search.map(({ text, property }) => ({
    id: text === null ? null : `%${patternOf(text)}%`,
    properties: [
      ...(text === null ? [] : [`%${patternOf(text)}%`]),
      ...(property ? patternsOf(property) : []),
    ],
  }));
}

/** On the JSON, which has no spaces between its parts. */
function patternsOf({ name, value, isWhole }: Property): string[] {
  const start = `%"${patternOf(name)}":`;
  const text = patternOf(value);
  return isWhole ? [`${start}"${text}"%`, `${start}${text},%`, `${start}${text}}%`] : [`${start}%${text}%`];
}

/**
 * Databases turn only the letters of ASCII into lower case, JavaScript also "K" (the Kelvin sign) and "İ"; and JSON
 * escapes some characters.
 */
function patternOf(text: string): string {
  return text.replace(/[ik]/g, "_").replace(/[^a-z0-9@.+_ -]+/g, "%");
}
