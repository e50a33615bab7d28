/**
 * The tokens of an event in the full-text index. Each starts with the project's number, which separates projects, and a
 * letter for its kind:
 *
 *   7a every event · 7c channel · 7e name · 7u user · 7o no user · 7t tag · 7n notifies
 *   7w a word of name, description or a tag
 *
 * Blocks (storage/block-numbers.ts) also have:
 *
 *   7r keys with numbers · 7v numbers of a key
 *
 * Exact values are escaped so that the index's `ascii` tokenizer neither folds nor splits them.
 */

import type { Event } from "./event.ts";
import { wordsOf } from "./words.ts";

/** Maximum length of an escaped text in a token. The end of a longer one is replaced by a hash. */
const exactCharactersMax = 80;
const wordCharactersMax = 64;

/** A token and its text. */
export type Term = { token: string; text: string };

/**
 * Invariant: every query names a project, and its number is part of each token. Checked by
 * `server/projects/isolation.test.ts`.
 */
export const token = {
  /** Token of sentinel rows, which are not events. */
  sentinel: "m",
  every: (project: number) => `${project}a`,
  /** Token that no event has. */
  none: (project: number) => `${project}x`,
  channel: (project: number, channel: string) => `${project}c${exact(channel)}`,
  name: (project: number, name: string) => `${project}e${exact(name)}`,
  user: (project: number, userId: string) => (userId === "" ? `${project}o` : `${project}u${exact(userId)}`),
  // Escaping never produces "_z", so a key and a value can't run into each other.
  tag: (project: number, key: string, value: string) => `${project}t${exact(key)}_z${exact(value)}`,
  notifies: (project: number) => `${project}n`,
  /** The hour and the day since 1970, for the engine whose index has no order. */
  hour: (project: number, hour: number) => `${project}h${hour}`,
  day: (project: number, day: number) => `${project}d${day}`,
  /** Tokens of a block's numbers: which keys have some, a key's directory, its buckets, and all. */
  numericKeys: (project: number) => `${project}r`,
  numbers: (project: number, key: string) => `${project}v${exact(key)}`,
  numberBucket: (numbers: string, bucket: number) => `${numbers}_z${bucket}`,
  allNumbers: (numbers: string) => `${numbers}_zall`,
  word: (project: number, word: string) => `${project}w${word.slice(0, wordCharactersMax)}`,
};

/** Prefixes of the tokens of texts that start with `prefix`. */
export const tokenPrefix = {
  name: (project: number, prefix: string) => `${project}e${escaped(prefix)}`,
  user: (project: number, prefix: string) => `${project}u${escaped(prefix)}`,
  key: (project: number, prefix: string) => `${project}t${escaped(prefix)}`,
  value: (project: number, key: string, prefix: string) => `${token.tag(project, key, "")}${escaped(prefix)}`,
};

/** The text of a token's part, which must not be a word; null if it contains a hash. */
export function textOf(part: string): string | null {
  if (!isExact(part)) return null;
  return part.replace(/_([0-9a-f]{2})/g, (_, unit: string) => String.fromCharCode(Number.parseInt(unit, 16)));
}

/** Splits a tag's token into the part with its key and the part with its value. */
export function partsOfTag(token: string): [key: string, value: string] {
  const split = token.indexOf("_z");
  return [token.slice(0, split), token.slice(split + 2)];
}

/**
 * Whether a token, which must not be a word's, stands for one text only, rather than for all texts with the same hash.
 */
export function isExact(token: string): boolean {
  return !token.includes("_y");
}

/** Whether a word is in the index in full, not shortened. */
export function isWhole(word: string): boolean {
  return word.length < wordCharactersMax;
}

/** The tokens of an event, computed unless they are already known. */
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

/** The tokens of an event, separated by spaces. `storage/block-builder.ts` takes the same ones from stored events. */
export function tokensOf(project: number, event: Omit<Event, "id" | "createdAt">): string {
  let tokens = `${token.every(project)} ${token.channel(project, event.channelId)} ${token.user(project, event.userId)}`;
  tokens += tokensOfName(project, event.name);
  if (event.notify) tokens += ` ${token.notifies(project)}`;
  for (const key in event.tags) tokens += tokensOfTag(project, event.tags[key]!, key);
  if (event.description) tokens += wordTokens(project, event.description);
  return tokens;
}

const tokensOfName = memoized((project, name) => ` ${token.name(project, name)}${wordTokens(project, name)}`);
const tokensOfTag = memoized(
  (project, value, key) => ` ${token.tag(project, key, value)}${wordTokens(project, value)}`,
);

function wordTokens(project: number, text: string): string {
  const tokens = wordsOf(text).map((word) => ` ${token.word(project, word)}`);
  // Concatenation in a loop makes a rope, which takes many times the memory until it is read.
  return tokens.join("");
}

/** Escapes a text for a token, and shortens it if needed. */
export function exact(text: string): string {
  return shortened(escaped(text), text);
}

/** Escapes a text to characters that the tokenizer neither folds nor splits. */
function escaped(text: string): string {
  let escaped = "";
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const replacement = escapes[text.charCodeAt(at)];
    if (replacement === undefined) continue;
    escaped += text.slice(start, at) + replacement;
    start = at + 1;
  }
  return start === 0 ? text : escaped + text.slice(start);
}

/**
 * Escapes by character code, for all of ASCII except lower-case letters and digits. The tokenizer leaves other
 * characters alone.
 */
const escapes = Array.from({ length: 128 }, (_, code) =>
  /[a-z0-9]/.test(String.fromCharCode(code)) ? undefined : `_${code.toString(16).padStart(2, "0")}`,
);

function shortened(escaped: string, whole: string): string {
  if (escaped.length <= exactCharactersMax) return escaped;
  const hash = new Bun.CryptoHasher("sha256").update(whole).digest("hex").slice(0, 32);
  return hashedPrefix(escaped) + hash;
}

/** The start of a shortened text. Escaping never produces "_y", so a short text never looks like a shortened one. */
function hashedPrefix(escaped: string): string {
  return `${escaped.slice(0, 16).toWellFormed()}_y`;
}

/** Prefixes of the escaped texts that start with this text, in order. */
export function prefixesOf(text: string): string[] {
  const whole = escaped(text);
  const hashed = hashedPrefix(whole);
  if (hashed.startsWith(whole)) return [whole];
  return [whole, hashed].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

const memoizedMax = 20_000;
const memoizedCharactersMax = 100;

/**
 * Caches the tokens of names and tags, which repeat. Nested maps, because joining several texts to one key takes longer
 * than looking each up.
 */
function memoized(compute: (project: number, text: string, key: string) => string) {
  const cache = new Map<number, Map<string, Map<string, string>>>();
  let size = 0;
  return (project: number, text: string, key = ""): string => {
    let ofText = cache.get(project)?.get(key);
    const cached = ofText?.get(text);
    if (cached !== undefined) return cached;
    const tokens = compute(project, text, key);
    if (text.length > memoizedCharactersMax) return tokens;
    if (size++ >= memoizedMax) {
      cache.clear();
      size = 1;
      ofText = undefined;
    }
    if (ofText === undefined) {
      ofText = new Map();
      const ofKey = cache.get(project);
      if (ofKey) ofKey.set(key, ofText);
      else cache.set(project, new Map([[key, ofText]]));
    }
    ofText.set(text, tokens);
    return tokens;
  };
}
