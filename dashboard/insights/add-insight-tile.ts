import { inReadingOrder } from "../../server/boards/reading-order.ts";
import { limits } from "../../server/core/limits.ts";
import type { Board } from "../../server/schemas/board.ts";
import type { Tile } from "../../server/schemas/tile.ts";
import { api, errorMessage } from "../api.ts";
import { boardQuery } from "../boards/boards.ts";
import { freePlace } from "../boards/layout.ts";
import { newTileId, tileTypes } from "../boards/tile-form.ts";
import { retryChange } from "../edits/retry-change.ts";
import { queries, refresh } from "../queries.ts";
import { toast } from "../shell/toasts.tsx";

/** Adds a tile that shows an insight to a board, with a message that offers to undo it. */
export async function addInsightTile(project: string, boardId: string, key: string): Promise<void> {
  const id = newTileId();
  try {
    const board = await change(project, boardId, (tiles) => {
      if (tiles.length >= limits.tiles) throw new Error(`A board has at most ${limits.tiles} tiles.`);
      const { w, h } = tileTypes.value;
      return [...tiles, { type: "value", id, title: "", key, ...freePlace(tiles, w, h) }];
    });
    toast({
      title: `Added to ${board.name}`,
      undo: () =>
        change(project, boardId, (tiles) => tiles.filter((tile) => tile.id !== id)).catch((error) =>
          failed("The tile couldn't be removed", error),
        ),
    });
  } catch (error) {
    failed("The tile couldn't be added", error);
  }
}

/** Changes the tiles that the board has now, also if somebody else changes them at the same time. */
async function change(project: string, boardId: string, tilesOf: (tiles: Tile[]) => Tile[]): Promise<Board> {
  const query = boardQuery(project, boardId);
  const board = await retryChange<Board, Board>(
    await queries.fetchQuery({ ...query, staleTime: 0 }),
    async ({ tiles, version }) => {
      const body = { tiles: inReadingOrder(tilesOf(tiles)) };
      const options = { method: "PATCH", query: { project }, body, version } as const;
      return (await api<{ board: Board }>(`/api/boards/${boardId}`, options)).board;
    },
  );
  queries.setQueryData(query.queryKey, board);
  void refresh(["boards", project]);
  return board;
}

function failed(title: string, error: unknown): void {
  toast({ title, description: errorMessage(error), failed: true });
}
