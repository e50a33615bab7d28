import { limits } from "../core/limits.ts";
import { clientNetwork } from "../http/client-address.ts";
import type { Routes } from "../http/routes.ts";
import { requestSignal } from "../scheduling/deadline.ts";
import { PublicBoardResponse, PublicTileDataQuery } from "../schemas/board.ts";
import { TileDataResponse } from "../schemas/tile-data.ts";
import type { Store } from "../storage/store.ts";
import { takePoint } from "../storage/take-point.ts";
import { findPublicBoard, findTile } from "./boards.ts";
import { publicBoard, publicTileData } from "./public-board.ts";
import { PublicQueue } from "./public-queue.ts";
import { rangeOf } from "./range.ts";
import { tileData } from "./tile-data.ts";

/**
 * Routes for those who have a board's public link.
 *
 * Invariant: who has a board's public link names a tile, never a search, so the link shows what the board shows and
 * nothing else. Checked by `server/boards/boards.test.ts`.
 */
export function addPublicBoardRoutes(
  routes: Routes,
  {
    store,
    addressOf,
  }: {
    store: Store;
    addressOf: (request: Request) => string | null;
  },
): void {
  const perAddress = store.rateLimiter({
    name: "board-links",
    points: limits.boardLinkRequestsPerMinute,
    seconds: 60,
  });
  const perBoard = store.rateLimiter({
    name: "board-links-total",
    points: limits.boardLinkRequestsPerMinuteTotal,
    seconds: 60,
  });

  const queue = new PublicQueue();

  async function open(request: Request, token: string) {
    // Before the token is looked up, so that tokens can't be guessed at any rate.
    await takePoint(perAddress, clientNetwork(addressOf(request)), "requests for public boards");
    const found = await findPublicBoard(store.control, token);
    await takePoint(perBoard, found.board.id, "requests for public boards");
    return found;
  }

  routes.add(
    {
      method: "get",
      path: "/api/public/boards/{token}",
      by: "anyone",
      tag: "Boards",
      summary: "Get a board by its public link",
      response: PublicBoardResponse,
      problems: [404, 429],
    },
    async ({ request, parameter }) => {
      const { board, timeZone } = await open(request, parameter("token"));
      return { board: publicBoard(board, timeZone) };
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/public/boards/{token}/tiles/{tileId}/data",
      by: "anyone",
      tag: "Boards",
      summary: "Compute a tile of a public board",
      query: PublicTileDataQuery,
      response: TileDataResponse,
      problems: [404, 422, 429, 503],
    },
    async ({ request, query, parameter }) => {
      const { projectId, board } = await open(request, parameter("token"));
      const tile = findTile(board, parameter("tileId"));
      const range = rangeOf(query, Date.now());
      // Without an end, the range ends now, or when the same was asked that is being computed.
      const asked = JSON.stringify([board.id, board.version, tile.id, query]);
      const data = await queue.run(projectId, asked, requestSignal() ?? request.signal, (signal) =>
        tileData(tile, { store, projectId, range, progress: { signal, onProgress: () => {} } }),
      );
      return { data: publicTileData(data) };
    },
  );
}
