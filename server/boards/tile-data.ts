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
import { withGroupNames } from "../stats/group-names.ts";
import { retentionQueryOf } from "../stats/questions.ts";
import { lifecycleData, stickinessData } from "./activity-data.ts";
import { measure } from "./measure-tile.ts";
import { pathsData } from "./paths-data.ts";
import { bucketsOf, type Range, rangeBefore, wholeWeeksOf } from "./range.ts";
import { sessionsData } from "./sessions-data.ts";
import { type Context, stepsOf, timesOf } from "./tile-context.ts";

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
  const { store, projectId, range, progress } = context;
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
    series:
      tile.split === undefined
        ? [{ value: null, total, values: all }]
        : await withGroupNames(store.control, projectId, analysisSplitOf(tile.split), [...series, ...rest]),
    total,
    values: all,
    ...(before && { before: { total: before.total, values: before.all } }),
  };
}

async function tableData(tile: TileOf<"table">, context: Context): Promise<TileDataOf<"table">> {
  const { store, projectId, range, progress } = context;
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
  const rows = [...series, ...rest];
  const named = await withGroupNames(store.control, projectId, analysisSplitOf(tile.split), rows);
  return {
    type: "table",
    ...timesOf(range),
    rows: named.map((row) => ({
      value: row.value,
      ...(row.name !== undefined && { name: row.name }),
      total: row.total,
      ...(before && row.value !== null && { before: earlier.get(row.value) ?? missing }),
    })),
    total,
  };
}

async function funnelData(
  { steps, windowSeconds, split: by, per }: TileOf<"funnel">,
  { store: { events, control }, projectId, range, progress }: Context,
): Promise<TileDataOf<"funnel">> {
  const [first, second] = stepsOf(progress, range);
  const split = analysisSplitOf(by, per);
  const compute = ({ fromMs, toMs }: Range, isSplit: boolean, progress: Progress) =>
    events.funnel(
      {
        projectId,
        range: { fromMs, toMs },
        steps: steps.map((q) => filterOf({ q }, [])),
        windowMs: windowSeconds * 1_000,
        per,
        ...(isSplit && { split }),
        series: limits.tileSeries,
      },
      progress,
    );
  const { series, ...computed } = funnelOf(await compute(range, true, first), split !== undefined);
  return {
    type: "funnel",
    ...timesOf(range),
    ...computed,
    ...(series && { series: await withGroupNames(control, projectId, split, series) }),
    ...(range.compares && {
      before: funnelOf(await compute(rangeBefore(range), false, second), false).steps,
    }),
  };
}

async function retentionData(
  { q, again, per, first = "ever" }: TileOf<"retention">,
  { store: { events }, projectId, range, progress }: Context,
): Promise<TileDataOf<"retention">> {
  const { starts, ...whole } = wholeWeeksOf(range);
  if (starts.length > limits.retentionPeriods)
    throw problem("query-invalid", {
      detail: `Retention is computed for at most ${limits.retentionPeriods} weeks. Use a shorter range.`,
    });
  const query = await retentionQueryOf(events, {
    projectId,
    per,
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

function boundsBefore(range: Range): number[] {
  const { fromMs, toMs } = rangeBefore(range);
  return [fromMs, toMs];
}

function sum(counts: number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
