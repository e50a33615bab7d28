import type { TileDataOf } from "../../server/wire/tile-data.ts";
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

/** Whether the last bucket of a result isn't over. */
export function isLastPartial({ by, starts, to }: { by: BucketUnit; starts: string[]; to: string }): boolean {
  const last = starts.at(-1);
  return last !== undefined && endOf(Date.parse(last), by) > Date.parse(to);
}
