import type { Event } from "../../server/event/event.ts";
import type { Stats } from "../../server/schemas/stats.ts";
import { type BucketSize, bucketAt } from "./buckets.ts";

/** The split of the bars: none, or `channel`, `name` or `tag.KEY`. */
export type Split = "" | "channel" | "name" | `tag.${string}`;

/** The split in a URL. `none` means no split. Null if the text is invalid, or makes no sense for one channel. */
export function parseSplit(text: string | undefined, isOneChannel: boolean): Split | null {
  if (text === "none") return "";
  if (text === "name" || (text === "channel" && !isOneChannel)) return text;
  return text !== undefined && /^tag\../s.test(text) ? (text as Split) : null;
}

export type Histogram = {
  size: BucketSize;
  /** In milliseconds since 1970, in order and without gaps. */
  starts: number[];
  endMs: number;
  /** Events before this are counted by the server. */
  countedToMs: number;
  /** A null value is everything, or everything that has no series of its own. */
  series: { value: string | null; total: number; counts: number[] }[];
};

/** Combines the API's buckets into bars. */
export function histogramOf(stats: Stats, size: BucketSize): Histogram {
  const starts: number[] = [];
  const barOf = stats.starts.map((start) => {
    const { startMs } = bucketAt(Date.parse(start), size);
    if (starts.at(-1) !== startMs) starts.push(startMs);
    return starts.length - 1;
  });
  return {
    size,
    starts,
    endMs: bucketAt(starts.at(-1)!, size).endMs,
    countedToMs: Date.parse(stats.to),
    series: stats.series.map(({ value, total, counts }) => {
      const bars = starts.map(() => 0);
      for (const [bucket, count] of counts.entries()) bars[barOf[bucket]!]! += count;
      return { value, total, counts: bars };
    }),
  };
}

/** Series of which one more was asked for: it belongs to the rest, unless it is all of the rest. */
export function withRest(series: Stats["series"], max: number): Stats["series"] {
  const named = series.filter(({ value }) => value !== null);
  const rest = series.find(({ value }) => value === null);
  const last = named[max];
  if (!rest || !last) return series;
  return [
    ...named.slice(0, max),
    {
      ...rest,
      total: rest.total + last.total,
      counts: rest.counts.map((count, bucket) => count + last.counts[bucket]!),
    },
  ];
}

/** The histogram of a time without any events, which has no beginning. */
export function emptyHistogram(toMs: number): Histogram {
  return { size: { by: "minute", step: 1 }, starts: [], endMs: toMs, countedToMs: toMs, series: [] };
}

export function splitValueOf(event: Event, split: Split): string | null {
  if (split === "") return null;
  if (split === "channel") return event.channelId;
  if (split === "name") return event.name;
  const key = split.slice("tag.".length);
  return Object.hasOwn(event.tags, key) ? event.tags[key]! : null;
}

/** Counts events that have arrived. Adds bars up to their time, and leaves out events before the first bar. */
export function withEvents(histogram: Histogram, events: readonly Event[], split: Split): Histogram {
  const { size, series } = histogram;
  if (histogram.starts.length === 0) return histogram;
  const starts = [...histogram.starts];
  let { endMs } = histogram;
  const counted = series.map((each) => ({ ...each, counts: [...each.counts] }));
  for (const event of events) {
    const ms = Date.parse(event.createdAt);
    if (ms < starts[0]!) continue;
    // A date in the future adds no bars between now and then.
    const isFar = ms >= bucketAt(endMs, size).endMs;
    while (ms >= endMs && !isFar) {
      starts.push(endMs);
      ({ endMs } = bucketAt(endMs, size));
      for (const { counts } of counted) counts.push(0);
    }
    if (ms >= endMs) continue;
    const value = splitValueOf(event, split);
    let own = counted.find((each) => each.value === value) ?? counted.find((each) => each.value === null);
    if (!own) {
      own = { value: null, total: 0, counts: starts.map(() => 0) };
      counted.push(own);
    }
    own.counts[starts.findLastIndex((start) => start <= ms)]!++;
    own.total++;
  }
  return { ...histogram, starts, endMs, series: counted };
}
