import { type Condition, membersIn, numbersIn } from "../../event/match.ts";
import type { MsRange } from "../block.ts";
import { type BlockCount, countIn } from "../block-count.ts";
import type { Buckets } from "../histogram.ts";
import type { Blocks, StoredBlock } from "./blocks.ts";
import { tokensOf, weightOf } from "./prune-blocks.ts";

/** A block's count, or a range of time for which the index must be asked. */
export type RangeCount = { count: BlockCount<StoredBlock>; range: null } | { count: null; range: MsRange };

type CountBlocksQuery = {
  projectId: number;
  condition: Condition;
  /** Tokens of the split's values. */
  tokens: string[];
  buckets: Buckets;
};

/** Blocks, and pairs of blocks and tokens, that one query reads. */
const chunkMax = 64;
const pairsMax = 4_096;

/** Divides a range, in order, into blocks that can count the exact matches and the time between them. */
export function createCountBlocks(blocks: Blocks) {
  return async function* countBlocks(
    { projectId, condition, tokens, buckets }: CountBlocksQuery,
    range: MsRange,
  ): AsyncGenerator<RangeCount> {
    const all = [...new Set([...tokensOf(condition), ...tokens])];
    const size = Math.max(1, Math.min(chunkMax, Math.floor(pairsMax / weightOf(condition, all))));
    let doneMs = range.fromMs;
    for await (const listed of blocks.between(projectId, range, "asc")) {
      for (let at = 0; at < listed.length; at += size) {
        const chunk = listed.slice(at, at + size);
        const [reader, ordinalAt] = await Promise.all([
          blocks.read(chunk, all, {
            numbers: numbersIn(condition),
            members: membersIn(condition),
          }),
          blocks.readOrdinals(chunk.flatMap((block) => boundariesIn(block, range, buckets))),
        ]);
        if (ordinalAt === null) continue;
        for (const block of chunk) {
          const count = countIn(block, { ...reader, ordinalAt }, condition, range, buckets);
          if (!count) continue;
          const { fromMs, toMs } = count.range;
          if (doneMs < fromMs) yield { count: null, range: { fromMs: doneMs, toMs: fromMs } };
          yield { count, range: null };
          doneMs = toMs;
        }
      }
    }
    if (doneMs < range.toMs) yield { count: null, range: { fromMs: doneMs, toMs: range.toMs } };
  };
}

/** The timestamps within a block where the range or a bucket begins or ends. */
function boundariesIn(
  block: StoredBlock,
  { fromMs, toMs }: MsRange,
  buckets: Buckets,
): { block: StoredBlock; ms: number }[] {
  const boundaries: { block: StoredBlock; ms: number }[] = [];
  if (fromMs > block.fromMs) boundaries.push({ block, ms: fromMs });
  for (let ms = Math.max(fromMs, block.fromMs); ; ) {
    ms = Math.min(buckets.endOf(ms), toMs);
    if (ms >= block.toMs) return boundaries;
    boundaries.push({ block, ms });
    if (ms === toMs) return boundaries;
  }
}
