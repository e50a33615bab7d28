import type { Database } from "bun:sqlite";
import type { Condition } from "../match.ts";
import type { Buckets } from "../tally.ts";
import { type Bits, countBits } from "./bits.ts";
import type { Block, Blocks } from "./blocks.ts";
import { and, evaluate } from "./evaluate.ts";
import type { MsRange } from "./narrow.ts";

/** Adds events to a bucket. */
type Add = (bucket: number, events: number) => void;

/** Something that was counted in a block, bucket by bucket. */
type Share = { bucket: number; from: number; to: number };

/** The events of a block that a query finds. */
export class BlockCount {
  /** What of the block is counted. */
  readonly range: MsRange;
  readonly #block: Block;
  readonly #blocks: Blocks;
  readonly #found: Bits | null;
  readonly #shares: Share[];

  constructor(range: MsRange, block: Block, blocks: Blocks, found: Bits | null, shares: Share[]) {
    this.range = range;
    this.#block = block;
    this.#blocks = blocks;
    this.#found = found;
    this.#shares = shares;
  }

  /** Counts them all; gives how many it was. */
  count(add: Add): number {
    return this.#count(this.#found, add);
  }

  /** Counts those that have a token as well; null where the digest does not know it. */
  countWith(token: string, add: Add): number | null {
    const { bits } = this.#blocks.withAny(this.#block, [token]);
    return bits === null ? null : this.#count(and(bits, this.#found), add);
  }

  #count(bits: Bits | null, add: Add): number {
    if (bits === null) return 0;
    let all = 0;
    for (const { bucket, from, to } of this.#shares) {
      const events = countBits(bits, from, to);
      if (events > 0) add(bucket, events);
      all += events;
    }
    return all;
  }
}

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
      take: (count: BlockCount) => void,
    ): { before: MsRange | null; nextMs: number } => {
      for (const block of blocks.between(range.fromMs, range.toMs, "asc")) {
        // What went is still in the digest.
        if (block.changed > 0) continue;
        const { without, most, unknown, unknownLeft, isVague } = evaluate(query, block, blocks);
        if (most !== null && (isVague || unknown.length + unknownLeft.length > 0)) continue;
        const fromMs = Math.max(block.fromMs, range.fromMs);
        const toMs = Math.min(block.toMs, range.toMs);
        const shares = most === null ? [] : sharesOf(block, { fromMs, toMs }, buckets, blocks);
        take(new BlockCount({ fromMs, toMs }, block, blocks, without, shares));
        return {
          before: range.fromMs < fromMs ? { fromMs: range.fromMs, toMs: fromMs } : null,
          nextMs: toMs,
        };
      }
      return { before: range, nextMs: range.toMs };
    },
  );
}

/** Which of a block's ordinals are in which bucket. */
function sharesOf(block: Block, { fromMs, toMs }: MsRange, buckets: Buckets, blocks: Blocks): Share[] {
  const shares: Share[] = [];
  let from = fromMs === block.fromMs ? 0 : blocks.ordinalAt(block, fromMs);
  for (let ms = fromMs; ms < toMs; ) {
    const endMs = Math.min(buckets.endOf(ms), toMs);
    const to = endMs === block.toMs ? block.events : blocks.ordinalAt(block, endMs);
    if (from < to) shares.push({ bucket: buckets.of(ms), from, to });
    from = to;
    ms = endMs;
  }
  return shares;
}
