import type { Database } from "bun:sqlite";
import { type Bits, countBits, ordinalsOf } from "./bits.ts";
import type { Block, Blocks } from "./blocks.ts";
import { evaluate } from "./evaluate.ts";
import type { Query } from "./match.ts";
import { positionAt } from "./position.ts";

/** Milliseconds since 1970, the first inclusive and the second not. */
export type MsRange = { fromMs: number; toMs: number };
/** A range of time that is to be looked through: with the index, or at the moments of what may be found, in order. */
export type Part = { range: MsRange; moments: Iterable<number> | null };

/** Of a block, one event in so many is found by the index sooner than one by one. */
const denseShare = 64;
/** Unknown tokens that are sought beside a digest, and events that they may have in a block. */
const unknownMax = 64;
const unknownEventsMax = 1_000;
/** Entries of the index that are read ahead at a time. */
const entriesAhead = 128;

/** Makes the function that says where to look for what a query asks for: blocks where nothing can be found are left out. */
export function createNarrow(database: Database, blocks: Blocks) {
  const entries = (order: "ASC" | "DESC") =>
    database.prepare<{ ms: number }, [string, bigint, bigint, number]>(
      `SELECT rowid >> 21 AS ms FROM events_index
       WHERE events_index MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid ${order} LIMIT ?4`,
    );
  const selectEntries = { asc: entries("ASC"), desc: entries("DESC") };
  type Order = keyof typeof selectEntries;

  /** Gives the parts in order, each only when the one before did not suffice. */
  return function* narrow(query: Query, range: MsRange, order: Order): Generator<Part> {
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
    let blocksOpen = 0;
    let blocksOpenMax = 1;
    for (const block of blocks.between(range.fromMs, range.toMs, order)) {
      const [near, far] = ascending ? [block.fromMs, block.toMs] : [block.toMs, block.fromMs];
      extend(near);
      if (blocksOpen === 0 && isOpen()) yield taken();
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
  };

  /** When what is asked for may have happened in a block; null where the index tells it better. */
  function momentsIn(
    block: Block,
    query: Query,
    order: Order,
    rare: Map<string, Ahead>,
    range: MsRange,
  ): Iterable<number> | null {
    const { without, most, unknown, isVague } = evaluate(query, block, blocks);
    const beside = blocks.lateIn(block);
    if (most === null) return inOrder(beside, order);
    if (isVague || unknown.length > unknownMax) return null;
    if (without && countBits(without) * denseShare >= block.events) return null;
    if (unknown.length > 0) {
      const key = unknown.join(" ");
      let ahead = rare.get(key);
      if (!ahead) {
        const match = unknown.map((token) => `"${token}"`).join(" OR ");
        ahead = new Ahead((fromMs, toMs, limit) =>
          selectEntries[order].values(match, positionAt(fromMs), positionAt(toMs) - 1n, limit),
        );
        rare.set(key, ahead);
      }
      const moments = ahead.in(block, order, range);
      if (moments === null) return null;
      for (const ms of moments) beside.push(ms);
    }
    return merged(momentsOf(block, without, order), inOrder(beside, order), order);
  }

  function* momentsOf(block: Block, bits: Bits | null, order: Order): Generator<number> {
    if (bits === null) return;
    const msOf = blocks.momentsOf(block);
    for (const ordinal of ordinalsOf(bits, order === "asc")) yield msOf(ordinal);
  }
}

/** The moments of rare tokens, read ahead from one block into those that follow. */
class Ahead {
  readonly #read: (fromMs: number, toMs: number, limit: number) => unknown[][];
  #moments: number[] = [];
  /** How far it was read: to this millisecond, which may have more. */
  #reachedMs: number | null = null;
  #isAtEnd = false;
  #limit = entriesAhead;

  constructor(read: (fromMs: number, toMs: number, limit: number) => unknown[][]) {
    this.#read = read;
  }

  /** The moments in a block; null where there are too many. Blocks are to be asked about in order. */
  in({ fromMs, toMs }: Block, order: "asc" | "desc", range: MsRange): number[] | null {
    const ascending = order === "asc";
    this.#moments = this.#moments.filter((ms) => (ascending ? ms >= fromMs : ms < toMs));
    const isRead = () =>
      this.#isAtEnd ||
      (this.#reachedMs !== null && (ascending ? this.#reachedMs >= toMs : this.#reachedMs < fromMs));
    while (!isRead()) {
      if (this.#moments.length > unknownEventsMax) return null;
      const near = ascending
        ? Math.max(this.#reachedMs ?? 0, fromMs, range.fromMs)
        : Math.min(this.#reachedMs ?? toMs, toMs - 1, range.toMs - 1);
      const rows = ascending
        ? this.#read(near, range.toMs, this.#limit)
        : this.#read(range.fromMs, near + 1, this.#limit);
      for (const [ms] of rows as [number][]) this.#moments.push(ms);
      this.#isAtEnd = rows.length < this.#limit;
      if (!this.#isAtEnd) this.#reachedMs = (rows.at(-1) as [number])[0];
      this.#limit *= 2;
    }
    return this.#moments.filter((ms) => ms >= fromMs && ms < toMs);
  }
}

/** Sorted, without doubles. */
function inOrder(moments: number[], order: "asc" | "desc"): number[] {
  return [...new Set(moments)].sort((a, b) => (order === "asc" ? a - b : b - a));
}

/** What two have that are in order, without doubles. */
function* merged(some: Iterable<number>, others: number[], order: "asc" | "desc"): Generator<number> {
  const isBefore = (a: number, b: number) => (order === "asc" ? a < b : a > b);
  let next = 0;
  let last: number | null = null;
  for (const ms of some) {
    while (next < others.length && isBefore(others[next]!, ms)) yield others[next++]!;
    if (others[next] === ms) next++;
    if (ms !== last) yield ms;
    last = ms;
  }
  while (next < others.length) yield others[next++]!;
}
