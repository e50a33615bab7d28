import { inReadingOrder, type Place } from "../../server/boards/reading-order.ts";
import { countedWords } from "../../server/schemas/group-texts.ts";
import type { Tile } from "../../server/schemas/tile.ts";
import { metricText, splitHead, titleOf } from "../../server/schemas/tile-texts.ts";
import { countOf } from "../components/counts.ts";
import { type Comparison, type Difference, isSame, whoChanged } from "../edits/differences.ts";
import { compactTiles, freePlace } from "./layout.ts";
import { newTileId, tileTypes } from "./tile-form.ts";

/** The parts of a board that people edit. */
export type BoardForm = { name: string; tiles: Tile[] };

const arrangement = "arrangement";
const nameKey = "name";

/** Merges two versions of a board: its name, each tile by itself, and the positions of tiles. */
export const boardComparison: Comparison<BoardForm> = {
  differences(base, mine, theirs) {
    const differences: Difference[] = [];
    const forms = [base, mine, theirs] as const;
    function add<Value>(
      { key, label, allowsBoth = false }: Pick<Difference, "key" | "label" | "allowsBoth">,
      values: readonly [Value, Value, Value],
      text: (value: Value) => string,
    ) {
      const changedBy = whoChanged(...values);
      if (changedBy === null) return;
      const [before, own, other] = each(values, text);
      differences.push({ key, label, changedBy, before, mine: own, theirs: other, allowsBoth });
    }
    const names = each(forms, ({ name }) => name.trim());
    add({ key: nameKey, label: "Name" }, names, (name) => name);
    for (const id of idsOf(theirs, mine, base)) {
      const tiles = each(forms, (form) => tileIn(form, id));
      const [before, own, other] = tiles;
      const label = `Tile: ${titleOf((own ?? other ?? before)!)}`;
      const contents = each(tiles, (tile) => (tile ? contentOf(tile) : null));
      add({ key: id, label, allowsBoth: Boolean(own && other) }, contents, (content) =>
        content === null ? "No such tile" : tileText(tiles[contents.indexOf(content)]!),
      );
    }
    const common = idsOf(base).filter((id) => tileIn(mine, id) && tileIn(theirs, id));
    const places = each(forms, (form) => common.map((id) => placeOf(tileIn(form, id)!)));
    add({ key: arrangement, label: "Places of the tiles" }, places, (shown) => {
      const moved = shown.filter((place, at) => !isSame(place, places[0][at])).length;
      return moved === 0 ? "As they were" : `${countOf(moved, "tile")} moved or resized`;
    });
    return differences;
  },

  merge(mine, theirs, choices) {
    const [first, second] = choices[arrangement] === "theirs" ? [theirs, mine] : [mine, theirs];
    const kept = idsOf(first, second).flatMap((id): Tile[] => {
      const own = tileIn(mine, id);
      const other = tileIn(theirs, id);
      const choice = choices[id] ?? "mine";
      const tile = choice === "mine" ? own : other;
      const copy = choice === "both" && own ? [{ ...own, id: newTileId() }] : [];
      return [...(tile ? [tile] : []), ...copy];
    });
    return {
      name: choices[nameKey] === "theirs" ? theirs.name : mine.name,
      tiles: arranged(kept, first),
    };
  },
};

/** Puts tiles where they are in a board, and the others where there is room. */
function arranged(tiles: readonly Tile[], { tiles: board }: BoardForm): Tile[] {
  const places = new Map(board.map((tile) => [tile.id, placeOf(tile)]));
  const placed = tiles.flatMap((tile) => (places.has(tile.id) ? [{ ...tile, ...places.get(tile.id) }] : []));
  for (const tile of tiles.filter(({ id }) => !places.has(id))) {
    const isFree = !placed.some((each) => overlap(each, tile));
    placed.push(isFree ? tile : { ...tile, ...freePlace(placed, tile.w, tile.h) });
  }
  return inReadingOrder(compactTiles(placed));
}

function overlap(a: Place, b: Place): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

function tileIn({ tiles }: BoardForm, id: string): Tile | undefined {
  return tiles.find((tile) => tile.id === id);
}

function placeOf({ x, y, w, h }: Tile): Place {
  return { x, y, w, h };
}

/** The ids of the boards' tiles, each once, in reading order. */
function idsOf(...boards: BoardForm[]): string[] {
  return [...new Set(boards.flatMap(({ tiles }) => inReadingOrder(tiles).map(({ id }) => id)))];
}

function each<From, To>(all: readonly [From, From, From], map: (from: From) => To): [To, To, To] {
  return all.map(map) as [To, To, To];
}

/** A tile's content without its position, in one form: with the defaults that the server adds. */
function contentOf({ x: _x, y: _y, w: _w, h: _h, ...content }: Tile): string {
  const isLimited = ("metric" in content && content.type !== "number") || content.type === "sessions";
  const limit = isLimited ? { limit: limitOf(content) } : {};
  return JSON.stringify(Object.entries({ ...content, ...limit }).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function limitOf({ type, limit }: Pick<Tile, "type"> & { limit?: number }): number {
  return limit ?? (type === "table" || type === "sessions" ? 10 : 5);
}

/** Describes a tile for people. */
function tileText(tile: Tile): string {
  const { type, title } = tile;
  const lines = [title ? `${tileTypes[type].label}: ${title}` : tileTypes[type].label];
  if ("metric" in tile || "show" in tile) lines.push(metricText(tile));
  if ("q" in tile) lines.push(tile.q ? `Events that match ${tile.q}` : "All events");
  if ("again" in tile) lines.push(tile.again ? `Returning with ${tile.again}` : "Returning with any event");
  if ("steps" in tile) {
    lines.push(...tile.steps.map((q, at) => `${at + 1}. ${q.trim() || "Any event"}`));
    lines.push(`Within ${tile.windowSeconds / 3_600} hours`);
  }
  if ("per" in tile && tile.per && !("metric" in tile)) lines.push(`Counts ${countedWords(tile.per)[1]}`);
  if ("split" in tile && tile.split) lines.push(`Split by ${splitHead(tile.split)}`);
  if ("limit" in tile) lines.push(`At most ${limitOf(tile)} of them`);
  if ("key" in tile) lines.push(tile.key);
  if ("text" in tile) lines.push(tile.text);
  return lines.join("\n");
}
