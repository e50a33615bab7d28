import type { Tile } from "../schemas/tile.ts";

/** A tile's place and size, in columns and rows. */
export type Place = Pick<Tile, "x" | "y" | "w" | "h">;

/** The order in which tiles are read: row by row. */
export function inReadingOrder<Placed extends Place>(tiles: readonly Placed[]): Placed[] {
  return tiles.toSorted((a, b) => a.y - b.y || a.x - b.x);
}
