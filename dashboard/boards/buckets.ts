import type { TileDataOf } from "../../server/schemas/tile-data.ts";
import { dayStart, startOfDay, wallAt } from "../components/zone.ts";

type BucketUnit = TileDataOf<"number">["by"];

/** When a bucket of a tile ends, in milliseconds since 1970. */
function endOf(startMs: number, by: BucketUnit): number {
  if (by === "minute") return startMs + 60_000;
  if (by === "hour") return startMs + 3_600_000;
  if (by === "day") return dayStart(startMs, 1);
  if (by === "week") return dayStart(startMs, 7);
  const wall = wallAt(startMs);
  return startOfDay(wall.getUTCFullYear(), wall.getUTCMonth() + 1, 1);
}

type Buckets = { by: BucketUnit; starts: string[]; to: string };

/** When the last bucket of a result ends, also if that is still to come; milliseconds since 1970. */
export function lastEndOf({ by, starts, to }: Buckets): number {
  const last = starts.at(-1);
  return Math.max(Date.parse(to), last === undefined ? 0 : endOf(Date.parse(last), by));
}

/** Whether the last bucket of a result isn't over. */
export function isLastPartial(buckets: Buckets): boolean {
  return lastEndOf(buckets) > Date.parse(buckets.to);
}
