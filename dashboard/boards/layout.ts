import { cloneLayout, getLayoutItem, moveElement, verticalCompactor } from "react-grid-layout/core";
import type { Place } from "../../server/boards/reading-order.ts";
import { limits } from "../../server/core/limits.ts";

// Positions of tiles in the grid. Tiles never overlap, and move up as far as they can.

const columns = limits.boardColumns;

/** Moves a tile; those in its way move down. */
export function moveTile<Placed extends Place & { id: string }>(
  tiles: readonly Placed[],
  id: string,
  x: number,
  y: number,
): Placed[] {
  const layout = cloneLayout(layoutOf(tiles));
  const item = getLayoutItem(layout, id)!;
  const column = clamp(x, 0, columns - item.w);
  const row = clamp(y, 0, limits.boardRows - item.h);
  const moved = moveElement(layout, item, column, row, true, false, "vertical", columns);
  return placed(tiles, verticalCompactor.compact(moved, columns));
}

/** Changes a tile's size; those in its way move down. */
export function resizeTile<Placed extends Place & { id: string }>(
  tiles: readonly Placed[],
  id: string,
  w: number,
  h: number,
): Placed[] {
  const resized = tiles.map((tile) =>
    tile.id === id ? { ...tile, w: clamp(w, 1, columns - tile.x), h: clamp(h, 1, limits.tileRows) } : tile,
  );
  const { x, y } = resized.find((tile) => tile.id === id)!;
  // As if it had moved to its own place: others make room.
  return moveTile(resized, id, x, y);
}

/** Moves a tile by one step of the keyboard: a column, or past the next tile above or below it. */
export function stepTile<Placed extends Place & { id: string }>(
  tiles: readonly Placed[],
  id: string,
  direction: "left" | "right" | "up" | "down",
): Placed[] {
  const { x, y } = tiles.find((tile) => tile.id === id)!;
  if (direction === "left") return moveTile(tiles, id, x - 1, y);
  if (direction === "right") return moveTile(tiles, id, x + 1, y);
  // A tile that is moved down by less than the one below it falls back to its place.
  for (let rows = 1; rows <= limits.tileRows + 1; rows++) {
    const moved = moveTile(tiles, id, x, direction === "up" ? y - rows : y + rows);
    if (moved.find((tile) => tile.id === id)!.y !== y) return moved;
  }
  return [...tiles];
}

/** Moves all tiles up as far as they can, after one was added or removed. */
export function compactTiles<Placed extends Place & { id: string }>(tiles: readonly Placed[]): Placed[] {
  return placed(tiles, verticalCompactor.compact(layoutOf(tiles), columns));
}

function layoutOf(tiles: readonly (Place & { id: string })[]) {
  return tiles.map(({ id, x, y, w, h }) => ({ i: id, x, y, w, h }));
}

function placed<Placed extends Place & { id: string }>(
  tiles: readonly Placed[],
  layout: readonly (Place & { i: string })[],
): Placed[] {
  const places = new Map(layout.map(({ i, x, y, w, h }) => [i, { x, y, w, h }]));
  return tiles.map((tile) => ({ ...tile, ...places.get(tile.id) }));
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}

/** The first free place for a tile of a size, from the top and left. */
export function freePlace(tiles: readonly Place[], w: number, h: number): Place {
  const isFree = (x: number, y: number) =>
    !tiles.some((tile) => tile.x < x + w && x < tile.x + tile.w && tile.y < y + h && y < tile.y + tile.h);
  for (let y = 0; ; y++) {
    for (let x = 0; x + w <= columns; x++) if (isFree(x, y)) return { x, y, w, h };
  }
}
