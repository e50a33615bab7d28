import type { TileDataOf } from "../../server/schemas/tile-data.ts";
import type { ActivityQuestion } from "../who/activity-question.ts";
import { addressOf } from "../who/question.ts";
import { countingOf, type ShownTile } from "./boards.ts";
import type { DrillDown } from "./drill-down.tsx";

/** The users of a tile about activity. Null on public boards, which have no searches. */
export function activityDrillDown(
  tile: ShownTile,
  { type, from, to, timeZone, by, ...data }: TileDataOf<"stickiness"> | TileDataOf<"lifecycle">,
  which: ActivityQuestion["which"],
): DrillDown | null {
  if (tile.type !== type || !("q" in tile)) return null;
  const first = "first" in data ? data.first : "range";
  return {
    page: "who",
    search: addressOf({ of: type, from, to, by, timeZone, q: tile.q, first, which, ...countingOf(tile) }),
  };
}
