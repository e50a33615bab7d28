import type { Condition } from "../event/match.ts";
import type { Term } from "../event/tokens.ts";
import { type Bits, countBits } from "./bits.ts";
import type { Block, BlockReader, MsRange } from "./block.ts";
import { and, evaluate } from "./evaluate.ts";
import type { Buckets, Histogram } from "./histogram.ts";

/** Adds events to a bucket. */
type Add = (bucket: number, events: number) => void;

/** The ordinals of a block, from `from` to before `to`, that belong to a bucket. */
type BucketRange = { bucket: number; from: number; to: number };

/** The events of a block that match a query. */
export class BlockCount<Of extends Block = Block> {
  /** The part of the block's time that is counted. */
  readonly range: MsRange;
  readonly #block: Of;
  readonly #reader: BlockReader<Of>;
  readonly #found: Bits | null;
  readonly #bucketRanges: BucketRange[];

  constructor(
    range: MsRange,
    block: Of,
    reader: BlockReader<Of>,
    found: Bits | null,
    bucketRanges: BucketRange[],
  ) {
    this.range = range;
    this.#block = block;
    this.#reader = reader;
    this.#found = found;
    this.#bucketRanges = bucketRanges;
  }

  /** Adds all matches to their buckets and returns their number. */
  count(add: Add): number {
    return this.#count(this.#found, add);
  }

  /** Counts the matches that also have a token; null if the block does not know the token. */
  countWith(token: string, add: Add): number | null {
    const { bits } = this.#reader.withAny(this.#block, [token]);
    return bits === null ? null : this.#count(and(bits, this.#found), add);
  }

  /**
   * Counts all matches, and those of each term; an event has one term at most. Returns the indexes of the terms that
   * the block does not know and that must be looked up elsewhere.
   */
  split(terms: readonly Term[], histogram: Histogram, add: Add): number[] {
    let remaining = this.count(add);
    const unknown: number[] = [];
    for (const [index, { token, text }] of terms.entries()) {
      const found = this.countWith(token, (bucket, events) => histogram.add(text, bucket, events));
      if (found === null) unknown.push(index);
      else remaining -= found;
    }
    // If the known terms cover every match, the block has no other term.
    return remaining > 0 ? unknown : [];
  }

  #count(bits: Bits | null, add: Add): number {
    if (bits === null) return 0;
    let all = 0;
    for (const { bucket, from, to } of this.#bucketRanges) {
      const events = countBits(bits, from, to);
      if (events > 0) add(bucket, events);
      all += events;
    }
    return all;
  }
}

/** Counts a query's matches within a range of a block; null if the block can't tell their exact number. */
export function countIn<Of extends Block>(
  block: Of,
  reader: BlockReader<Of>,
  query: Condition,
  range: MsRange,
  buckets: Buckets,
): BlockCount<Of> | null {
  // A changed block still contains removed events.
  if (block.changed > 0) return null;
  const { ifAbsent, upper, unknown, unknownNegated, isOpen } = evaluate(query, block, reader);
  if (upper !== null && (isOpen || unknown.length + unknownNegated.length > 0)) return null;
  const fromMs = Math.max(block.fromMs, range.fromMs);
  const toMs = Math.min(block.toMs, range.toMs);
  const bucketRanges = upper === null ? [] : bucketRangesOf(block, { fromMs, toMs }, buckets, reader);
  return new BlockCount({ fromMs, toMs }, block, reader, ifAbsent, bucketRanges);
}

function bucketRangesOf<Of extends Block>(
  block: Of,
  { fromMs, toMs }: MsRange,
  buckets: Buckets,
  reader: BlockReader<Of>,
): BucketRange[] {
  const bucketRanges: BucketRange[] = [];
  let from = fromMs === block.fromMs ? 0 : reader.ordinalAt(block, fromMs);
  for (let ms = fromMs; ms < toMs; ) {
    const endMs = Math.min(buckets.endOf(ms), toMs);
    const to = endMs === block.toMs ? block.events : reader.ordinalAt(block, endMs);
    if (from < to) bucketRanges.push({ bucket: buckets.of(ms), from, to });
    from = to;
    ms = endMs;
  }
  return bucketRanges;
}
