import type { Event } from "../event/event.ts";
import { token } from "../event/tokens.ts";
import { wordsOf } from "../event/words.ts";
import { type ColumnRow, columnsOf, marker } from "./analysis/columns.ts";
import { GapWriter, packOrdinals } from "./bits.ts";
import type { TimestampsRow } from "./block.ts";
import { NumberRows } from "./block-numbers.ts";
import { Steps, sorted } from "./steps.ts";

/** A token of fewer events than this is rare: the block does not store it. */
const rareBelow = 8;
export const timestampsPerRow = 2_048;
/** Bytes of tokens in one part, and rows, which take the writer some three milliseconds. */
const partBytes = 128 * 1_024;
const partRows = 1_000;

/** An event: its row key as milliseconds and counter, its project, and its body. */
export type BlockRow = [ms: number, sequence: number, projectId: number, body: string];

type TokenRow = { token: string; ordinals: Uint8Array };
export type BlockPart = { timestamps: TimestampsRow[]; tokens: TokenRow[]; columns: ColumnRow[] };

/** Ascending ordinals. A single one has no array: most texts of a block are on one event. */
type Ordinals = number | number[];

/** A project's ordinals by text. A text that repeats is tokenized once, at the end. */
type ProjectTexts = {
  every: number[];
  notify: number[];
  channels: Map<string, Ordinals>;
  names: Map<string, Ordinals>;
  users: Map<string, Ordinals>;
  tags: Map<string, Map<string, Ordinals>>;
  /** Words of descriptions, which are tokenized as they come. */
  words: Map<string, Ordinals>;
};

/** Builds the index of a block from its events. */
export class BlockBuilder {
  events = 0;
  readonly #projects = new Map<number, ProjectTexts>();
  readonly #timestamps: TimestampsRow[] = [];
  #gaps = new GapWriter(Number.POSITIVE_INFINITY);
  #lastMs = 0;

  /** Adds the next event, in the order of the block's ordinals. */
  add([ms, , projectId, body]: BlockRow): void {
    const ordinal = this.events++;
    this.#addTimestamp(ordinal, ms);
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

  /** What to store, in parts. Null is a pause, for other work to run. */
  *parts(): Generator<BlockPart | null> {
    const steps = new Steps();
    this.#closeRow();
    for (let from = 0; from < this.#timestamps.length; from += timestampsPerRow / 64) {
      yield {
        timestamps: this.#timestamps.slice(from, from + timestampsPerRow / 64),
        tokens: [],
        columns: [],
      };
    }
    for (const [projectId, texts] of this.#projects) {
      for (const column of columnsOf(projectId, texts, this.events, steps)) {
        yield column && { timestamps: [], tokens: [], columns: [column] };
      }
    }
    yield { timestamps: [], tokens: [], columns: [marker] };
    const tokens: [token: string, ordinals: number[]][] = [];
    const numbers: TokenRow[] = [];
    for (const [projectId, texts] of this.#projects) {
      const rows = new NumberRows(projectId, this.events);
      for (const [key, ofKey] of texts.tags) {
        for (const row of rows.ofKey(key, listsOf(ofKey), steps)) {
          if (row) numbers.push(row);
          if (row && !steps.isOver) continue;
          yield null;
          steps.begin();
        }
      }
      numbers.push(rows.keys());
      for (const found of tokensIn(projectId, texts)) {
        if (found) tokens.push(found);
        if (!steps.isOver) continue;
        yield null;
        steps.begin();
      }
    }
    this.#projects.clear();
    const ordered = yield* sorted(tokens, ([a], [b]) => (a < b ? -1 : 1), steps);
    let rows: TokenRow[] = [];
    let bytes = 0;
    const events = this.events;
    const packed = function* (): Generator<TokenRow> {
      for (const [token, ordinals] of ordered) yield { token, ordinals: packOrdinals(ordinals, events) };
      yield* numbers;
    };
    for (const row of packed()) {
      rows.push(row);
      bytes += row.token.length + row.ordinals.length;
      if (bytes < partBytes && rows.length < partRows) {
        if (!steps.isOver) continue;
        yield null;
        steps.begin();
        continue;
      }
      yield { timestamps: [], tokens: rows, columns: [] };
      rows = [];
      bytes = 0;
    }
    if (rows.length > 0) yield { timestamps: [], tokens: rows, columns: [] };
  }

  #addTimestamp(ordinal: number, ms: number): void {
    if (ordinal % timestampsPerRow === 0) {
      this.#closeRow();
      this.#timestamps.push({ first: ordinal, ms, gaps: noGaps });
    } else this.#gaps.add(ms - this.#lastMs);
    this.#lastMs = ms;
  }

  #closeRow(): void {
    const last = this.#timestamps.at(-1);
    if (last) last.gaps = this.#gaps.toBytes();
    this.#gaps = new GapWriter(Number.POSITIVE_INFINITY);
  }
}

const noGaps = new Uint8Array();

function* listsOf(texts: Map<string, Ordinals>): Generator<[string, number[]]> {
  for (const [text, ordinals] of texts) yield [text, typeof ordinals === "number" ? [ordinals] : ordinals];
}

function put(texts: Map<string, Ordinals>, text: string, ordinal: number): void {
  const known = texts.get(text);
  if (known === undefined) texts.set(text, ordinal);
  else if (typeof known === "number") {
    if (known !== ordinal) texts.set(text, [known, ordinal]);
  } else if (known[known.length - 1] !== ordinal) known.push(ordinal);
}

/** A project's tokens (tokens.ts) that are not rare. Null, after each text, is a place for a pause. */
function* tokensIn(project: number, texts: ProjectTexts): Generator<[string, number[]] | null> {
  const { words } = texts;
  /** For each word, the ordinals of its texts. Only a word of several texts has to have them sorted. */
  const parts = new Map<string, Ordinals[]>();
  const addWords = (text: string, ordinals: Ordinals) => {
    for (const word of wordsOf(text)) {
      const known = parts.get(word);
      if (known === undefined) parts.set(word, [ordinals]);
      else if (known[known.length - 1] !== ordinals) known.push(ordinals);
    }
  };
  for (const [word, ordinals] of words) {
    parts.set(word, [ordinals]);
    yield null;
  }
  words.clear();
  if (texts.every.length >= rareBelow) yield [token.every(project), texts.every];
  if (texts.notify.length >= rareBelow) yield [token.notifies(project), texts.notify];
  for (const [channel, ordinals] of texts.channels) {
    if (isCommon(ordinals)) yield [token.channel(project, channel), ordinals];
  }
  for (const [name, ordinals] of texts.names) {
    if (isCommon(ordinals)) yield [token.name(project, name), ordinals];
    addWords(name, ordinals);
    yield null;
  }
  for (const [user, ordinals] of texts.users) {
    if (isCommon(ordinals)) yield [token.user(project, user), ordinals];
  }
  for (const [key, values] of texts.tags) {
    for (const [value, ordinals] of values) {
      if (isCommon(ordinals)) yield [token.tag(project, key, value), ordinals];
      addWords(value, ordinals);
      yield null;
    }
  }
  // Long words with the same beginning share a token.
  const byToken = new Map<string, Ordinals[]>();
  for (const [word, lists] of parts) {
    const text = token.word(project, word);
    const known = byToken.get(text);
    if (known) known.push(...lists);
    else byToken.set(text, lists);
    yield null;
  }
  parts.clear();
  for (const [text, lists] of byToken) {
    const ordinals = mergeOrdinals(lists);
    yield ordinals.length >= rareBelow ? [text, ordinals] : null;
  }
}

function isCommon(ordinals: Ordinals): ordinals is number[] {
  return typeof ordinals !== "number" && ordinals.length >= rareBelow;
}

function mergeOrdinals(lists: Ordinals[]): number[] {
  const [first] = lists;
  if (lists.length === 1) return typeof first === "number" ? [first] : first!;
  const all = Uint32Array.from(lists.flat()).sort();
  const ordinals: number[] = [];
  for (const ordinal of all) if (ordinal !== ordinals[ordinals.length - 1]) ordinals.push(ordinal);
  return ordinals;
}
