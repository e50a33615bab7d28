import type { Database } from "bun:sqlite";
import type { Condition } from "../../event/match.ts";
import type { MsRange } from "../block.ts";
import { type BlockCount, countIn } from "../block-count.ts";
import type { Buckets } from "../histogram.ts";
import type { Blocks, StoredBlock } from "./blocks.ts";

export function createCountNext(database: Database, blocks: Blocks) {
  /**
   * Counts the next block of a range that can tell the exact number of matches. Returns where to continue, and the time
   * before the block, for which the index must be asked. It is one transaction, because blocks are rebuilt at the same
   * time.
   */
  return database.transaction(
    (
      query: Condition,
      range: MsRange,
      buckets: Buckets,
      take: (count: BlockCount<StoredBlock>) => void,
    ): { before: MsRange | null; nextMs: number } => {
      for (const block of blocks.between(range.fromMs, range.toMs, "asc")) {
        const count = countIn(block, blocks, query, range, buckets);
        if (!count) continue;
        take(count);
        const { fromMs, toMs } = count.range;
        return {
          before: range.fromMs < fromMs ? { fromMs: range.fromMs, toMs: fromMs } : null,
          nextMs: toMs,
        };
      }
      return { before: range, nextMs: range.toMs };
    },
  );
}
