import { makeChange } from "../audit/changes.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { FailureLog } from "../http/failures.ts";
import { progressNote, progressType, withProgress } from "../http/progress.ts";
import type { Routes } from "../http/routes.ts";
import {
  BoardChange,
  BoardLinkResponse,
  BoardList,
  BoardResponse,
  NewBoard,
  TileDataQuery,
  TilePreview,
  type TileRange,
} from "../schemas/board.ts";
import { Done } from "../schemas/done.ts";
import type { Tile } from "../schemas/tile.ts";
import { TileDataResponse } from "../schemas/tile-data.ts";
import type { Store } from "../storage/store.ts";
import {
  changeBoard,
  createBoard,
  deleteBoard,
  findBoard,
  findTile,
  listBoards,
  publishBoard,
  restoreBoard,
  unpublishBoard,
} from "./boards.ts";
import { rangeOf } from "./range.ts";
import { tileData } from "./tile-data.ts";

type Deps = {
  store: Store;
  baseUrl: string;
  failures: FailureLog;
};

export function addBoardRoutes(routes: Routes, { store, baseUrl, failures }: Deps): void {
  const { control } = store;
  async function compute(request: Request, projectId: number, tile: Tile, query: TileRange) {
    const range = rangeOf(query, Date.now());
    return withProgress(
      request,
      async (progress) => ({
        data: await tileData(tile, { store, projectId, range, progress }),
      }),
      (error) => failures.requestFailed(error),
    );
  }

  routes.add(
    {
      method: "get",
      path: "/api/boards",
      by: "events:read",
      tag: "Boards",
      summary: "List boards, in their order",
      query: ProjectQuery,
      response: BoardList,
    },
    async ({ projectId }) => ({ boards: await listBoards(control, projectId) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/boards",
      by: "boards:change",
      tag: "Boards",
      summary: "Create a board",
      query: ProjectQuery,
      body: NewBoard,
      status: 201,
      response: BoardResponse,
      problems: [409],
    },
    async (call) => ({
      board: await makeChange(control, call, (change) => createBoard(change, call.body)),
    }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/boards/preview",
      by: "boards:change",
      tag: "Boards",
      summary: "Compute a tile that is not saved",
      description: progressNote,
      query: TileDataQuery,
      body: TilePreview,
      response: TileDataResponse,
      otherResponseTypes: [progressType],
      problems: [503],
    },
    async ({ projectId, query, body, request }) => compute(request, projectId, body.tile, query),
  );

  routes.add(
    {
      method: "get",
      path: "/api/boards/{id}",
      by: "events:read",
      tag: "Boards",
      summary: "Get a board with its tiles",
      query: ProjectQuery,
      response: BoardResponse,
      problems: [404],
    },
    async ({ projectId, parameter }) => ({
      board: await findBoard(control, projectId, parameter("id")),
    }),
  );

  routes.add(
    {
      method: "patch",
      path: "/api/boards/{id}",
      by: "boards:change",
      tag: "Boards",
      summary: "Change a board",
      description: "Its name, its tiles, or its place among the boards.",
      query: ProjectQuery,
      versioned: "board",
      body: BoardChange,
      response: BoardResponse,
      problems: [404],
    },
    async (call) => {
      const { body, ifMatch, parameter } = call;
      return {
        board: await makeChange(control, call, (change) =>
          changeBoard(change, parameter("id"), body, ifMatch),
        ),
      };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/boards/{id}",
      by: "boards:change",
      tag: "Boards",
      summary: "Delete a board",
      description: "Its public link and its reports end. The last deleted boards can be restored.",
      query: ProjectQuery,
      response: Done,
      problems: [404],
    },
    async (call) => {
      await makeChange(control, call, (change) => deleteBoard(change, call.parameter("id")));
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/boards/{id}/restore",
      by: "boards:change",
      tag: "Boards",
      summary: "Restore a deleted board",
      description: "In its former place, without its public link and its reports.",
      query: ProjectQuery,
      response: BoardResponse,
      problems: [404, 409],
    },
    async (call) => ({
      board: await makeChange(control, call, (change) => restoreBoard(change, call.parameter("id"))),
    }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/boards/{id}/link",
      by: "boards:publish",
      tag: "Boards",
      summary: "Create a board's public link",
      description:
        "Anyone with the link sees the board's results, but not its searches. The former link ends. `If-Match` takes the `linkVersion`.",
      query: ProjectQuery,
      versioned: "board",
      status: 201,
      response: BoardLinkResponse,
      problems: [404],
    },
    async (call) => {
      const { ifMatch, parameter } = call;
      const token = await makeChange(control, call, (change) =>
        publishBoard(change, parameter("id"), ifMatch),
      );
      return { link: `${baseUrl}/b/${token}` };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/boards/{id}/link",
      by: "boards:publish",
      tag: "Boards",
      summary: "End a board's public link",
      description: "`If-Match` takes the `linkVersion`.",
      query: ProjectQuery,
      versioned: "board",
      response: Done,
      problems: [404],
    },
    async (call) => {
      const { ifMatch, parameter } = call;
      await makeChange(control, call, (change) => unpublishBoard(change, parameter("id"), ifMatch));
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/boards/{id}/tiles/{tileId}/data",
      by: "events:read",
      tag: "Boards",
      summary: "Compute a tile",
      description: progressNote,
      query: TileDataQuery,
      response: TileDataResponse,
      otherResponseTypes: [progressType],
      problems: [404, 422, 503],
    },
    async ({ projectId, query, request, parameter }) => {
      const board = await findBoard(control, projectId, parameter("id"));
      return compute(request, projectId, findTile(board, parameter("tileId")), query);
    },
  );
}
