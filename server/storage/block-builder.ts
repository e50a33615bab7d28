import type { Event } from "../event/event.ts";
import { token } from "../event/tokens.ts";
import { wordsOf } from "../event/words.ts";
import { Gaps, packed } from "./bits.ts";
import type { TimestampsRow } from "./block.ts";

/** A token is rare in a block on fewer events than this, and not in its digest. */
const rareBelow = 8;
export const momentsInRow = 2_048;
/** Texts of events that a step takes apart, and bytes that are handed over at a time. */
const stepTexts = 1_000;
const handedBytes = 128 * 1_024;

/** An event's millisecond and the rest of its position, its project, and its body. */
export type BlockRow = [ms: number, sequence: number, projectId: number, body: string];

type TokenRow = { token: string; ordinals: Uint8Array };
export type BlockPart = { moments: TimestampsRow[]; tokens: TokenRow[] };

/** Rising ordinals; a single one without an array, since most texts of a block are on one event. */
type Ordinals = number | number[];

/** The events of a project by what they say: a text comes again and again, and is taken apart once. */
type Texts = {
  every: number[];
  notify: number[];
  channels: Map<string, Ordinals>;
  names: Map<string, Ordinals>;
  users: Map<string, Ordinals>;
  tags: Map<string, Map<string, Ordinals>>;
  /** Words of descriptions, and in the end of all. */
  words: Map<string, Ordinals>;
};

/** A digest that is being made. */
export class BlockBuilder {
  events = 0;
  readonly #projects = new Map<number, Texts>();
  readonly #moments: TimestampsRow[] = [];
  #gaps = new Gaps(Number.POSITIVE_INFINITY);
  #lastMs = 0;

  /** Takes the next event, in the order of positions. */
  add([ms, , projectId, body]: BlockRow): void {
    const ordinal = this.events++;
    this.#addMoment(ordinal, ms);
    let texts = this.#projects.get(projectId);
    if (!texts) {
      texts = {
        every: [],
        notify: [],
        channels: new Map(),
        names: new Map(),
        users: new Map(),
        tags: new Map(),
        words: new Map(),
      };
      this.#projects.set(projectId, texts);
    }
    const event = JSON.parse(`{${body}}`) as Event;
    texts.every.push(ordinal);
    if (event.notify) texts.notify.push(ordinal);
    put(texts.channels, event.channelId, ordinal);
    put(texts.names, event.name, ordinal);
    put(texts.users, event.userId, ordinal);
    for (const key in event.tags) {
      let values = texts.tags.get(key);
      if (!values) {
        values = new Map();
        texts.tags.set(key, values);
      }
      put(values, event.tags[key]!, ordinal);
    }
    if (event.description) for (const word of wordsOf(event.description)) put(texts.words, word, ordinal);
  }

  /** What is to be stored, some at a time; null stands for a rest. */
  *parts(): Generator<BlockPart | null> {
    this.#closeMoments();
    for (let from = 0; from < this.#moments.length; from += momentsInRow / 64) {
      yield { moments: this.#moments.slice(from, from + momentsInRow / 64), tokens: [] };
    }
    const tokens: [token: string, ordinals: number[]][] = [];
    for (const [projectId, texts] of this.#projects) {
      for (const found of tokensIn(projectId, texts)) {
        if (found) tokens.push(found);
        else yield null;
      }
    }
    this.#projects.clear();
    tokens.sort(([a], [b]) => (a < b ? -1 : 1));
    let rows: TokenRow[] = [];
    let bytes = 0;
    for (const [token, ordinals] of tokens) {
      const stored = packed(ordinals, this.events);
      rows.push({ token, ordinals: stored });
      bytes += token.length + stored.length;
      if (bytes < handedBytes) continue;
      yield { moments: [], tokens: rows };
      rows = [];
      bytes = 0;
    }
    if (rows.length > 0) yield { moments: [], tokens: rows };
  }

  #addMoment(ordinal: number, ms: number): void {
    if (ordinal % momentsInRow === 0) {
      this.#closeMoments();
      this.#moments.push({ first: ordinal, ms, gaps: noGaps });
    } else this.#gaps.add(ms - this.#lastMs);
    this.#lastMs = ms;
  }

  #closeMoments(): void {
    const last = this.#moments.at(-1);
    if (last) last.gaps = this.#gaps.taken();
    this.#gaps = new Gaps(Number.POSITIVE_INFINITY);
  }
}

const noGaps = new Uint8Array();

function put(texts: Map<string, Ordinals>, text: string, ordinal: number): void {
  const known = texts.get(text);
  if (known === undefined) texts.set(text, ordinal);
  else if (typeof known === "number") {
    if (known !== ordinal) texts.set(text, [known, ordinal]);
  } else if (known[known.length - 1] !== ordinal) known.push(ordinal);
}

/** The tokens of a project's texts that are not rare (tokens.ts); nothing now and then, for a rest. */
function* tokensIn(project: number, texts: Texts): Generator<[string, number[]] | null> {
  let taken = 0;
  const { words } = texts;
  /** Texts that are on the same event stand in the same order, so that ordinals have to be sorted only for what comes in several. */
  const parts = new Map<string, Ordinals[]>();
  const addWords = (text: string, ordinals: Ordinals) => {
    for (const word of wordsOf(text)) {
      const known = parts.get(word);
      if (known === undefined) parts.set(word, [ordinals]);
      else if (known[known.length - 1] !== ordinals) known.push(ordinals);
    }
  };
  for (const [word, ordinals] of words) parts.set(word, [ordinals]);
  words.clear();
  if (texts.every.length >= rareBelow) yield [token.every(project), texts.every];
  if (texts.notify.length >= rareBelow) yield [token.notifies(project), texts.notify];
  for (const [channel, ordinals] of texts.channels) {
    if (isCommon(ordinals)) yield [token.channel(project, channel), ordinals];
  }
  for (const [name, ordinals] of texts.names) {
    if (isCommon(ordinals)) yield [token.name(project, name), ordinals];
    addWords(name, ordinals);
    if (++taken % stepTexts === 0) yield null;
  }
  for (const [user, ordinals] of texts.users) {
    if (isCommon(ordinals)) yield [token.user(project, user), ordinals];
  }
  for (const [key, values] of texts.tags) {
    for (const [value, ordinals] of values) {
      if (isCommon(ordinals)) yield [token.tag(project, key, value), ordinals];
      addWords(value, ordinals);
      if (++taken % stepTexts === 0) yield null;
    }
  }
  yield null;
  // Long words share a token where their beginnings are the same.
  const byToken = new Map<string, Ordinals[]>();
  for (const [word, some] of parts) {
    const text = token.word(project, word);
    const known = byToken.get(text);
    if (known) known.push(...some);
    else byToken.set(text, some);
    if (++taken % stepTexts === 0) yield null;
  }
  parts.clear();
  for (const [text, some] of byToken) {
    const ordinals = united(some);
    if (ordinals.length >= rareBelow) yield [text, ordinals];
    if (++taken % stepTexts === 0) yield null;
  }
}

function isCommon(ordinals: Ordinals): ordinals is number[] {
  return typeof ordinals !== "number" && ordinals.length >= rareBelow;
}

function united(some: Ordinals[]): number[] {
  const [first] = some;
  if (some.length === 1) return typeof first === "number" ? [first] : first!;
  const all = Uint32Array.from(some.flat()).sort();
  const ordinals: number[] = [];
  for (const ordinal of all) if (ordinal !== ordinals[ordinals.length - 1]) ordinals.push(ordinal);
  return ordinals;
}
