import type { Database } from "bun:sqlite";
import type { Condition } from "../../event/match.ts";
import { type Bits, countBits, ordinalsOf } from "../bits.ts";
import { evaluate } from "../evaluate.ts";
import type { Blocks, StoredBlock } from "./blocks.ts";
import { rowKeyAt } from "./row-key.ts";

/** Milliseconds since 1970, the first inclusive and the second not. */
export type MsRange = { fromMs: number; toMs: number };
/** A range of time that is to be looked through: with the index, or at the moments of what may be found, in order. */
export type Part = { range: MsRange; moments: Iterable<Moment> | null };
/**
 * A millisecond when what is asked for may have happened, with the events that are meant: those whose positions end with these
 * sequences, and those in these places among the others; or all.
 */
export type Moment = { ms: number; sequences: number[]; indexes: number[]; isWhole: boolean };

/** Rows of one millisecond that are looked at one by one; where there are more, the index tells them apart. */
export const rowsOfMsMax = 200;
/** Of a block, one event in so many is found by the index sooner than one by one. */
const denseShare = 64;
/** Unknown tokens that are sought beside a digest, and events that they may have in a block. */
const unknownMax = 64;
const unknownEventsMax = 1_000;
/** Entries of the index that are read ahead at a time. */
const entriesAhead = 128;

/** Makes what says where to look for what a query asks for: blocks where nothing can be found are left out. */
export function createPruneBlocks(database: Database, blocks: Blocks) {
  const entries = (order: "ASC" | "DESC") =>
    database.prepare(
      `SELECT rowid >> 21, rowid & 2097151 FROM events_index
       WHERE events_index MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid ${order} LIMIT ?4`,
    );
  const selectEntries = { asc: entries("ASC"), desc: entries("DESC") };
  type Order = keyof typeof selectEntries;

  return { parts, shareNear };

  /** What share of the events a query finds, from 0 to 1, as the nearest digest tells; 0 where there is none. */
  function shareNear(query: Condition, range: MsRange, order: Order): number {
    for (const block of blocks.between(range.fromMs, range.toMs, order)) {
      const { without } = evaluate(query, block, blocks);
      return without ? countBits(without) / block.events : 0;
    }
    return 0;
  }

  /** Gives the parts in order, each only when the one before did not suffice. */
  function* parts(query: Condition, range: MsRange, order: Order): Generator<Part> {
    const ascending = order === "asc";
    // What the index is to be asked about, from where the parts before ended.
    const open = ascending
      ? { fromMs: range.fromMs, toMs: range.fromMs }
      : { fromMs: range.toMs, toMs: range.toMs };
    const extend = (ms: number) => {
      if (ascending) open.toMs = Math.min(ms, range.toMs);
      else open.fromMs = Math.max(ms, range.fromMs);
    };
    const isOpen = () => open.fromMs < open.toMs;
    const taken = (): Part => {
      const part = { range: { ...open }, moments: null };
      if (ascending) open.fromMs = open.toMs;
      else open.toMs = open.fromMs;
      return part;
    };
    const rare = new Map<string, Ahead>();
    let isFirst = true;
    let blocksOpen = 0;
    let blocksOpenMax = 1;
    for (const block of blocks.between(range.fromMs, range.toMs, order)) {
      const [near, far] = ascending ? [block.fromMs, block.toMs] : [block.toMs, block.fromMs];
      extend(near);
      if (blocksOpen === 0 && isOpen()) yield taken();
      if (isFirst) {
        isFirst = false;
        const few = fewIn(block, query, order, rare, range);
        if (few) {
          extend(ascending ? range.toMs : range.fromMs);
          return yield { ...taken(), moments: merged([], few, order) };
        }
      }
      const moments = momentsIn(block, query, order, rare, range);
      if (moments === null) {
        extend(far);
        // Asked about several at once where it is asked about all of them.
        if (++blocksOpen < blocksOpenMax) continue;
        yield taken();
        blocksOpen = 0;
        blocksOpenMax *= 2;
        continue;
      }
      if (isOpen()) yield taken();
      blocksOpen = 0;
      extend(far);
      yield { ...taken(), moments };
    }
    extend(ascending ? range.toMs : range.fromMs);
    if (isOpen()) yield taken();
  }

  /** All entries from a block on of a rare token that what is asked for must have; null where none is so rare. */
  function fewIn(
    block: StoredBlock,
    query: Condition,
    order: Order,
    rare: Map<string, Ahead>,
    range: MsRange,
  ): Entry[] | null {
    for (const part of query.kind === "all" ? query.of : [query.kind === "andNot" ? query.of : query]) {
      if (part.kind === "all") return fewIn(block, part, order, rare, range);
      if (part.kind !== "tokens" || part.tokens.length > unknownMax) continue;
      if (blocks.withAny(block, part.tokens).bits !== null) continue;
      const few = aheadOf(part.tokens, order, rare).all(block, order, range);
      if (few) return few;
    }
    return null;
  }

  /** When what is asked for may have happened in a block; null where the index tells it better. */
  function momentsIn(
    block: StoredBlock,
    query: Condition,
    order: Order,
    rare: Map<string, Ahead>,
    range: MsRange,
  ): Iterable<Moment> | null {
    const { without, most, unknown, isVague } = evaluate(query, block, blocks);
    const beside: Entry[] = blocks.lateIn(block);
    if (most === null) return merged([], beside, order);
    if (isVague || unknown.length > unknownMax) return null;
    if (without && countBits(without) * denseShare >= block.events) return null;
    if (unknown.length > 0) {
      const entries = aheadOf(unknown, order, rare).in(block, order, range);
      if (entries === null) return null;
      for (const entry of entries) beside.push(entry);
    }
    return merged(without ? momentsOf(block, without, order) : [], beside, order);
  }

  function aheadOf(tokens: string[], order: Order, rare: Map<string, Ahead>): Ahead {
    const match = tokens.map((token) => `"${token}"`).join(" OR ");
    let ahead = rare.get(match);
    if (!ahead) {
      ahead = new Ahead(
        (fromMs, toMs, limit) =>
          selectEntries[order].values(match, rowKeyAt(fromMs), rowKeyAt(toMs) - 1n, limit) as Entry[],
      );
      rare.set(match, ahead);
    }
    return ahead;
  }

  function* momentsOf(block: StoredBlock, bits: Bits, order: Order): Generator<Moment> {
    const placeOf = blocks.placesOf(block);
    let moment: Moment | null = null;
    let told = { from: 0, to: 0 };
    for (const ordinal of ordinalsOf(bits, order === "asc")) {
      if (ordinal >= told.from && ordinal < told.to) continue;
      const { ms, index } = placeOf(ordinal);
      if (moment && moment.ms !== ms) {
        yield moment;
        moment = null;
      }
      moment ??= { ms, sequences: [], indexes: [], isWhole: block.changed > 0 };
      if (index !== null && index < rowsOfMsMax) moment.indexes.push(index);
      else {
        // What else it has is of no interest.
        moment.isWhole = true;
        told = { from: blocks.ordinalAt(block, ms), to: blocks.ordinalAt(block, ms + 1) };
      }
    }
    if (moment) yield moment;
  }
}

/** An entry of the index: an event's millisecond, and the rest of its position. */
type Entry = [ms: number, sequence: number];

/** The entries of rare tokens, read ahead from one block into those that follow. */
class Ahead {
  readonly #read: (fromMs: number, toMs: number, limit: number) => Entry[];
  #entries: Entry[] = [];
  /** How far it was read: to this millisecond, which may have more. */
  #reachedMs: number | null = null;
  #isAtEnd = false;
  #limit = entriesAhead;

  constructor(read: (fromMs: number, toMs: number, limit: number) => Entry[]) {
    this.#read = read;
  }

  /** The entries in a block; null where there are too many. Blocks are to be asked about in order. */
  in({ fromMs, toMs }: MsRange, order: "asc" | "desc", range: MsRange): Entry[] | null {
    const ascending = order === "asc";
    this.#entries = this.#entries.filter(([ms]) => (ascending ? ms >= fromMs : ms < toMs));
    const isRead = () =>
      this.#isAtEnd ||
      (this.#reachedMs !== null && (ascending ? this.#reachedMs >= toMs : this.#reachedMs < fromMs));
    while (!isRead()) {
      if (this.#entries.length > unknownEventsMax) return null;
      this.#readOn(fromMs, toMs, ascending, range);
    }
    return this.#entries.filter(([ms]) => ms >= fromMs && ms < toMs);
  }

  /** All entries from a block on; null where they are more than are read ahead. */
  all({ fromMs, toMs }: MsRange, order: "asc" | "desc", range: MsRange): Entry[] | null {
    this.#readOn(fromMs, toMs, order === "asc", range);
    return this.#isAtEnd ? this.#entries : null;
  }

  #readOn(fromMs: number, toMs: number, ascending: boolean, range: MsRange): void {
    const from = ascending ? Math.max(this.#reachedMs ?? 0, fromMs, range.fromMs) : range.fromMs;
    const to = ascending ? range.toMs : Math.min(this.#reachedMs ?? toMs, toMs - 1, range.toMs - 1) + 1;
    const entries = this.#read(from, to, this.#limit);
    for (const entry of entries) this.#entries.push(entry);
    this.#isAtEnd = entries.length < this.#limit;
    if (!this.#isAtEnd) this.#reachedMs = entries.at(-1)![0];
    this.#limit *= 2;
  }
}

/** Moments in order, and entries as moments in their places. */
function* merged(moments: Iterable<Moment>, entries: Entry[], order: "asc" | "desc"): Generator<Moment> {
  const sign = order === "asc" ? 1 : -1;
  const others = entries.toSorted((a, b) => sign * (a[0] - b[0]));
  let next = 0;
  const other = (): Moment => {
    const moment: Moment = { ms: others[next]![0], sequences: [], indexes: [], isWhole: false };
    for (; others[next]?.[0] === moment.ms; next++) moment.sequences.push(others[next]![1]);
    return moment;
  };
  for (const moment of moments) {
    while (next < others.length && sign * (others[next]![0] - moment.ms) < 0) yield other();
    if (others[next]?.[0] === moment.ms) moment.sequences.push(...other().sequences);
    yield moment;
  }
  while (next < others.length) yield other();
}
