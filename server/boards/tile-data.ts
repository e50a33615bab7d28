import { countOpenAlerts, listAlerts } from "../alerts/alerts.ts";
import { firstTagsOf } from "../channels/channels.ts";
import { isoOf } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { Event } from "../event/event.ts";
import { filterOf } from "../event/event-query.ts";
import { tagsInOrder } from "../event/tag-order.ts";
import type { Progress } from "../http/progress.ts";
import { findInsight, insightPoints } from "../insights/insights.ts";
import type { Tile, TileOf } from "../schemas/tile.ts";
import type { TileData, TileDataOf } from "../schemas/tile-data.ts";
import { analysisSplitOf } from "../stats/filters.ts";
import { funnelOf } from "../stats/funnel.ts";
import { retentionQueryOf } from "../stats/questions.ts";
import type { CountQuery } from "../storage/event-queries.ts";
import type { Store } from "../storage/store.ts";
import { lifecycleData, stickinessData } from "./activity-data.ts";
import { pathsData } from "./paths-data.ts";
import { bucketsOf, type Range, rangeBefore, wholeWeeksOf } from "./range.ts";
import { sessionsData } from "./sessions-data.ts";
import { type Context, stepsOf, timesOf } from "./tile-context.ts";

type Measured = Extract<Tile, { metric: string }>;

/** Computes a tile. Throws `query-too-expensive` if a split has too many values. */
export async function tileData(tile: Tile, context: Context): Promise<TileData> {
  switch (tile.type) {
    case "number":
      return numberData(tile, context);
    case "line":
    case "area":
    case "bar":
      return chartData(tile, context);
    case "table":
      return tableData(tile, context);
    case "funnel":
      return funnelData(tile, context);
    case "retention":
      return retentionData(tile, context);
    case "sessions":
      return sessionsData(tile, context);
    case "stickiness":
      return stickinessData(tile, context);
    case "lifecycle":
      return lifecycleData(tile, context);
    case "paths":
      return pathsData(tile, context);
    case "feed":
      return feedData(tile, context);
    case "alerts":
      return alertsData(context);
    case "value":
      return valueData(tile, context);
    case "text":
      return { type: "text" };
  }
}

async function numberData(tile: TileOf<"number">, context: Context): Promise<TileDataOf<"number">> {
  const { range, progress } = context;
  const { by, starts, bounds } = bucketsOf(range);
  const [first, second] = stepsOf(progress, range);
  const { all, total } = await measure(tile, context, { bounds, progress: first });
  return {
    type: "number",
    ...timesOf(range),
    by,
    starts: starts.map(isoOf),
    value: total,
    values: all,
    ...(range.compares && {
      before: (await measure(tile, context, { bounds: boundsBefore(range), progress: second })).total,
    }),
  };
}

async function chartData(
  tile: TileOf<"line" | "area" | "bar">,
  context: Context,
): Promise<TileDataOf<"line" | "area" | "bar">> {
  const { range, progress } = context;
  const { by, starts, bounds } = bucketsOf(range);
  const [first, second] = stepsOf(progress, range);
  const { all, total, series, rest } = await measure(tile, context, {
    bounds,
    progress: first,
    splitBy: tile,
  });
  const earlier = bounds.map((ms) => ms - (range.fromMs - range.beforeMs));
  const before = range.compares && (await measure(tile, context, { bounds: earlier, progress: second }));
  return {
    type: tile.type,
    ...timesOf(range),
    by,
    starts: starts.map(isoOf),
    series: tile.split === undefined ? [{ value: null, total, values: all }] : [...series, ...rest],
    total,
    values: all,
    ...(before && { before: { total: before.total, values: before.all } }),
  };
}

async function tableData(tile: TileOf<"table">, context: Context): Promise<TileDataOf<"table">> {
  const { range, progress } = context;
  const [first, second] = stepsOf(progress, range);
  const { series, rest, total } = await measure(tile, context, {
    bounds: [range.fromMs, range.toMs],
    progress: first,
    splitBy: tile,
  });
  // The same values, however few events they had: the largest ones of the period before may be others.
  const values = series.map(({ value }) => value!);
  const before =
    range.compares &&
    (await measure(tile, context, {
      bounds: boundsBefore(range),
      progress: second,
      splitBy: { ...tile, values, limit: Math.max(1, values.length) },
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
  { steps, windowSeconds, split }: TileOf<"funnel">,
  { store: { events }, projectId, range, progress }: Context,
): Promise<TileDataOf<"funnel">> {
  const [first, second] = stepsOf(progress, range);
  const compute = ({ fromMs, toMs }: Range, isSplit: boolean, progress: Progress) =>
    events.funnel(
      {
        projectId,
        range: { fromMs, toMs },
        steps: steps.map((q) => filterOf({ q }, [])),
        windowMs: windowSeconds * 1_000,
        ...(isSplit && split !== undefined && { split: analysisSplitOf(split) }),
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
  { q, again, first = "ever" }: TileOf<"retention">,
  { store: { events }, projectId, range, progress }: Context,
): Promise<TileDataOf<"retention">> {
  const { starts, ...whole } = wholeWeeksOf(range);
  if (starts.length > limits.retentionPeriods)
    throw problem("query-invalid", {
      detail: `Retention is computed for at most ${limits.retentionPeriods} weeks. Use a shorter range.`,
    });
  const query = await retentionQueryOf(events, {
    projectId,
    first,
    range: whole,
    starts,
    start: filterOf({ q }, []),
    return: filterOf({ q: again }, []),
  });
  const cohorts = await events.retention(query, progress);
  return {
    type: "retention",
    ...timesOf({ ...range, ...whole }),
    first,
    starts: starts.map(isoOf),
    cohorts,
    users: sum(cohorts.map(({ users }) => users)),
  };
}

async function feedData(
  { q }: TileOf<"feed">,
  { store: { control, events }, projectId, range: { fromMs, toMs }, progress }: Context,
): Promise<TileDataOf<"feed">> {
  const filter = { ...filterOf({ q }, []), fromMs, toMs };
  const page = await events.page({ projectId, filter, order: "desc" }, limits.feedRows, progress.signal);
  const found = page.events.map((json) => JSON.parse(json) as Event);
  const firstTags = await firstTagsOf(control, projectId, [
    ...new Set(found.map(({ channelId }) => channelId)),
  ]);
  return {
    type: "feed",
    events: found.map(({ id, name, channelId, icon, createdAt, userId, tags }) => ({
      ...{ id, name, channelId, createdAt, userId },
      tags: Object.fromEntries(
        tagsInOrder(tags, firstTags.get(channelId) ?? []).slice(0, limits.feedRowTags),
      ),
      ...(icon !== undefined && { icon }),
    })),
  };
}

async function alertsData({ store: { control }, projectId }: Context): Promise<TileDataOf<"alerts">> {
  const { alerts } = await listAlerts(control, projectId, { state: "open", limit: limits.feedRows });
  return {
    type: "alerts",
    open: await countOpenAlerts(control, projectId),
    alerts: alerts.map(({ id, state, title, rule, urgent, openedAt, acknowledged }) => ({
      ...{ id, state, title, rule: rule.name, urgent, openedAt },
      acknowledgedBy: acknowledged?.by ?? null,
    })),
  };
}

async function valueData(
  { key }: TileOf<"value">,
  { store: { control }, projectId, range }: Context,
): Promise<TileDataOf<"value">> {
  return {
    type: "value",
    ...timesOf(range),
    insight: await findInsight(control, { projectId, key }),
    points: await insightPoints(control, { projectId, key }, range),
  };
}

type Series = { value: string | null; total: number | null; values: (number | null)[] };
type Measurement = {
  /** One for each bucket. */
  all: (number | null)[];
  total: number | null;
  /** Of a split: its largest values, and the others together if there are several. One alone is in `series`. */
  series: Series[];
  rest: Series[];
};

type Measuring = {
  /** Where each bucket begins, and where the last one ends. */
  bounds: number[];
  progress: Progress;
  /** Without it, all events are measured together. */
  splitBy?: { split?: string | undefined; limit: number; values?: string[] };
};

/** Computes a tile's metric for each bucket, in all and for the given or the largest values of its split. */
async function measure(
  { q, metric, tag }: Measured,
  { store: { events }, projectId }: Context,
  { bounds, progress, splitBy: { split: by, limit, values } = { limit: 1 } }: Measuring,
): Promise<Measurement> {
  const split = by === undefined ? undefined : analysisSplitOf(by);
  const query = { projectId, filter: filterOf({ q }, []), bounds, series: limit, values };
  if (metric === "events" && split?.by !== "user")
    return countEvents(events, { ...query, ...(split && { split }) });
  const { all, series, rest } = await events.measure({ ...query, metric, tag, split }, progress);
  const shown = (rest ? [...series, rest] : series).map(({ value, values, overall }) => ({
    value,
    total: overall,
    values,
  }));
  return {
    all: all.values,
    total: all.overall,
    series: shown.filter(({ value }) => value !== null),
    rest: shown.filter(({ value }) => value === null),
  };
}

async function countEvents(events: Store["events"], query: CountQuery): Promise<Measurement> {
  // One more, in case it is all of the rest.
  const counts = await events.count({ ...query, series: query.series + 1 });
  if (!counts)
    throw problem("query-too-expensive", {
      detail: `The split has more than ${limits.statsSplitValues.toLocaleString("en")} values in this range. Use a shorter range, or a search that finds fewer events.`,
    });
  const { all } = counts;
  const isComplete = sum(all) === sum(counts.series.map(({ counts }) => sum(counts)));
  const series = isComplete ? counts.series : counts.series.slice(0, query.series);
  const left = all.map((count, bucket) => series.reduce((rest, { counts }) => rest - counts[bucket]!, count));
  const rest = sum(left);
  return {
    all,
    total: sum(all),
    series: series.map(({ value, counts }) => ({ value, total: sum(counts), values: counts })),
    rest: rest > 0 ? [{ value: null, total: rest, values: left }] : [],
  };
}

function boundsBefore(range: Range): number[] {
  const { fromMs, toMs } = rangeBefore(range);
  return [fromMs, toMs];
}

function sum(counts: number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
