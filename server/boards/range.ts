import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { msOf } from "../event/event-query.ts";
import type { TileRange } from "../schemas/board.ts";
import { type BucketUnit, bucketStarts, timeZoneOf } from "../stats/buckets.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The period that a board shows, in milliseconds since 1970. */
export type Range = {
  fromMs: number;
  toMs: number;
  timeZone: string;
  compares: boolean;
  /** Where the period to compare with begins. It is as long. */
  beforeMs: number;
};

/** Throws `query-invalid` for an empty or too long range. */
export function rangeOf({ from, to, timeZone, compare, before }: TileRange, nowMs: number): Range {
  const toMs = to === undefined ? nowMs : Math.ceil(msOf(to));
  const fromMs = from === undefined ? toMs - 7 * dayMs : Math.ceil(msOf(from));
  if (fromMs >= toMs) throw problem("query-invalid", { detail: '"from" must be before "to".' });
  if (toMs - fromMs > limits.boardRangeDays * dayMs)
    throw problem("query-invalid", {
      detail: `A board shows at most ${limits.boardRangeDays} days. Use a shorter range.`,
    });
  const beforeMs = before === undefined ? fromMs - (toMs - fromMs) : Math.ceil(msOf(before));
  if (beforeMs >= fromMs) throw problem("query-invalid", { detail: '"before" must be before "from".' });
  return { fromMs, toMs, timeZone: timeZoneOf(timeZone), compares: compare === "true", beforeMs };
}

/** The period that a range is compared with. */
export function rangeBefore({ fromMs, toMs, beforeMs, ...range }: Range): Range {
  return { ...range, fromMs: beforeMs, toMs: beforeMs + (toMs - fromMs), beforeMs };
}

/** The unit in which a chart of a range has some dozens of buckets. */
function unitOf({ fromMs, toMs }: Range): BucketUnit {
  const ms = toMs - fromMs;
  if (ms <= 3 * hourMs) return "minute";
  if (ms <= 4 * dayMs) return "hour";
  if (ms <= 120 * dayMs) return "day";
  return ms <= 53 * 7 * dayMs ? "week" : "month";
}

/** The buckets of a range: where each starts, and the bounds to count between. */
export function bucketsOf(range: Range): { by: BucketUnit; starts: number[]; bounds: number[] } {
  const by = unitOf(range);
  const starts = bucketStarts(by, range.timeZone, range.fromMs, range.toMs);
  return { by, starts, bounds: [range.fromMs, ...starts.slice(1), range.toMs] };
}

/**
 * The weeks that a range is in, from the first's start to the last's end or now: a week has the same users in each range
 * that it is in.
 */
export function wholeWeeksOf({ fromMs, toMs, timeZone }: Range): {
  fromMs: number;
  toMs: number;
  starts: number[];
} {
  const starts = bucketStarts("week", timeZone, fromMs, toMs);
  const last = starts.at(-1)!;
  const [, endMs = toMs] = bucketStarts("week", timeZone, last, last + 8 * dayMs);
  return { starts, fromMs: starts[0]!, toMs: Math.max(toMs, Math.min(endMs, Date.now())) };
}
