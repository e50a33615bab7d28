import { queryOptions } from "@tanstack/react-query";
import { createContext, use } from "react";
import type { Board, BoardSummary } from "../../server/schemas/board.ts";
import type { InsightInList } from "../../server/schemas/insight.ts";
import type { Tile } from "../../server/schemas/tile.ts";
import type { TileData } from "../../server/schemas/tile-data.ts";
import { api } from "../api.ts";
import { queries } from "../queries.ts";
import { type BoardRange, isLive, rangeQuery } from "./ranges.ts";

export function boardsQuery(project: string) {
  return queryOptions({
    queryKey: ["boards", project],
    queryFn: async () =>
      (await api<{ boards: BoardSummary[] }>("/api/boards", { query: { project } })).boards,
  });
}

export function boardQuery(project: string, id: string) {
  return queryOptions({
    queryKey: ["boards", project, id],
    queryFn: async () =>
      (await api<{ board: Board }>(`/api/boards/${encodeURIComponent(id)}`, { query: { project } })).board,
  });
}

export function insightsQuery(project: string) {
  return queryOptions({
    queryKey: ["insights", project],
    queryFn: async () =>
      (await api<{ insights: InsightInList[] }>("/api/insights", { query: { project } })).insights,
  });
}

/** A tile as a board shows it. Public boards leave out its search. */
export type ShownTile = Tile | PublicTile;
type PublicTile = Pick<Tile, "id" | "type" | "title" | "x" | "y" | "w" | "h"> & {
  metric?: string;
  tag?: string;
  split?: string;
  text?: string;
  stepNames?: (string | null)[];
  show?: string;
  anchorName?: string | null;
  direction?: string;
  per?: string;
};

/** The groups that a tile counts, as a part of a question; nothing for users. */
export function countingOf(tile: ShownTile): { per?: string } {
  const per = perOf(tile);
  return per === undefined ? {} : { per };
}

/** The type of the groups that a tile counts; undefined: users. */
export function perOf(tile: ShownTile): string | undefined {
  return "per" in tile ? tile.per : undefined;
}

type LoadOptions = { signal: AbortSignal; onProgress?: (share: number) => void };

/** The source of tiles' results. */
export type TileSource = {
  /** Part of the query's key. */
  key: readonly unknown[];
  /** The key of the source that showed the same tiles before. */
  shown?: readonly unknown[];
  /** Null: on a public board, nothing leads into the project. */
  project: string | null;
  /** The board whose notes charts show; undefined while it is new. */
  board?: string;
  load: (tile: ShownTile, query: Record<string, string>, options: LoadOptions) => Promise<TileData>;
};

export function savedTiles(project: string, { id, version }: Board): TileSource {
  return {
    key: ["tile", project, id, version],
    project,
    board: id,
    load: (tile, query, options) =>
      load(`/api/boards/${id}/tiles/${tile.id}/data`, { query: { ...query, project }, ...options }),
  };
}

/** Tiles that are being edited, of a board or new. */
export function draftTiles(project: string, board?: Board): TileSource {
  return {
    key: ["tile", project, "draft"],
    ...(board && { shown: savedTiles(project, board).key, board: board.id }),
    project,
    load: (tile, query, options) =>
      load("/api/boards/preview", {
        method: "POST",
        query: { ...query, project },
        body: { tile },
        ...options,
      }),
  };
}

export function publicTiles(token: string): TileSource {
  return {
    key: ["public-tile", token],
    project: null,
    load: (tile, query, { signal }) =>
      load(`/api/public/boards/${encodeURIComponent(token)}/tiles/${tile.id}/data`, { query, signal }),
  };
}

async function load(path: string, options: Parameters<typeof api>[1]): Promise<TileData> {
  return (await api<{ data: TileData }>(path, options)).data;
}

export const TileSourceContext = createContext<TileSource | null>(null);

export function useTileSource(): TileSource {
  return use(TileSourceContext)!;
}

/** Whether there is something to compute: not for a text, nor for a value that wasn't chosen yet. */
function isComplete(tile: ShownTile): boolean {
  return tile.type !== "text" && !("key" in tile && tile.key === "");
}

/** How often a range that ends now is computed again. */
const refreshMs = 30_000;

export function tileDataQuery(
  source: TileSource,
  tile: ShownTile,
  range: BoardRange,
  onProgress?: (share: number) => void,
) {
  // The result doesn't depend on the tile's place.
  const { x: _x, y: _y, w: _w, h: _h, title: _title, ...content } = tile;
  return queryOptions<TileData>({
    queryKey: [...source.key, content, range],
    queryFn: ({ signal }) =>
      source.load(tile, rangeQuery(range), { signal, ...(onProgress && { onProgress }) }),
    // Alerts also open because nothing happens.
    refetchInterval: isLive(range) || tile.type === "alerts" ? refreshMs : false,
    enabled: isComplete(tile),
    // Also keeps the results from before the board was edited.
    placeholderData: (previous) =>
      previous ?? (source.shown && queries.getQueryData<TileData>([...source.shown, content, range])),
    retry: false,
  });
}
