import { isoOf } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import { filterOf } from "../event/event-query.ts";
import type { Progress } from "../http/progress.ts";
import type { TileOf } from "../schemas/tile.ts";
import type { TileDataOf } from "../schemas/tile-data.ts";
import { userSplitOf } from "../stats/filters.ts";
import type { SessionsQuery, SessionsResult } from "../storage/analysis/sessions.ts";
import { bucketsOf, type Range, rangeBefore } from "./range.ts";
import { type Context, stepsOf, timesOf } from "./tile-context.ts";

type SessionsTile = TileOf<"sessions">;
type Figure = Exclude<SessionsTile["show"], "entries" | "exits" | "live">;

const minuteMs = 60_000;
const liveMinutes = 5;

/** Computes a tile of sessions: a number, or a table of the first or last values of sessions. */
export function sessionsData(
  tile: SessionsTile,
  context: Context,
): Promise<TileDataOf<"number"> | TileDataOf<"table">> {
  const { show } = tile;
  if (show === "live") return liveData(tile, context);
  return show === "entries" || show === "exits"
    ? valuesData(tile, show, context)
    : figureData(tile, show, context);
}

async function figureData(
  tile: SessionsTile,
  figure: Figure,
  context: Context,
): Promise<TileDataOf<"number">> {
  const { range, progress } = context;
  const { by, starts, bounds } = bucketsOf(range);
  const [first, second] = stepsOf(progress, range);
  const result = await sessionsOf(tile, context, bounds, first);
  const before = range.compares && (await sessionsOf(tile, context, boundsOf(rangeBefore(range)), second));
  return {
    type: "number",
    ...timesOf(range),
    by,
    starts: starts.map(isoOf),
    value: figureOf(figure, result, [...starts.keys()]),
    values: starts.map((_, bucket) => figureOf(figure, result, [bucket])),
    ...(before && { before: figureOf(figure, before, [0]) }),
    ...(figure === "bounceRate" && { unit: "percent" }),
    ...(figure === "duration" && { unit: "seconds" }),
  };
}

/** A figure of some buckets together; null for an average of no sessions. */
function figureOf(figure: Figure, result: SessionsResult, buckets: number[]): number | null {
  const sum = (values: number[]) => buckets.reduce((total, bucket) => total + values[bucket]!, 0);
  const sessions = sum(result.sessions);
  if (figure === "sessions") return sessions;
  if (sessions === 0) return null;
  if (figure === "bounceRate") return (100 * sum(result.bounces)) / sessions;
  if (figure === "duration") return sum(result.durationMs) / sessions / 1_000;
  return sum(result.events) / sessions;
}

async function valuesData(
  tile: SessionsTile,
  show: "entries" | "exits",
  context: Context,
): Promise<TileDataOf<"table">> {
  const { range, progress } = context;
  const [first, second] = stepsOf(progress, range);
  const split = userSplitOf(tile.split);
  const result = await sessionsOf(tile, context, boundsOf(range), first, { split, top: tile.limit });
  const top = result[show];
  // The same values, however few sessions they had: the largest ones of the period before may be others.
  const values = top.map(({ value }) => value);
  const before =
    range.compares &&
    (await sessionsOf(tile, context, boundsOf(rangeBefore(range)), second, {
      ...{ split, values, top: values.length },
    }));
  const earlier = new Map(before ? before[show].map(({ value, sessions }) => [value, sessions]) : []);
  const total = result.sessions[0]!;
  const rest = top.reduce((left, { sessions }) => left - sessions, total);
  return {
    type: "table",
    ...timesOf(range),
    rows: [
      ...top.map(({ value, sessions }) => ({
        value,
        total: sessions,
        ...(before && { before: earlier.get(value) ?? 0 }),
      })),
      ...(rest > 0 ? [{ value: null, total: rest }] : []),
    ],
    total,
  };
}

/** Users in the last minutes, whatever the range is. */
async function liveData(
  { q }: SessionsTile,
  { store: { events }, projectId, range: { timeZone }, progress }: Context,
): Promise<TileDataOf<"number">> {
  const toMs = Date.now();
  const bounds = Array.from(
    { length: liveMinutes + 1 },
    (_, index) => toMs - (liveMinutes - index) * minuteMs,
  );
  const filter = filterOf({ q }, []);
  const { all } = await events.measure({ projectId, filter, bounds, metric: "users", series: 1 }, progress);
  return {
    type: "number",
    ...timesOf({ fromMs: bounds[0]!, toMs, timeZone }),
    by: "minute",
    starts: bounds.slice(0, -1).map(isoOf),
    value: all.overall,
    values: all.values,
  };
}

function sessionsOf(
  { q, activity }: SessionsTile,
  { store: { events }, projectId }: Context,
  bounds: number[],
  progress: Progress,
  byValue: Pick<SessionsQuery, "split" | "top" | "values"> = { top: 0 },
): Promise<SessionsResult> {
  const query = {
    ...{ projectId, bounds, idleMs: limits.visitIdleMs, ...byValue },
    counted: filterOf({ q }, []),
    activity: filterOf({ q: activity }, []),
  };
  return events.sessions(query, progress);
}

function boundsOf({ fromMs, toMs }: Range): number[] {
  return [fromMs, toMs];
}
