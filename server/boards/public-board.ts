import { versionOf } from "../core/edit-version.ts";
import type { Board } from "../schemas/board.ts";
import { stepNameOf } from "../schemas/step-name.ts";
import type { Tile } from "../schemas/tile.ts";
import type { TileData } from "../schemas/tile-data.ts";

/** What a tile looks like, without what it searches for. Steps have their names. */
function publicTile(tile: Tile): Record<string, unknown> {
  const { id, type, title, x, y, w, h } = tile;
  return {
    ...{ id, type, title, x, y, w, h },
    ...("metric" in tile && { metric: tile.metric, tag: tile.tag }),
    ...("split" in tile && { split: tile.split }),
    ...("per" in tile && { per: tile.per }),
    ...(tile.type === "funnel" && {
      stepNames: tile.steps.map((q, index) => stepNameOf(q, tile.stepNames?.[index])),
      show: tile.show,
    }),
    ...(tile.type === "paths" && {
      ...{ anchorName: stepNameOf(tile.anchor, tile.anchorName), direction: tile.direction },
      length: tile.length,
    }),
    ...(tile.type === "sessions" && { show: tile.show }),
    ...(tile.type === "text" && { text: tile.text }),
  };
}

/** A board as its public link shows it. */
export function publicBoard({ name, tiles }: Board, timeZone: string | null) {
  const shown = tiles.map(publicTile);
  // The board's own version is made of its searches too.
  return { name, version: versionOf(name, shown, timeZone), timeZone, tiles: shown };
}

/** A tile's result without the users and tags of events, and without the values and people of alerts. */
export function publicTileData(data: TileData): TileData {
  if (data.type === "alerts")
    return {
      ...data,
      alerts: data.alerts.map(({ acknowledgedBy: _, rule, ...alert }) => ({ ...alert, rule, title: rule })),
    };
  if (data.type !== "feed") return data;
  return { ...data, events: data.events.map(({ userId: _, tags: __, ...event }) => event) };
}
