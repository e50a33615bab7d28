/**
 * The tokens of an event in ClickHouse's text index. They are not stored: the column `tokens` computes them, each with the
 * exact text in place of an escaped one. `more_tokens` has those that SQL can't compute: of texts that are so long that a
 * hash replaces them, and words of texts with other letters than ASCII.
 */
import type { Event } from "../../event/event.ts";
import { isExact, partsOfTag, textOf, token } from "../../event/tokens.ts";
import { wordsOf } from "../../event/words.ts";

/** Between the key and the value of a tag. No text has it. */
const separator = "\u0001";

/**
 * SQL for the tokens of a row. The pattern is that of `wordsOf`. Functions have the names that queries are rewritten to: the
 * index is used only for the same expression.
 */
export const tokensSql = `arrayConcat(
  [concat(toString(project), 'c', channel), concat(toString(project), 'e', name),
   if(empty(user), concat(toString(project), 'o'), concat(toString(project), 'u', user))],
  if(notify = 1, [concat(toString(project), 'n')], []),
  arrayMap((key, value) -> concat(toString(project), 't', key, '\\x01', value), mapKeys(tags), mapValues(tags)),
  arrayMap(word -> concat(toString(project), 'w', substring(word, 1, 64)),
    arrayDistinct(arrayFlatten(arrayMap(
      text -> if(isValidASCII(text), extractAll(lower(text), '[a-z0-9]+'), []),
      arrayConcat([CAST(name, 'String'), description], mapValues(tags)))))),
  more_tokens)`;

/** Shorter texts are never replaced by a hash, however many of their characters are escaped. */
const exactMin = 26;

/** The tokens of an event that SQL can't compute. */
export function moreTokensOf(projectId: number, event: Omit<Event, "id" | "createdAt">): string[] {
  const { name, channelId, userId, tags, description = "" } = event;
  const tokens = new Set<string>();
  const add = (token: string) => isExact(token) || tokens.add(token);
  if (channelId.length > exactMin) add(token.channel(projectId, channelId));
  if (name.length > exactMin) add(token.name(projectId, name));
  if (userId.length > exactMin) add(token.user(projectId, userId));
  for (const key in tags) {
    const value = tags[key]!;
    if (key.length > exactMin || value.length > exactMin) add(token.tag(projectId, key, value));
    addWords(value);
  }
  addWords(name);
  addWords(description);
  return [...tokens];

  function addWords(text: string): void {
    if (/^\p{ASCII}*$/u.test(text)) return;
    for (const word of wordsOf(text)) tokens.add(token.word(projectId, word));
  }
}

/** What a token says of an event's columns. */
type Term =
  | { of: "channel" | "name" | "user"; text: string }
  | { of: "tag"; key: string; text: string }
  | { of: "notify" };

const columnOf = { c: "channel", e: "name", u: "user" } as const;

/** The term of a token; null for a word, and for a hash. */
export function termOf(token: string): Term | null {
  const { kind, part } = partsOf(token);
  if (kind === "n") return { of: "notify" };
  if (kind === "o") return { of: "user", text: "" };
  if (kind === "t") {
    const [key, text] = partsOfTag(part).map(textOf);
    return key == null || text == null ? null : { of: "tag", key, text };
  }
  if (kind !== "c" && kind !== "e" && kind !== "u") return null;
  const text = textOf(part);
  return text === null ? null : { of: columnOf[kind], text };
}

/** A token of the other engines as ClickHouse has it. */
export function indexTokenOf(token: string): string {
  const { project, kind } = partsOf(token);
  const term = termOf(token);
  if (term === null || !("text" in term) || kind === "o") return token;
  return `${project}${kind}${term.of === "tag" ? `${term.key}${separator}` : ""}${term.text}`;
}

function partsOf(token: string): { project: string; kind: string; part: string } {
  const [, project, kind] = /^(\d+)(.)/s.exec(token)!;
  return { project: project!, kind: kind!, part: token.slice(project!.length + 1) };
}
