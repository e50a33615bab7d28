import type { Condition } from "../../event/match.ts";
import { type BlockCount, countIn } from "../block-count.ts";
import type { Range } from "../counter-ranges.ts";
import type { Buckets } from "../histogram.ts";
import type { Blocks, StoredBlock } from "./blocks.ts";
import { tokensOf } from "./prune-blocks.ts";

/** What a digest counts, or a range of time about which the index is to be asked. */
export type Counted = { count: BlockCount<StoredBlock>; range: null } | { count: null; range: Range };

type Question = {
  projectId: number;
  condition: Condition;
  /** Tokens by which what is found is told apart. */
  tokens: string[];
  buckets: Buckets;
};

/** Blocks that are counted together, and pairs of blocks and tokens. */
const chunkMax = 64;
const pairsMax = 4_096;

/** Makes the function that goes through a range, in order: blocks whose digests tell exactly what a query finds, and what lies between. */
export function createCountDigested(blocks: Blocks) {
  return async function* counted(
    { projectId, condition, tokens, buckets }: Question,
    range: Range,
  ): AsyncGenerator<Counted> {
    const all = [...new Set([...tokensOf(condition), ...tokens])];
    const size = Math.max(1, Math.min(chunkMax, Math.floor(pairsMax / (all.length + 1))));
    let doneMs = range.fromMs;
    for await (const listed of blocks.between(projectId, range, "asc")) {
      for (let at = 0; at < listed.length; at += size) {
        const chunk = listed.slice(at, at + size);
        const [digests, ordinalAt] = await Promise.all([
          blocks.read(chunk, all),
          blocks.readOrdinals(chunk.flatMap((block) => endsIn(block, range, buckets))),
        ]);
        if (ordinalAt === null) continue;
        for (const block of chunk) {
          const count = countIn(block, { ...digests, ordinalAt }, condition, range, buckets);
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

/** The moments within a block where what is counted begins or ends, or a bucket does. */
function endsIn(
  block: StoredBlock,
  { fromMs, toMs }: Range,
  buckets: Buckets,
): { block: StoredBlock; ms: number }[] {
  const ends: { block: StoredBlock; ms: number }[] = [];
  if (fromMs > block.fromMs) ends.push({ block, ms: fromMs });
  for (let ms = Math.max(fromMs, block.fromMs); ; ) {
    ms = Math.min(buckets.endOf(ms), toMs);
    if (ms >= block.toMs) return ends;
    ends.push({ block, ms });
    if (ms === toMs) return ends;
  }
}
