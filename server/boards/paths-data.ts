import { filterOf } from "../event/event-query.ts";
import type { TileOf } from "../schemas/tile.ts";
import type { TileDataOf } from "../schemas/tile-data.ts";
import { pathsOf } from "../stats/paths.ts";
import { type Context, timesOf } from "./tile-context.ts";

/** Counts the steps of users after or before a tile's event. */
export async function pathsData(
  { anchor, direction, length, windowSeconds, names, repeats, q }: TileOf<"paths">,
  { store: { events }, projectId, range, progress }: Context,
): Promise<TileDataOf<"paths">> {
  const { fromMs, toMs } = range;
  const paths = await events.paths(
    {
      ...{ projectId, range: { fromMs, toMs }, direction, length, names },
      anchor: filterOf({ q: anchor }, []),
      steps: filterOf({ q }, []),
      windowMs: windowSeconds * 1_000,
      mergesRepeats: repeats === "merge",
    },
    progress,
  );
  return { type: "paths", ...timesOf(range), direction, ...pathsOf(paths) };
}
