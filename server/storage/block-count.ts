import type { Condition } from "../event/match.ts";
import type { Term } from "../event/tokens.ts";
import { type Bits, countBits } from "./bits.ts";
import type { Block, Digests } from "./block.ts";
import type { Range } from "./counter-ranges.ts";
import { and, evaluate } from "./evaluate.ts";
import type { Buckets, Histogram } from "./histogram.ts";

/** Adds events to a bucket. */
type Add = (bucket: number, events: number) => void;

/** Something that was counted in a block, bucket by bucket. */
type Share = { bucket: number; from: number; to: number };

/** The events of a block that a query finds. */
export class BlockCount<Of extends Block = Block> {
  /** What of the block is counted. */
  readonly range: Range;
  readonly #block: Of;
  readonly #blocks: Digests<Of>;
  readonly #found: Bits | null;
  readonly #shares: Share[];

  constructor(range: Range, block: Of, blocks: Digests<Of>, found: Bits | null, shares: Share[]) {
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

  /** Counts them all, and those of each term, of which an event has one at most; gives the places of the terms that are still to be sought. */
  split(terms: readonly Term[], tally: Histogram, add: Add): number[] {
    let rest = this.count(add);
    const unknown: number[] = [];
    for (const [index, { token, text }] of terms.entries()) {
      const found = this.countWith(token, (bucket, events) => tally.add(text, bucket, events));
      if (found === null) unknown.push(index);
      else rest -= found;
    }
    // Where all are told apart, no other term is there.
    return rest > 0 ? unknown : [];
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

/** Counts in a block what a query finds in a range; null where its digest does not tell that exactly. */
export function countIn<Of extends Block>(
  block: Of,
  blocks: Digests<Of>,
  query: Condition,
  range: Range,
  buckets: Buckets,
): BlockCount<Of> | null {
  // What went is still in the digest.
  if (block.changed > 0) return null;
  const { without, most, unknown, unknownLeft, isVague } = evaluate(query, block, blocks);
  if (most !== null && (isVague || unknown.length + unknownLeft.length > 0)) return null;
  const fromMs = Math.max(block.fromMs, range.fromMs);
  const toMs = Math.min(block.toMs, range.toMs);
  const shares = most === null ? [] : sharesOf(block, { fromMs, toMs }, buckets, blocks);
  return new BlockCount({ fromMs, toMs }, block, blocks, without, shares);
}

/** Which of a block's ordinals are in which bucket. */
function sharesOf<Of extends Block>(
  block: Of,
  { fromMs, toMs }: Range,
  buckets: Buckets,
  blocks: Digests<Of>,
): Share[] {
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
