import type { Database } from "bun:sqlite";
import { LRUCache } from "lru-cache";
import type { MembersCondition, NumberCondition } from "../../event/match.ts";
import type { Bits } from "../bits.ts";
import {
  allTimestampsIn,
  type Block,
  isChangedTooMuch,
  ordinalFrom,
  type Timestamps,
  type TimestampsRow,
  timestampsIn,
  type WithAny,
  withAny,
} from "../block.ts";
import { ordinalsOfMembers } from "../block-members.ts";
import { isNumberBucket, ordinalsWithNumber } from "../block-numbers.ts";
import { rowKeyAt, rowKeySql } from "./row-key.ts";

/** An event's millisecond, and its index within it when the block was built; null if that is not known. */
export type BlockPosition = { ms: number; index: number | null };

/** `buildId` is a random number that identifies this build of the block. */
export type StoredBlock = Block & { buildId: number };
type BlockRow = Omit<StoredBlock, "events"> & { events: number | null; added: number };

/** Blocks listed at a time, the first time and at most. */
const listedFirst = 4;
const listedMax = 64;
/**
 * Memory for blocks. Those of ten million events have a megabyte for each common token. SQLite's own cache is lost
 * whenever an event is stored.
 */
const cacheBytesMax = 8 * 1_024 * 1_024;
/** Overhead of a cache entry. */
const entryBytes = 100;

export type Blocks = ReturnType<typeof createBlocks>;

export function createBlocks(database: Database) {
  const select = (order: "ASC" | "DESC") =>
    database.prepare<BlockRow, [number, number, number]>(
      `SELECT from_ms AS fromMs, to_ms AS toMs, events, changed, added, build_id AS buildId FROM blocks
       WHERE from_ms < ?2 AND to_ms > ?1 ORDER BY from_ms ${order} LIMIT ?3`,
    );
  const selectBlocks = { asc: select("ASC"), desc: select("DESC") };
  const selectOrdinals = database.prepare(
    "SELECT ordinals FROM block_tokens WHERE from_ms = ?1 AND token = ?2",
  );
  const selectTimestamps = database.prepare<TimestampsRow, [number, number]>(
    `SELECT place & 2097151 AS first, ms, gaps FROM block_timestamps
     WHERE place BETWEEN ${rowKeySql("?1", "0")} AND ${rowKeySql("?1", "?2")} ORDER BY place DESC LIMIT 1`,
  );
  const selectTimestampsBefore = database.prepare<TimestampsRow, [number, number]>(
    `SELECT place & 2097151 AS first, ms, gaps FROM block_timestamps
     WHERE place BETWEEN ${rowKeySql("?1", "0")} AND ${rowKeySql("?1", "2097151")} AND ms < ?2
     ORDER BY place DESC LIMIT 1`,
  );
  const selectAllTimestamps = database.prepare<TimestampsRow, [number]>(
    `SELECT place & 2097151 AS first, ms, gaps FROM block_timestamps
     WHERE place BETWEEN ${rowKeySql("?1", "0")} AND ${rowKeySql("?1", "2097151")} ORDER BY place`,
  );
  const selectColumn = database.prepare(
    "SELECT bytes FROM block_columns WHERE from_ms = ?1 AND project_id = ?2 AND name = ?3",
  );
  const selectChanges = database.prepare(
    "SELECT row_key >> 21, row_key & 2097151 FROM late_events WHERE row_key >= ?1 AND row_key < ?2 ORDER BY row_key",
  );

  // A block does not change until it is rebuilt, except that tokens of removed events disappear. So entries stay valid.
  const cache = new LRUCache<string, Uint8Array>({
    maxSize: cacheBytesMax,
    sizeCalculation: ({ length }) => length + entryBytes,
  });

  function readOrdinals({ fromMs }: StoredBlock, token: string): Uint8Array | undefined {
    const [row] = selectOrdinals.values(fromMs, token) as [Uint8Array][];
    return row?.[0];
  }

  function ordinalsOf(block: StoredBlock, token: string): Uint8Array | undefined {
    const key = `${block.buildId} ${token}`;
    const cached = cache.get(key);
    if (cached) return cached;
    const ordinals = readOrdinals(block, token);
    if (ordinals) cache.set(key, ordinals);
    return ordinals;
  }

  return {
    /** The usable blocks that overlap a range, in order. */
    *between(fromMs: number, toMs: number, order: "asc" | "desc"): Generator<StoredBlock> {
      let [low, high] = [fromMs, toMs];
      for (let count = listedFirst; ; count = Math.min(count * 4, listedMax)) {
        const blocks = selectBlocks[order].all(low, high, count);
        for (const { events, added, ...block } of blocks) {
          // Skip blocks that are unfinished, too large to have tokens (build-blocks.ts), or changed too much.
          if (events && !isChangedTooMuch({ ...block, added })) yield { ...block, events };
        }
        const last = blocks.at(-1);
        if (!last || blocks.length < count) return;
        if (order === "asc") low = last.toMs;
        else high = last.fromMs;
      }
    },

    withAny: (block: StoredBlock, tokens: string[]): WithAny =>
      withAny(tokens, block.events, (token) => ordinalsOf(block, token)),

    withNumber: (block: StoredBlock, condition: NumberCondition): Bits | null | undefined =>
      // Buckets are large and seldom read again, so they are not cached.
      ordinalsWithNumber(condition, block.events, (token) =>
        isNumberBucket(token) ? readOrdinals(block, token) : ordinalsOf(block, token),
      ),

    withMembers: ({ fromMs, events }: StoredBlock, condition: MembersCondition): Bits | null | undefined =>
      ordinalsOfMembers(condition, events, (name) => {
        const [row] = selectColumn.values(fromMs, condition.projectId, name) as [Uint8Array][];
        return row?.[0];
      }),

    /** Returns a function that finds a block's events. It is fastest for ordinals that are close to one another. */
    positionsOf({ fromMs }: Block): (ordinal: number) => BlockPosition {
      let row: Timestamps = { first: 0, ms: new Float64Array() };
      return (ordinal) => {
        if (ordinal < row.first || ordinal >= row.first + row.ms.length) {
          row = timestampsIn(selectTimestamps.get(fromMs, ordinal)!);
        }
        const ms = row.ms[ordinal - row.first]!;
        const firstOfMs = ordinalFrom(row, ms);
        // The millisecond can begin before this row of timestamps.
        const startsEarlier = firstOfMs === row.first && row.first > 0;
        return { ms, index: startsEarlier ? null : ordinal - firstOfMs };
      };
    },

    /** The milliseconds of a block's events. */
    timestampsOf: ({ fromMs, events }: Block): Float64Array =>
      allTimestampsIn(selectAllTimestamps.all(fromMs), events),

    ordinalAt({ fromMs, events }: Block, ms: number): number {
      const row = selectTimestampsBefore.get(fromMs, ms);
      if (!row) return 0;
      return Math.min(ordinalFrom(timestampsIn(row), ms), events);
    },

    /** The row keys of events that were stored or removed after a block was begun, in order. */
    changesIn({ fromMs, toMs, changed }: Block): [ms: number, sequence: number][] {
      if (changed === 0) return [];
      return selectChanges.values(rowKeyAt(fromMs), rowKeyAt(toMs)) as [number, number][];
    },
  };
}
