import type { Kysely, Selectable, Transaction } from "kysely";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { createLinkToken, hashLinkToken } from "../http/link-token.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { withLock } from "../storage/settings.ts";
import type { Board, BoardChange, BoardSummary, NewBoard } from "../wire/board.ts";
import type { Tile } from "../wire/tile.ts";
import { starterTiles } from "./starter-tiles.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;
type Row = Selectable<ControlTables["boards"]>;

/** Adds the board that every project begins with. */
export async function addFirstBoard(control: Control, projectId: number): Promise<void> {
  await insertBoard(control, projectId, { name: "Overview", tiles: starterTiles }, 0);
}

/** A project's boards, in their order. */
export async function listBoards(control: Control, projectId: number): Promise<BoardSummary[]> {
  return (await selectBoards(control, projectId).execute()).map(summaryOf);
}

/** Throws `board-unknown`. */
export async function findBoard(control: Control, projectId: number, id: string): Promise<Board> {
  const row = await selectBoards(control, projectId).where("id", "=", id).executeTakeFirst();
  if (!row) throw unknownBoard();
  return boardOf(row);
}

/** Creates a board, after the others. Throws `limit-reached`. */
export async function createBoard(
  transaction: Transaction<ControlTables>,
  projectId: number,
  board: NewBoard,
): Promise<Board> {
  await lockBoards(transaction);
  const position = await countRoom(transaction, projectId);
  return boardOf(await insertBoard(transaction, projectId, board, position));
}

/**
 * Changes a board's name, tiles or place. Throws `board-unknown`, and `changed-meanwhile` if it has another version.
 */
export async function changeBoard(
  transaction: Transaction<ControlTables>,
  projectId: number,
  id: string,
  { name, tiles, position }: BoardChange,
  ifMatch: IfMatch,
): Promise<Board> {
  await lockBoards(transaction);
  const board = await findBoard(transaction, projectId, id);
  checkVersion(ifMatch, board);
  if (position !== undefined) await moveBoard(transaction, projectId, id, position);
  if (name === undefined && tiles === undefined) return board;
  const row = await transaction
    .updateTable("boards")
    .set({
      ...(name !== undefined && { name }),
      ...(tiles !== undefined && { tiles: JSON.stringify(tiles) }),
      updatedAt: Date.now(),
    })
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();
  return boardOf(row);
}

/** Deletes a board and ends its public link. The last few deleted ones can be restored. Throws `board-unknown`. */
export async function deleteBoard(
  transaction: Transaction<ControlTables>,
  projectId: number,
  id: string,
): Promise<Board> {
  await lockBoards(transaction);
  const board = await findBoard(transaction, projectId, id);
  await transaction
    .updateTable("boards")
    .set({ deletedAt: Date.now(), linkHash: null, linkCreatedAt: null })
    .where("id", "=", id)
    .execute();
  const deleted = await transaction
    .selectFrom("boards")
    .select("id")
    .where("projectId", "=", projectId)
    .where("deletedAt", "is not", null)
    .orderBy("deletedAt", "desc")
    .orderBy("id", "desc")
    .execute();
  for (const { id } of deleted.slice(limits.deletedBoards))
    await transaction.deleteFrom("boards").where("id", "=", id).execute();
  return board;
}

/** Restores a deleted board, in its former place. Throws `board-unknown` and `limit-reached`. */
export async function restoreBoard(
  transaction: Transaction<ControlTables>,
  projectId: number,
  id: string,
): Promise<Board> {
  await lockBoards(transaction);
  await countRoom(transaction, projectId);
  const row = await transaction
    .updateTable("boards")
    .set({ deletedAt: null })
    .where("projectId", "=", projectId)
    .where("id", "=", id)
    .where("deletedAt", "is not", null)
    .returningAll()
    .executeTakeFirst();
  if (!row) throw unknownBoard();
  return boardOf(row);
}

/**
 * Creates a board's public link, and ends the former one. Returns its token. Throws `board-unknown`, and
 * `changed-meanwhile` if there is another link than the one that is to be replaced.
 */
export async function publishBoard(
  transaction: Transaction<ControlTables>,
  projectId: number,
  id: string,
  ifMatch: IfMatch,
): Promise<{ board: Board; token: string }> {
  await lockBoards(transaction);
  const board = await findBoard(transaction, projectId, id);
  checkLink(ifMatch, board);
  const token = createLinkToken();
  await transaction
    .updateTable("boards")
    .set({ linkHash: hashLinkToken(token), linkCreatedAt: Date.now() })
    .where("id", "=", id)
    .execute();
  return { board: { ...board, isPublic: true }, token };
}

/** Ends a board's public link. Throws `board-unknown`, and `changed-meanwhile` if it has another link by now. */
export async function unpublishBoard(
  transaction: Transaction<ControlTables>,
  projectId: number,
  id: string,
  ifMatch: IfMatch,
): Promise<Board> {
  await lockBoards(transaction);
  const board = await findBoard(transaction, projectId, id);
  checkLink(ifMatch, board);
  await transaction
    .updateTable("boards")
    .set({ linkHash: null, linkCreatedAt: null })
    .where("id", "=", id)
    .execute();
  return { ...board, isPublic: false };
}

function checkLink(ifMatch: IfMatch, board: Board): void {
  checkVersion(ifMatch, { ...board, version: board.linkVersion });
}

/** The board of a public link, and its project's time zone. Throws `board-unknown`. */
export async function findPublicBoard(
  control: Control,
  token: string,
): Promise<{ projectId: number; timeZone: string | null; board: Board }> {
  const row = await control
    .selectFrom("boards")
    .innerJoin("projects", "projects.id", "boards.projectId")
    .selectAll("boards")
    .select("projects.timeZone")
    .where("linkHash", "=", hashLinkToken(token))
    .where("boards.deletedAt", "is", null)
    .executeTakeFirst();
  if (!row)
    throw problem("board-unknown", { detail: "This link doesn't work. It may have been ended or replaced." });
  return { projectId: row.projectId, timeZone: row.timeZone, board: boardOf(row) };
}

/** Throws `tile-unknown`. */
export function findTile({ tiles }: Board, id: string): Tile {
  const tile = tiles.find((each) => each.id === id);
  if (!tile) throw problem("tile-unknown", { detail: "The board has no tile with this ID." });
  return tile;
}

function selectBoards(control: Control, projectId: number) {
  return control
    .selectFrom("boards")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("deletedAt", "is", null)
    .orderBy("position")
    .orderBy("id");
}

async function lockBoards(transaction: Transaction<ControlTables>): Promise<void> {
  await withLock(transaction, "boards");
}

/** How many boards there are. Throws `limit-reached` if there can't be one more. */
async function countRoom(transaction: Transaction<ControlTables>, projectId: number): Promise<number> {
  const boards = await selectBoards(transaction, projectId).execute();
  if (boards.length >= limits.boards)
    throw problem("limit-reached", {
      detail: `A project can have at most ${limits.boards} boards. Delete one that you no longer need.`,
    });
  return boards.length;
}

async function moveBoard(
  transaction: Transaction<ControlTables>,
  projectId: number,
  id: string,
  position: number,
): Promise<void> {
  const all = await selectBoards(transaction, projectId).execute();
  const ids = all.map((row) => row.id).filter((each) => each !== id);
  ids.splice(position, 0, id);
  for (const [index, each] of ids.entries())
    await transaction.updateTable("boards").set({ position: index }).where("id", "=", each).execute();
}

async function insertBoard(
  control: Control,
  projectId: number,
  { name, tiles = [] }: NewBoard,
  position: number,
): Promise<Row> {
  const now = Date.now();
  return control
    .insertInto("boards")
    .values({
      id: Bun.randomUUIDv7(),
      projectId,
      name,
      tiles: JSON.stringify(tiles),
      position,
      linkHash: null,
      linkCreatedAt: null,
      createdAt: now,
      updatedAt: now,
      deletedAt: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

function unknownBoard() {
  return problem("board-unknown", { detail: "This project has no board with this ID." });
}

function summaryOf(row: Row): BoardSummary {
  return {
    id: row.id,
    name: row.name,
    isPublic: row.linkHash !== null,
    version: versionOf(row.name, row.tiles),
    linkVersion: versionOf(row.linkHash),
    createdAt: new Date(row.createdAt).toISOString(),
    updatedAt: new Date(row.updatedAt).toISOString(),
  };
}

function boardOf(row: Row): Board {
  return { ...summaryOf(row), tiles: JSON.parse(row.tiles) };
}
