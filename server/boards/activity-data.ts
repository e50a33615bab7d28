import { isoOf } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import { filterOf } from "../event/event-query.ts";
import { type ActivityUnit, activityUnits } from "../schemas/activity.ts";
import type { TileOf } from "../schemas/tile.ts";
import type { TileDataOf } from "../schemas/tile-data.ts";
import { lifecycleOf, stickinessOf } from "../stats/activity.ts";
import { bucketStarts } from "../stats/buckets.ts";
import { firstEventMs } from "../stats/questions.ts";
import type { Activity } from "../storage/analysis/activity-queries.ts";
import type { Range } from "./range.ts";
import { type Context, timesOf } from "./tile-context.ts";

/** On how many days users are active. */
export async function stickinessData(
  tile: TileOf<"stickiness">,
  context: Context,
): Promise<TileDataOf<"stickiness">> {
  const { by, starts, activity } = await activityOf(tile, "range", context);
  return {
    type: "stickiness",
    ...timesOf(context.range),
    ...{ by, starts: starts.map(isoOf) },
    ...stickinessOf(activity, by),
  };
}

/** New and returning users. */
export async function lifecycleData(
  tile: TileOf<"lifecycle">,
  context: Context,
): Promise<TileDataOf<"lifecycle">> {
  const { by, starts, activity } = await activityOf(tile, tile.first, context);
  return {
    type: "lifecycle",
    ...timesOf(context.range),
    ...{ by, starts: starts.map(isoOf), first: tile.first },
    ...lifecycleOf(activity),
  };
}

async function activityOf(
  { q, per }: TileOf<"stickiness" | "lifecycle">,
  first: "ever" | "range",
  { store: { events }, projectId, range, progress }: Context,
): Promise<{ by: ActivityUnit; starts: number[]; activity: Activity }> {
  const { by, starts } = periodsOf(range);
  const query = {
    ...{ projectId, per, filter: filterOf({ q }, []) },
    bounds: [range.fromMs, ...starts.slice(1), range.toMs],
    historyFromMs: first === "ever" ? await firstEventMs(events, projectId) : null,
  };
  return { by, starts, activity: await events.activity(query, progress) };
}

/** The shortest periods of which the range has few enough. A board shows no more than 25 months. */
function periodsOf({ fromMs, toMs, timeZone }: Range): { by: ActivityUnit; starts: number[] } {
  const found = activityUnits
    .map((by) => ({ by, starts: bucketStarts(by, timeZone, fromMs, toMs) }))
    .find(({ starts }) => starts.length <= limits.retentionPeriods);
  return found!;
}
