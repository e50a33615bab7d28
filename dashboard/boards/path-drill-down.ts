import type { TileDataOf } from "../../server/schemas/tile-data.ts";
import { addressOf } from "../who/question.ts";
import type { ShownTile } from "./boards.ts";
import type { DrillDown } from "./drill-down.tsx";

/** The users who came to a node of a path, from another one if that is given; `end`: those without another step. */
export function pathDrillDown(
  tile: ShownTile,
  { from, to }: Pick<TileDataOf<"paths">, "from" | "to">,
  target: string,
  source?: string,
): DrillDown | null {
  if (!("anchor" in tile)) return null;
  const { anchor, anchorName = "", direction, length, windowSeconds, names, repeats, q } = tile;
  return {
    page: "who",
    search: addressOf({
      ...{ of: "paths", from, to, anchor, anchorName, direction, length, windowSeconds, names, repeats, q },
      ...{ target, ...(source !== undefined && { source }) },
    }),
  };
}
