import type { Database } from "bun:sqlite";
import { changedMax, changedMsMax, unsettledMs } from "../block.ts";
import { BlockBuilder, type BlockRow } from "../block-builder.ts";
import { rowKeyAt } from "./row-key.ts";
import type { BlockRange, BlockStep } from "./write-blocks.ts";

/** Events of a block; a few more where many happened in the same millisecond. */
export const blockEventsUsual = 65_536;
/** A block of more than so many times as many, which happened in one millisecond, has no digest: to make it would take too much memory. */
const largerMax = 4;
/** Events that a step reads, and that a step only counts: a few milliseconds of the reader's time. */
const readEvents = 500;
const countedEvents = 4_000;

type KnownBlock = BlockRange & { events: number | null; changed: number; begunAt: number };
/** Steps that are to be taken on the writer; null stands for a rest. */
type Steps = Generator<BlockStep | null>;

/** Makes the steps by which blocks are digested: the newest first, until all is done that there is to do. */
export function createBuildBlocks(database: Database, blockEvents: number) {
  const selectBlocks = database.prepare<KnownBlock, []>(
    `SELECT from_ms AS fromMs, to_ms AS toMs, events, changed, begun_at AS begunAt FROM blocks ORDER BY from_ms DESC`,
  );
  const selectTotal = database.prepare<{ events: number }, []>(
    "SELECT coalesce(sum(events), 0) AS events FROM channels",
  );
  const selectUp = database.prepare<{ position: bigint }, [bigint, bigint, number]>(
    "SELECT position FROM events WHERE position >= ?1 AND position < ?2 ORDER BY position LIMIT 1 OFFSET ?3",
  );
  const selectDown = database.prepare<{ position: bigint }, [bigint, bigint, number]>(
    "SELECT position FROM events WHERE position >= ?1 AND position < ?2 ORDER BY position DESC LIMIT 1 OFFSET ?3",
  );
  for (const statement of [selectUp, selectDown]) statement.safeIntegers(true);
  const selectRows = database.prepare(
    `SELECT position >> 21, position & 2097151, project_id, body FROM events
     WHERE position >= ?1 AND position < ?2 ORDER BY position LIMIT ?3`,
  );

  return function* steps(nowMs: number): Steps {
    for (;;) {
      const blocks = selectBlocks.all();
      const useless = blocks.find(({ events, changed }) => events === null || changed > changedMax);
      if (useless) {
        yield { kind: "retire", fromMs: useless.fromMs };
        continue;
      }
      const range = yield* nextRange(blocks, nowMs - unsettledMs);
      if (range) {
        yield* digest(range, nowMs);
        continue;
      }
      const changed = blocks.find(({ changed, begunAt }) => changed > 0 && begunAt < nowMs - changedMsMax);
      if (!changed) return;
      yield { kind: "retire", fromMs: changed.fromMs };
    }
  };

  /** The newest range that waits to be digested, or null. */
  function* nextRange(blocks: KnownBlock[], settledMs: number): Generator<null, BlockRange | null> {
    // An estimate: what came late is in a block, and what went is not; rather too many are looked for than too few.
    const inBlocks = blocks.reduce((sum, { events, changed }) => sum + events! - changed, 0);
    const uncovered = selectTotal.get()!.events - inBlocks;
    const newest = blocks[0];
    if (uncovered >= blockEvents) {
      if (!newest) return yield* downward({ fromMs: 0, toMs: settledMs });
      const last = yield* nth({ fromMs: newest.toMs, toMs: settledMs }, "up", blockEvents);
      if (last !== null) return { fromMs: newest.toMs, toMs: last + 1 };
    }
    for (const [index, { fromMs: toMs }] of blocks.entries()) {
      const fromMs = blocks[index + 1]?.toMs ?? 0;
      const range = fromMs < toMs ? yield* downward({ fromMs, toMs }) : null;
      if (range) return range;
    }
    return null;
  }

  /** The last events of a range, or all of it where there are not many more than a block's; null where there are none. */
  function* downward(range: BlockRange): Generator<null, BlockRange | null> {
    if ((yield* nth(range, "down", 1)) === null) return null;
    if ((yield* nth(range, "down", Math.ceil(blockEvents * 1.5))) === null) return range;
    return { ...range, fromMs: (yield* nth(range, "down", blockEvents))! };
  }

  /** When the nth event from an end of a range happened; null where there are not so many. */
  function* nth({ fromMs, toMs }: BlockRange, way: "up" | "down", n: number): Generator<null, number | null> {
    let [low, high] = [rowKeyAt(fromMs), rowKeyAt(toMs)];
    for (let left = n; ; left -= countedEvents) {
      const step = Math.min(left, countedEvents);
      const row = (way === "up" ? selectUp : selectDown).get(low, high, step - 1);
      if (!row) return null;
      if (left === step) return Number(row.position >> 21n);
      if (way === "up") low = row.position + 1n;
      else high = row.position;
      yield null;
    }
  }

  function* digest(range: BlockRange, nowMs: number): Steps {
    const { fromMs, toMs } = range;
    yield { kind: "begin", range, nowMs };
    if ((yield* nth(range, "up", blockEvents * largerMax)) !== null) {
      yield { kind: "end", fromMs, events: 0 };
      return;
    }
    const draft = new BlockBuilder();
    for (let low = rowKeyAt(fromMs); ; ) {
      const rows = selectRows.values(low, rowKeyAt(toMs), readEvents) as BlockRow[];
      for (const row of rows) draft.add(row);
      const last = rows.at(-1);
      if (!last || rows.length < readEvents) break;
      low = rowKeyAt(last[0], last[1]) + 1n;
      yield null;
    }
    for (const part of draft.parts()) yield part && { kind: "keep", fromMs, ...part };
    yield { kind: "end", fromMs, events: draft.events };
  }
}
