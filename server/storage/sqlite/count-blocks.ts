import type { Database } from "bun:sqlite";
import type { Condition } from "../../event/match.ts";
import { type BlockCount, countIn } from "../block-count.ts";
import type { Buckets } from "../histogram.ts";
import type { Blocks, StoredBlock } from "./blocks.ts";
import type { MsRange } from "./prune-blocks.ts";

/** Makes the function that counts in digests. */
export function createCountNext(database: Database, blocks: Blocks) {
  /**
   * Counts the next block of a range whose digest tells exactly what a query finds; gives where to go on, and the time before that
   * about which the index is to be asked. In one transaction: digests are made anew meanwhile.
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
