import type { Tile } from "../schemas/tile.ts";

/** What the board of a website shows. */
export const websiteTiles: Tile[] = [];
