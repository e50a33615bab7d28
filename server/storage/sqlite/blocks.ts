import type { Database } from "bun:sqlite";
import { LRUCache } from "lru-cache";
import {
  type Block,
  changedMax,
  ordinalFrom,
  type Timestamps,
  type TimestampsRow,
  timestampsIn,
  type WithAny,
  withAny,
} from "../block.ts";
import { rowKeyAt, rowKeySql } from "./row-key.ts";

/** An event's millisecond, and its place among the events of it when they were digested, where that is known. */
export type Place = { ms: number; index: number | null };

/** A block with what tells its digest from every other. */
export type StoredBlock = Block & { digest: number };
type BlockRow = Omit<StoredBlock, "events"> & { events: number | null };

/** Blocks that are listed at a time, the first time and at most. */
const listedFirst = 4;
const listedMax = 64;
/**
 * What is kept of digests in memory: those of ten million events have a megabyte for each common token. SQLite's own cache forgets all
 * that it has when an event is stored.
 */
const keptBytes = 8 * 1_024 * 1_024;
/** What an entry takes beside its bytes. */
const entryBytes = 100;

/** What the reader asks of digests. */
export type Blocks = ReturnType<typeof createBlocks>;

export function createBlocks(database: Database) {
  const select = (order: "ASC" | "DESC") =>
    database.prepare<BlockRow, [number, number, number]>(
      `SELECT from_ms AS fromMs, to_ms AS toMs, events, changed, digest FROM blocks
       WHERE from_ms < ?2 AND to_ms > ?1 ORDER BY from_ms ${order} LIMIT ?3`,
    );
  const selectBlocks = { asc: select("ASC"), desc: select("DESC") };
  const selectOrdinals = database.prepare(
    "SELECT ordinals FROM block_tokens WHERE from_ms = ?1 AND token = ?2",
  );
  const selectMoments = database.prepare<TimestampsRow, [number, number]>(
    `SELECT place & 2097151 AS first, ms, gaps FROM block_moments
     WHERE place BETWEEN ${rowKeySql("?1", "0")} AND ${rowKeySql("?1", "?2")} ORDER BY place DESC LIMIT 1`,
  );
  const selectMomentsBefore = database.prepare<TimestampsRow, [number, number]>(
    `SELECT place & 2097151 AS first, ms, gaps FROM block_moments
     WHERE place BETWEEN ${rowKeySql("?1", "0")} AND ${rowKeySql("?1", "2097151")} AND ms < ?2
     ORDER BY place DESC LIMIT 1`,
  );
  const selectLate = database.prepare(
    "SELECT position >> 21, position & 2097151 FROM late_events WHERE position >= ?1 AND position < ?2",
  );

  // But for tokens of events that went, a digest does not change: what was read of it holds until another is made of the block.
  const kept = new LRUCache<string, Uint8Array>({
    maxSize: keptBytes,
    sizeCalculation: ({ length }) => length + entryBytes,
  });

  function ordinalsOf({ fromMs, digest }: StoredBlock, token: string): Uint8Array | undefined {
    const key = `${digest} ${token}`;
    const known = kept.get(key);
    if (known) return known;
    const [row] = selectOrdinals.values(fromMs, token) as [Uint8Array][];
    if (row) kept.set(key, row[0]);
    return row?.[0];
  }

  return {
    /** The blocks that overlap a range of time, whose digests are of use, in order. */
    *between(fromMs: number, toMs: number, order: "asc" | "desc"): Generator<StoredBlock> {
      let [low, high] = [fromMs, toMs];
      for (let count = listedFirst; ; count = Math.min(count * 4, listedMax)) {
        const blocks = selectBlocks[order].all(low, high, count);
        for (const { events, ...block } of blocks) {
          // Of none: its events are too many for a digest (build-blocks.ts).
          if (events && block.changed <= changedMax) yield { ...block, events };
        }
        const last = blocks.at(-1);
        if (!last || blocks.length < count) return;
        if (order === "asc") low = last.toMs;
        else high = last.fromMs;
      }
    },

    /** The ordinals of events with one of some tokens, and those of the tokens that the digest does not know. */
    withAny: (block: StoredBlock, tokens: string[]): WithAny =>
      withAny(tokens, block.events, (token) => ordinalsOf(block, token)),

    /** Makes the function that tells where the events of a block stand; ordinals near one another are quickest. */
    placesOf({ fromMs }: Block): (ordinal: number) => Place {
      let known: Timestamps = { first: 0, ms: new Float64Array() };
      return (ordinal) => {
        if (ordinal < known.first || ordinal >= known.first + known.ms.length) {
          known = timestampsIn(selectMoments.get(fromMs, ordinal)!);
        }
        const ms = known.ms[ordinal - known.first]!;
        const firstOfMs = ordinalFrom(known, ms);
        // Where those that are known begin within the millisecond, others of it may stand before them.
        const isCut = firstOfMs === known.first && known.first > 0;
        return { ms, index: isCut ? null : ordinal - firstOfMs };
      };
    },

    /** The ordinal of the first event of a block that happened at a moment or later. */
    ordinalAt({ fromMs, events }: Block, ms: number): number {
      const row = selectMomentsBefore.get(fromMs, ms);
      if (!row) return 0;
      return Math.min(ordinalFrom(timestampsIn(row), ms), events);
    },

    /** The positions of events that were stored after a block was digested. */
    lateIn({ fromMs, toMs, changed }: Block): [ms: number, sequence: number][] {
      if (changed === 0) return [];
      return selectLate.values(rowKeyAt(fromMs), rowKeyAt(toMs)) as [number, number][];
    },
  };
}
