import type { Database } from "bun:sqlite";
import { type Condition, needsRows } from "../../event/match.ts";
import { type Bits, countBits, ordinalsOf } from "../bits.ts";
import { changedFew, type MsRange } from "../block.ts";
import { evaluate } from "../evaluate.ts";
import {
  endOf,
  PendingRange,
  requiredTokens,
  startOf,
  unknownEventsMax,
  unknownTokensMax,
} from "../prune-blocks.ts";
import type { Blocks, StoredBlock } from "./blocks.ts";
import { rowKeyAt, rowKeySql } from "./row-key.ts";

/** A range to search: at its candidates, in order, or with the index if `candidates` is null. */
export type Part = { range: MsRange; candidates: Iterable<Candidate> | null };
/**
 * A millisecond that can have matching events. They are the ones with these sequences of the row key and those at these
 * indexes among the millisecond's rows, or any of its rows if `isWhole`.
 */
export type Candidate = { ms: number; sequences: number[]; indexes: number[]; isWhole: boolean };

/**
 * Rows of one millisecond that are read one by one. If there are more, the index is asked, or for a number all rows are
 * read.
 */
export const rowsOfMsMax = 200;
/** If one event in this many matches, the index is faster than reading candidates. */
const denseShare = 64;
/** The same for numbers, for which all rows are read instead. */
const denseNumberShare = 4;
/** Index entries in the first read of a lookahead. */
const lookaheadEntries = 128;

/** Decides where to search for a query, and leaves out the blocks that can't have a match. */
export function createPruneBlocks(database: Database, blocks: Blocks) {
  const entries = (order: "ASC" | "DESC") =>
    database.prepare(
      `SELECT rowid >> 21, rowid & 2097151 FROM events_index
       WHERE events_index MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid ${order} LIMIT ?4`,
    );
  const selectEntries = { asc: entries("ASC"), desc: entries("DESC") };
  type Order = keyof typeof selectEntries;
  const ofMs = `FROM events WHERE row_key BETWEEN ${rowKeySql("?1", "0")} AND ${rowKeySql("?1", "2097151")}`;
  // In two queries, as one would read all rows between the ends.
  const selectEnds = database.prepare<{ first: number | null; last: number | null }, [number]>(
    `SELECT (SELECT min(row_key) ${ofMs}) & 2097151 AS first, (SELECT max(row_key) ${ofMs}) & 2097151 AS last`,
  );

  return { parts, nearest };

  /**
   * The share of events that match, from 0 to 1, in the nearest block, and the range up to its end. Without a block, the
   * range is small.
   */
  function nearest(
    query: Condition,
    range: MsRange,
    order: Order,
  ): { isBlock: boolean; share: number; range: MsRange } {
    for (const block of blocks.between(range.fromMs, range.toMs, order)) {
      const { ifAbsent } = evaluate(query, block, blocks);
      const end =
        order === "asc"
          ? { toMs: Math.min(block.toMs, range.toMs) }
          : { fromMs: Math.max(block.fromMs, range.fromMs) };
      return {
        isBlock: true,
        share: ifAbsent ? countBits(ifAbsent) / block.events : 0,
        range: { ...range, ...end },
      };
    }
    return { isBlock: false, share: 1, range };
  }

  /** The parts to search, in order. Each is computed only when it is needed. */
  function* parts(query: Condition, range: MsRange, order: Order): Generator<Part> {
    const ascending = order === "asc";
    const pending = new PendingRange(range, ascending);
    const takePending = (): Part => ({ range: pending.take(), candidates: null });
    const lookaheads = new Map<string, Lookahead>();
    let isFirst = true;
    let unprunedBlocks = 0;
    let unprunedBlocksMax = 1;
    for (const block of blocks.between(range.fromMs, range.toMs, order)) {
      const end = endOf(block, ascending);
      pending.extendTo(startOf(block, ascending));
      if (unprunedBlocks === 0 && pending.isOpen) yield takePending();
      if (isFirst) {
        isFirst = false;
        const entries = rareEntriesFrom(block, query, order, lookaheads, range);
        if (entries) {
          pending.extendTo(endOf(range, ascending));
          return yield { ...takePending(), candidates: mergeEntries([], entries, order) };
        }
      }
      const candidates = candidatesIn(block, query, order, lookaheads, range);
      if (candidates === null) {
        pending.extendTo(end);
        // One index query covers several of these blocks, twice as many each time.
        if (++unprunedBlocks < unprunedBlocksMax) continue;
        yield takePending();
        unprunedBlocks = 0;
        unprunedBlocksMax *= 2;
        continue;
      }
      if (pending.isOpen) yield takePending();
      unprunedBlocks = 0;
      pending.extendTo(end);
      yield { ...takePending(), candidates };
    }
    pending.extendTo(endOf(range, ascending));
    if (pending.isOpen) yield takePending();
  }

  /** If matches need a token that is rare: its index entries from this block on. Otherwise null. */
  function rareEntriesFrom(
    block: StoredBlock,
    query: Condition,
    order: Order,
    lookaheads: Map<string, Lookahead>,
    range: MsRange,
  ): Entry[] | null {
    for (const tokens of requiredTokens(query)) {
      if (tokens.length > unknownTokensMax || blocks.withAny(block, tokens).bits !== null) continue;
      const entries = lookaheadOf(tokens, order, lookaheads).all(block, order, range);
      if (entries) return entries;
    }
    return null;
  }

  /** The candidates of a block; null if the index is better there. */
  function candidatesIn(
    block: StoredBlock,
    query: Condition,
    order: Order,
    lookaheads: Map<string, Lookahead>,
    range: MsRange,
  ): Iterable<Candidate> | null {
    // For a number, the alternative is to read all rows.
    if (block.changed > changedFew && !needsRows(query)) return null;
    const { ifAbsent, upper, unknown, isOpen } = evaluate(query, block, blocks);
    const extra: Entry[] = blocks.changesIn(block);
    if (upper === null) return mergeEntries([], extra, order);
    if (isOpen || unknown.length > unknownTokensMax) return null;
    const share = needsRows(query) ? denseNumberShare : denseShare;
    if (ifAbsent && countBits(ifAbsent) * share >= block.events) return null;
    if (unknown.length > 0) {
      const entries = lookaheadOf(unknown, order, lookaheads).in(block, order, range);
      if (entries === null) return null;
      for (const entry of entries) extra.push(entry);
    }
    return mergeEntries(ifAbsent ? candidatesOf(block, ifAbsent, order) : [], extra, order);
  }

  /** The first of a millisecond's sequences if these are `count` in a row, as after an import; otherwise null. */
  function firstInUnbrokenRun(ms: number, count: number): number | null {
    const { first, last } = selectEnds.get(ms)!;
    return first !== null && last !== null && last - first + 1 === count ? first : null;
  }

  function lookaheadOf(tokens: string[], order: Order, lookaheads: Map<string, Lookahead>): Lookahead {
    const match = tokens.map((token) => `"${token}"`).join(" OR ");
    let lookahead = lookaheads.get(match);
    if (!lookahead) {
      lookahead = new Lookahead(
        (fromMs, toMs, limit) =>
          selectEntries[order].values(match, rowKeyAt(fromMs), rowKeyAt(toMs) - 1n, limit) as Entry[],
      );
      lookaheads.set(match, lookahead);
    }
    return lookahead;
  }

  function* candidatesOf(block: StoredBlock, bits: Bits, order: Order): Generator<Candidate> {
    const positionOf = blocks.positionsOf(block);
    let candidate: Candidate | null = null;
    let done = { from: 0, to: 0 };
    let busy = { ms: -1, from: 0, to: 0, first: null as number | null };
    for (const ordinal of ordinalsOf(bits, order === "asc")) {
      if (ordinal >= done.from && ordinal < done.to) continue;
      const { ms, index } = positionOf(ordinal);
      if (candidate && candidate.ms !== ms) {
        yield candidate;
        candidate = null;
      }
      candidate ??= { ms, sequences: [], indexes: [], isWhole: block.changed > 0 };
      if (index !== null && index < rowsOfMsMax) {
        candidate.indexes.push(index);
        continue;
      }
      if (busy.ms !== ms) {
        const [from, to] = [blocks.ordinalAt(block, ms), blocks.ordinalAt(block, ms + 1)];
        busy = { ms, from, to, first: firstInUnbrokenRun(ms, to - from) };
      }
      if (busy.first !== null && candidate.sequences.length < rowsOfMsMax) {
        candidate.sequences.push(busy.first + ordinal - busy.from);
        continue;
      }
      // The whole millisecond is a candidate: skip its other ordinals.
      candidate.isWhole = true;
      done = busy;
    }
    if (candidate) yield candidate;
  }
}

/** An index entry: an event's row key as milliseconds and sequence. */
type Entry = [ms: number, sequence: number];

/** Index entries of rare tokens. Reads ahead, so that the blocks that follow need no query of their own. */
class Lookahead {
  readonly #read: (fromMs: number, toMs: number, limit: number) => Entry[];
  #entries: Entry[] = [];
  /** Entries were read up to this millisecond, which can have more. */
  #reachedMs: number | null = null;
  #isAtEnd = false;
  #limit = lookaheadEntries;

  constructor(read: (fromMs: number, toMs: number, limit: number) => Entry[]) {
    this.#read = read;
  }

  /** The entries in a block; null if there are too many. Call it for blocks in order. */
  in({ fromMs, toMs }: MsRange, order: "asc" | "desc", range: MsRange): Entry[] | null {
    const ascending = order === "asc";
    this.#entries = this.#entries.filter(([ms]) => (ascending ? ms >= fromMs : ms < toMs));
    const isRead = () =>
      this.#isAtEnd ||
      (this.#reachedMs !== null && (ascending ? this.#reachedMs >= toMs : this.#reachedMs < fromMs));
    while (!isRead()) {
      if (this.#entries.length > unknownEventsMax) return null;
      this.#readMore(fromMs, toMs, ascending, range);
    }
    return this.#entries.filter(([ms]) => ms >= fromMs && ms < toMs);
  }

  /** All entries from a block on; null if one read does not reach the end. */
  all({ fromMs, toMs }: MsRange, order: "asc" | "desc", range: MsRange): Entry[] | null {
    this.#readMore(fromMs, toMs, order === "asc", range);
    return this.#isAtEnd ? this.#entries : null;
  }

  #readMore(fromMs: number, toMs: number, ascending: boolean, range: MsRange): void {
    const from = ascending ? Math.max(this.#reachedMs ?? 0, fromMs, range.fromMs) : range.fromMs;
    const to = ascending ? range.toMs : Math.min(this.#reachedMs ?? toMs, toMs - 1, range.toMs - 1) + 1;
    const entries = this.#read(from, to, this.#limit);
    for (const entry of entries) this.#entries.push(entry);
    this.#isAtEnd = entries.length < this.#limit;
    if (!this.#isAtEnd) this.#reachedMs = entries.at(-1)![0];
    this.#limit *= 2;
  }
}

/** Merges index entries into candidates, in order. */
function* mergeEntries(
  candidates: Iterable<Candidate>,
  entries: Entry[],
  order: "asc" | "desc",
): Generator<Candidate> {
  const sign = order === "asc" ? 1 : -1;
  const ordered = entries.toSorted((a, b) => sign * (a[0] - b[0]));
  let next = 0;
  const nextEntry = (): Candidate => {
    const candidate: Candidate = { ms: ordered[next]![0], sequences: [], indexes: [], isWhole: false };
    for (; ordered[next]?.[0] === candidate.ms; next++) candidate.sequences.push(ordered[next]![1]);
    return candidate;
  };
  for (const candidate of candidates) {
    while (next < ordered.length && sign * (ordered[next]![0] - candidate.ms) < 0) yield nextEntry();
    if (ordered[next]?.[0] === candidate.ms) candidate.sequences.push(...nextEntry().sequences);
    yield candidate;
  }
  while (next < ordered.length) yield nextEntry();
}
