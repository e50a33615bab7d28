import type { Database } from "bun:sqlite";
import { changedMsMaxOf, isChangedTooMuch, unsettledMs } from "../block.ts";
import { BlockBuilder, type BlockRow } from "../block-builder.ts";
import { Steps } from "../steps.ts";
import type { Bodies } from "./bodies.ts";
import { rowKeyAt } from "./row-key.ts";
import type { BlockRange, BlockStep } from "./write-blocks.ts";

/** Events per block; a few more if many are in the last millisecond. */
export const blockEventsUsual = 65_536;
/**
 * The newest events first get small blocks, this many to a block, which are merged later: numbers of events without
 * blocks are found by reading them all.
 */
const partsOfBlock = 8;
/**
 * A block this many times too large, because of one millisecond, stores no tokens: building it would take too much
 * memory.
 */
const oversizeFactor = 4;
/** Events read at a time: less than a millisecond. A step can end between any two, as some have hundreds of words. */
const readEvents = 50;
/** Events that one step only counts: a few milliseconds of the reader's time. */
const countStepEvents = 4_000;

type KnownBlock = BlockRange & { events: number | null; changed: number; added: number; begunAt: number };
/** Steps for the writer. Null is a pause. */
type WriterSteps = Generator<BlockStep | null>;

/** The steps to build all missing blocks, newest first, and to rebuild changed ones. */
export function createBuildBlocks(database: Database, blockEvents: number, bodies: Bodies) {
  const partEvents = Math.ceil(blockEvents / partsOfBlock);
  const selectBlocks = database.prepare<KnownBlock, []>(
    "SELECT from_ms AS fromMs, to_ms AS toMs, events, changed, added, begun_at AS begunAt FROM blocks ORDER BY from_ms DESC",
  );
  const selectBegun = database.prepare<{ changed: number; added: number }, [number]>(
    "SELECT changed, added FROM blocks WHERE from_ms = ?1 AND events IS NULL",
  );
  const selectWithoutColumns = database.prepare<{ fromMs: number }, []>(
    `SELECT from_ms AS fromMs FROM blocks
     WHERE events > 0 AND NOT EXISTS (SELECT 1 FROM block_columns WHERE block_columns.from_ms = blocks.from_ms)
     ORDER BY from_ms DESC LIMIT 1`,
  );
  const selectTotal = database.prepare<{ events: number }, []>(
    "SELECT coalesce(sum(events), 0) AS events FROM channels",
  );
  const selectUp = database.prepare<{ rowKey: bigint }, [bigint, bigint, number]>(
    "SELECT row_key AS rowKey FROM events WHERE row_key >= ?1 AND row_key < ?2 ORDER BY row_key LIMIT 1 OFFSET ?3",
  );
  const selectDown = database.prepare<{ rowKey: bigint }, [bigint, bigint, number]>(
    "SELECT row_key AS rowKey FROM events WHERE row_key >= ?1 AND row_key < ?2 ORDER BY row_key DESC LIMIT 1 OFFSET ?3",
  );
  for (const statement of [selectUp, selectDown]) statement.safeIntegers(true);
  const selectRows = database.prepare(
    `SELECT row_key >> 21, row_key & 2097151, project_id, body FROM events
     WHERE row_key >= ?1 AND row_key < ?2 ORDER BY row_key LIMIT ?3`,
  );

  return function* steps(nowMs: number): WriterSteps {
    let isBusy = false;
    for (;;) {
      const blocks = selectBlocks.all();
      const unusable = blocks.find((block) => block.events === null || isChangedTooMuch(block));
      if (unusable) {
        yield { kind: "retire", fromMs: unusable.fromMs };
        continue;
      }
      const range = yield* nextRange(blocks, nowMs - unsettledMs, isBusy);
      if (range) {
        // While so much arrives, a small block would have to be merged at once.
        isBusy = true;
        yield* buildBlock(range, nowMs);
        continue;
      }
      const parts = partsIn(blocks);
      for (const { fromMs } of parts) yield { kind: "retire", fromMs };
      if (parts.length > 0) continue;
      const outdated =
        selectWithoutColumns.get() ??
        blocks.find(({ changed, begunAt }) => changed > 0 && begunAt < nowMs - changedMsMaxOf(changed));
      if (!outdated) return;
      yield { kind: "retire", fromMs: outdated.fromMs };
    }
  };

  /** The newest range without a block that is ready for one, or null. */
  function* nextRange(
    blocks: KnownBlock[],
    settledMs: number,
    isBusy: boolean,
  ): Generator<null, BlockRange | null> {
    // An estimate that errs on the high side: it treats every change to a block as a removal.
    const inBlocks = blocks.reduce((sum, { events, changed }) => sum + events! - changed, 0);
    const uncovered = selectTotal.get()!.events - inBlocks;
    const newest = blocks[0];
    if (!newest) return uncovered < blockEvents ? null : yield* downward({ fromMs: 0, toMs: settledMs });
    if (uncovered >= partEvents) {
      const range = { fromMs: newest.toMs, toMs: settledMs };
      const last = yield* nth(range, "up", blockEvents);
      if (last !== null) return { ...range, toMs: last + 1 };
      if (!isBusy && (yield* nth(range, "up", partEvents)) !== null) return range;
    }
    for (const [index, { fromMs: toMs }] of blocks.entries()) {
      const fromMs = blocks[index + 1]?.toMs ?? 0;
      const range = fromMs < toMs ? yield* downward({ fromMs, toMs }) : null;
      if (range) return range;
    }
    return null;
  }

  /** The newest small blocks, once there are enough of them for a whole block. */
  function partsIn(blocks: KnownBlock[]): KnownBlock[] {
    const end = blocks.findIndex(({ events }) => events! >= blockEvents / 2);
    const parts = end < 0 ? blocks : blocks.slice(0, end);
    const events = parts.reduce((sum, part) => sum + part.events!, 0);
    return parts.length > 1 && events >= blockEvents ? parts : [];
  }

  /** The range's last events, enough for a block, or all of it if that is not much more; null if it has none. */
  function* downward(range: BlockRange): Generator<null, BlockRange | null> {
    if ((yield* nth(range, "down", 1)) === null) return null;
    if ((yield* nth(range, "down", Math.ceil(blockEvents * 1.5))) === null) return range;
    return { ...range, fromMs: (yield* nth(range, "down", blockEvents))! };
  }

  /** The millisecond of the nth event from one end of a range; null if there are fewer. */
  function* nth(
    { fromMs, toMs }: BlockRange,
    direction: "up" | "down",
    n: number,
  ): Generator<null, number | null> {
    let [low, high] = [rowKeyAt(fromMs), rowKeyAt(toMs)];
    for (let left = n; ; left -= countStepEvents) {
      const step = Math.min(left, countStepEvents);
      const row = (direction === "up" ? selectUp : selectDown).get(low, high, step - 1);
      if (!row) return null;
      if (left === step) return Number(row.rowKey >> 21n);
      if (direction === "up") low = row.rowKey + 1n;
      else high = row.rowKey;
      yield null;
    }
  }

  /** Ends early if the block was retired, because some of its events were erased, or changed too much. */
  function* buildBlock(range: BlockRange, nowMs: number): WriterSteps {
    const { fromMs, toMs } = range;
    const isRetired = () => {
      const block = selectBegun.get(fromMs);
      return !block || isChangedTooMuch(block);
    };
    yield { kind: "begin", range, nowMs };
    if ((yield* nth(range, "up", blockEvents * oversizeFactor)) !== null) {
      yield { kind: "end", fromMs, events: 0 };
      return;
    }
    const builder = new BlockBuilder();
    const steps = new Steps();
    for (let low = rowKeyAt(fromMs); ; ) {
      const rows = bodies.reading(() => {
        const rows = selectRows.values(low, rowKeyAt(toMs), readEvents) as BlockRow[];
        for (const row of rows) row[3] = bodies.of(row[3]);
        return rows;
      });
      for (const row of rows) {
        builder.add(row);
        if (!steps.isOver) continue;
        yield null;
        if (isRetired()) return;
        steps.begin();
      }
      const last = rows.at(-1);
      if (!last || rows.length < readEvents) break;
      low = rowKeyAt(last[0], last[1]) + 1n;
    }
    for (const part of builder.parts()) {
      if (isRetired()) return;
      yield part && { kind: "keep", fromMs, ...part };
    }
    if (isRetired()) return;
    yield { kind: "end", fromMs, events: builder.events };
  }
}
