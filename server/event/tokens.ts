/**
 * The tokens of an event in the full-text index. Each begins with the project's number, so that projects are apart by
 * construction, and a letter for what it is:
 *
 *   7a every event · 7c channel · 7e name · 7u user · 7o no user · 7t tag · 7n notifies · 7w a word of name, description or a tag
 *
 * What must match exactly is escaped to characters that the index's `ascii` tokenizer neither folds nor splits.
 */

import type { Event } from "./event.ts";
import { wordsOf } from "./words.ts";

/** Longest escaped text that stands in a token as it is; of longer ones the end is replaced by a hash. */
const exactCharactersMax = 80;
const wordCharactersMax = 64;

/** A token, and the text that it stands for. */
export type Term = { token: string; text: string };

export const token = {
  /** Of the rows that stand for no event, one a day: the schema makes them. */
  milestone: "m",
  every: (project: number) => `${project}a`,
  /** Of no event. */
  none: (project: number) => `${project}x`,
  channel: (project: number, channel: string) => `${project}c${exact(channel)}`,
  name: (project: number, name: string) => `${project}e${exact(name)}`,
  user: (project: number, userId: string) => (userId === "" ? `${project}o` : `${project}u${exact(userId)}`),
  // "_z" can't come out of an escape, so a key and a value never run into each other.
  tag: (project: number, key: string, value: string) => `${project}t${exact(key)}_z${exact(value)}`,
  notifies: (project: number) => `${project}n`,
  /** Of when an event happened, in the engine whose index knows no order: the hour and the day since 1970. */
  hour: (project: number, hour: number) => `${project}h${hour}`,
  day: (project: number, day: number) => `${project}d${day}`,
  word: (project: number, word: string) => `${project}w${word.slice(0, wordCharactersMax)}`,
};

/** How the tokens of texts begin that begin with a prefix. */
export const beginning = {
  name: (project: number, prefix: string) => `${project}e${escaped(prefix)}`,
  user: (project: number, prefix: string) => `${project}u${escaped(prefix)}`,
  key: (project: number, prefix: string) => `${project}t${escaped(prefix)}`,
  value: (project: number, key: string, prefix: string) => `${token.tag(project, key, "")}${escaped(prefix)}`,
};

/** The text of a token's part that is not a word, or null where only a hash is left of it. */
export function textOf(part: string): string | null {
  if (!isExact(part)) return null;
  return part.replace(/_([0-9a-f]{2})/g, (_, unit: string) => String.fromCharCode(Number.parseInt(unit, 16)));
}

/** The first part of a tag's token, with its key, and the second, with its value. */
export function partsOfTag(token: string): [key: string, value: string] {
  const split = token.indexOf("_z");
  return [token.slice(0, split), token.slice(split + 2)];
}

/** Whether a token that is not a word's stands for one text alone, and not for all that share a hash. */
export function isExact(token: string): boolean {
  return !token.includes("_y");
}

/** Whether a word stands in the index as it is, and not cut. */
export function isWhole(word: string): boolean {
  return word.length < wordCharactersMax;
}

/** The tokens of an event that is to be stored, made now where they are not yet. */
export function tokensFor({
  projectId,
  event,
  tokens,
}: {
  projectId: number;
  event: Event;
  tokens?: string;
}): string {
  return tokens ?? tokensOf(projectId, event);
}

/** The tokens of an event, with spaces between. */
export function tokensOf(project: number, event: Omit<Event, "id" | "createdAt">): string {
  let tokens = `${token.every(project)} ${token.channel(project, event.channelId)} ${token.user(project, event.userId)}`;
  tokens += tokensOfName(project, event.name);
  if (event.notify) tokens += ` ${token.notifies(project)}`;
  for (const key in event.tags) tokens += tokensOfTag(project, event.tags[key]!, key);
  if (event.description) tokens += ofWords(project, event.description);
  return tokens;
}

const tokensOfName = remembered((project, name) => ` ${token.name(project, name)}${ofWords(project, name)}`);
const tokensOfTag = remembered(
  (project, value, key) => ` ${token.tag(project, key, value)}${ofWords(project, value)}`,
);

function ofWords(project: number, text: string): string {
  const tokens = wordsOf(text).map((word) => ` ${token.word(project, word)}`);
  // Added one to another, they would be held by their parts, which take many times the memory until the text is read.
  return tokens.join("");
}

/** A text as it stands in a token. */
export function exact(text: string): string {
  return shortened(escaped(text), text);
}

/** A text in characters that the tokenizer neither folds nor splits; in a token a long one is shortened. */
function escaped(text: string): string {
  let escaped = "";
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const stead = escapes[text.charCodeAt(at)];
    if (stead === undefined) continue;
    escaped += text.slice(from, at) + stead;
    from = at + 1;
  }
  return from === 0 ? text : escaped + text.slice(from);
}

/** By character code: all of ASCII but lower-case letters and digits; the tokenizer leaves the rest of Unicode alone. */
const escapes = Array.from({ length: 128 }, (_, code) =>
  /[a-z0-9]/.test(String.fromCharCode(code)) ? undefined : `_${code.toString(16).padStart(2, "0")}`,
);

function shortened(escaped: string, whole: string): string {
  if (escaped.length <= exactCharactersMax) return escaped;
  const hash = new Bun.CryptoHasher("sha256").update(whole).digest("hex").slice(0, 32);
  return hashedBeginning(escaped) + hash;
}

/** How what stands for a long text begins. "_y" can't come out of an escape: a short text never looks like a shortened one. */
function hashedBeginning(escaped: string): string {
  return `${escaped.slice(0, 16).toWellFormed()}_y`;
}

/** How what stands in the index begins, of texts that begin with this one; in order. */
export function beginningsOf(text: string): string[] {
  const whole = escaped(text);
  const hashed = hashedBeginning(whole);
  if (hashed.startsWith(whole)) return [whole];
  return [whole, hashed].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

const rememberedMax = 20_000;
const rememberedCharactersMax = 100;

/**
 * Names and tags come again and again: what was made of them is kept, for as long as it fits. Maps within maps, for to join
 * several texts to one key takes longer than to look up each.
 */
function remembered(make: (project: number, text: string, key: string) => string) {
  const known = new Map<number, Map<string, Map<string, string>>>();
  let size = 0;
  return (project: number, text: string, key = ""): string => {
    let ofText = known.get(project)?.get(key);
    const found = ofText?.get(text);
    if (found !== undefined) return found;
    const tokens = make(project, text, key);
    if (text.length > rememberedCharactersMax) return tokens;
    if (size++ >= rememberedMax) {
      known.clear();
      size = 1;
      ofText = undefined;
    }
    if (ofText === undefined) {
      ofText = new Map();
      const ofKey = known.get(project);
      if (ofKey) ofKey.set(key, ofText);
      else known.set(project, new Map([[key, ofText]]));
    }
    ofText.set(text, tokens);
    return tokens;
  };
}
