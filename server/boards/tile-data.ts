import type { Event } from "../event/event.ts";
import { filterOf } from "../event/event-query.ts";
import { type Progress, stepOf } from "../http/progress.ts";
import { findInsight, insightPoints } from "../insights/insights.ts";
import { limits } from "../limits.ts";
import { problem } from "../problems.ts";
import { bucketStarts } from "../stats/buckets.ts";
import { splitOf } from "../stats/filters.ts";
import { funnelOf } from "../stats/funnel.ts";
import type { CountQuery } from "../storage/event-queries.ts";
import type { Store } from "../storage/store.ts";
import type { Tile, TileOf } from "../wire/tile.ts";
import type { TileData, TileDataOf } from "../wire/tile-data.ts";
import { bucketsOf, type Range, rangeBefore } from "./range.ts";

type Source = Pick<Store, "events" | "control">;
type Measured = Extract<Tile, { metric: string }>;

/** Computes a tile. Throws `query-too-expensive` if a split has too many values. */
export async function tileData(
  source: Source,
  projectId: number,
  tile: Tile,
  range: Range,
  progress: Progress,
): Promise<TileData> {
  switch (tile.type) {
    case "number":
      return numberData(source, projectId, tile, range, progress);
    case "line":
    case "area":
    case "bar":
      return chartData(source, projectId, tile, range, progress);
    case "table":
      return tableData(source, projectId, tile, range, progress);
    case "funnel":
      return funnelData(source, projectId, tile, range, progress);
    case "retention":
      return retentionData(source, projectId, tile, range, progress);
    case "feed":
      return feedData(source, projectId, tile, range, progress);
    case "value":
      return valueData(source, projectId, tile, range);
    case "text":
      return { type: "text" };
  }
}

async function numberData(
  source: Source,
  projectId: number,
  tile: TileOf<"number">,
  range: Range,
  progress: Progress,
): Promise<TileDataOf<"number">> {
  const { by, starts, bounds } = bucketsOf(range);
  const [first, second] = stepsOf(progress, range);
  const { all, total } = await measure(source, projectId, tile, bounds, first);
  return {
    type: "number",
    ...timesOf(range),
    by,
    starts: starts.map(isoOf),
    value: total,
    values: all,
    ...(range.compares && {
      before: (await measure(source, projectId, tile, boundsBefore(range), second)).total,
    }),
  };
}

async function chartData(
  source: Source,
  projectId: number,
  tile: TileOf<"line" | "area" | "bar">,
  range: Range,
  progress: Progress,
): Promise<TileDataOf<"line" | "area" | "bar">> {
  const { by, starts, bounds } = bucketsOf(range);
  const [first, second] = stepsOf(progress, range);
  const { all, total, series, rest } = await measure(source, projectId, tile, bounds, first, tile);
  const span = range.toMs - range.fromMs;
  const earlier = bounds.map((ms) => ms - span);
  const before = range.compares && (await measure(source, projectId, tile, earlier, second));
  return {
    type: tile.type,
    ...timesOf(range),
    by,
    starts: starts.map(isoOf),
    series: tile.split === undefined ? [{ value: null, total, values: all }] : [...series, ...rest],
    total,
    ...(before && { before: { total: before.total, values: before.all } }),
  };
}

async function tableData(
  source: Source,
  projectId: number,
  tile: TileOf<"table">,
  range: Range,
  progress: Progress,
): Promise<TileDataOf<"table">> {
  const [first, second] = stepsOf(progress, range);
  const { series, rest, total } = await measure(
    source,
    projectId,
    tile,
    [range.fromMs, range.toMs],
    first,
    tile,
  );
  const before =
    range.compares &&
    (await measure(source, projectId, tile, boundsBefore(range), second, {
      ...tile,
      limit: limits.statsSeries,
    }));
  // Of no events there are none, but their average is unknown.
  const missing = ["average", "minimum", "maximum"].includes(tile.metric) ? null : 0;
  const earlier = new Map(before ? before.series.map((each) => [each.value, each.total]) : []);
  return {
    type: "table",
    ...timesOf(range),
    rows: [...series, ...rest].map((row) => ({
      value: row.value,
      total: row.total,
      ...(before && row.value !== null && { before: earlier.get(row.value) ?? missing }),
    })),
    total,
  };
}

async function funnelData(
  { events }: Source,
  projectId: number,
  { steps, windowSeconds, split }: TileOf<"funnel">,
  range: Range,
  progress: Progress,
): Promise<TileDataOf<"funnel">> {
  const [first, second] = stepsOf(progress, range);
  const compute = ({ fromMs, toMs }: Range, isSplit: boolean, progress: Progress) =>
    events.funnel(
      {
        projectId,
        range: { fromMs, toMs },
        steps: steps.map((q) => filterOf({ q }, [])),
        windowMs: windowSeconds * 1_000,
        ...(isSplit && split !== undefined && { split: splitOf(split) }),
        series: limits.tileSeries,
      },
      progress,
    );
  const isSplit = split !== undefined;
  return {
    type: "funnel",
    ...timesOf(range),
    ...funnelOf(await compute(range, true, first), isSplit),
    ...(range.compares && {
      before: funnelOf(await compute(rangeBefore(range), false, second), false).steps,
    }),
  };
}

async function retentionData(
  { events }: Source,
  projectId: number,
  { q, again }: TileOf<"retention">,
  range: Range,
  progress: Progress,
): Promise<TileDataOf<"retention">> {
  const starts = bucketStarts("week", range.timeZone, range.fromMs, range.toMs);
  if (starts.length > limits.retentionPeriods)
    throw problem("query-invalid", {
      detail: `Retention is computed for at most ${limits.retentionPeriods} weeks. Use a shorter range.`,
    });
  const cohorts = await events.retention(
    {
      projectId,
      bounds: [range.fromMs, ...starts.slice(1), range.toMs],
      start: filterOf({ q }, []),
      return: filterOf({ q: again }, []),
    },
    progress,
  );
  return {
    type: "retention",
    ...timesOf(range),
    starts: starts.map(isoOf),
    cohorts,
    users: sum(cohorts.map(({ users }) => users)),
  };
}

async function feedData(
  { events }: Source,
  projectId: number,
  { q }: TileOf<"feed">,
  { fromMs, toMs }: Range,
  progress: Progress,
): Promise<TileDataOf<"feed">> {
  const filter = { ...filterOf({ q }, []), fromMs, toMs };
  const page = await events.page({ projectId, filter, order: "desc" }, limits.feedRows, progress.signal);
  return {
    type: "feed",
    events: page.events.map((json) => {
      const { id, name, channelId, icon, createdAt, userId } = JSON.parse(json) as Event;
      return { id, name, channelId, createdAt, userId, ...(icon !== undefined && { icon }) };
    }),
  };
}

async function valueData(
  { control }: Source,
  projectId: number,
  { key }: TileOf<"value">,
  range: Range,
): Promise<TileDataOf<"value">> {
  return {
    type: "value",
    ...timesOf(range),
    insight: await findInsight(control, projectId, key),
    points: await insightPoints(control, projectId, key, range.fromMs, range.toMs),
  };
}

type Series = { value: string | null; total: number | null; values: (number | null)[] };
type Measurement = {
  /** One for each bucket. */
  all: (number | null)[];
  total: number | null;
  /** Of a split: its largest values, and the others together if there are any. */
  series: Series[];
  rest: Series[];
};

/** Computes a tile's metric for each bucket, in all and for the largest values of its split. */
async function measure(
  { events }: Source,
  projectId: number,
  { q, metric, tag }: Measured,
  bounds: number[],
  progress: Progress,
  { split: by, limit }: { split?: string | undefined; limit: number } = { limit: 1 },
): Promise<Measurement> {
  const split = by === undefined ? undefined : splitOf(by);
  const query = { projectId, filter: filterOf({ q }, []), bounds, series: limit };
  if (metric === "events") return countEvents(events, { ...query, ...(split && { split }) });
  const { all, series, rest } = await events.measure({ ...query, metric, tag, split }, progress);
  return {
    all: all.values,
    total: all.overall,
    series: series.map(({ value, values, overall }) => ({ value, total: overall, values })),
    rest: rest ? [{ value: null, total: rest.overall, values: rest.values }] : [],
  };
}

async function countEvents(events: Store["events"], query: CountQuery): Promise<Measurement> {
  const counts = await events.count(query);
  if (!counts)
    throw problem("query-too-expensive", {
      detail: `The split has more than ${limits.statsSplitValues.toLocaleString("en")} values in this range. Use a shorter range, or a search that finds fewer events.`,
    });
  const { all, series } = counts;
  const left = all.map((count, bucket) => series.reduce((rest, { counts }) => rest - counts[bucket]!, count));
  const rest = sum(left);
  return {
    all,
    total: sum(all),
    series: series.map(({ value, counts }) => ({ value, total: sum(counts), values: counts })),
    rest: rest > 0 ? [{ value: null, total: rest, values: left }] : [],
  };
}

/** The progress of the range itself, and of the one before if they are compared. */
function stepsOf(progress: Progress, { compares }: Range): [Progress, Progress] {
  const end = compares ? 0.5 : 1;
  return [stepOf(progress, 0, end), stepOf(progress, end, 1)];
}

function boundsBefore(range: Range): number[] {
  const { fromMs, toMs } = rangeBefore(range);
  return [fromMs, toMs];
}

function timesOf({ fromMs, toMs, timeZone }: Range) {
  return { from: isoOf(fromMs), to: isoOf(toMs), timeZone };
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

function sum(counts: number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
