import type { Kysely, Selectable, Transaction } from "kysely";
import type { Change } from "../audit/changes.ts";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { createLinkToken, hashLinkToken } from "../http/link-token.ts";
import type { AuditAction } from "../schemas/audit.ts";
import type { Board, BoardChange, BoardSummary, NewBoard } from "../schemas/board.ts";
import type { Tile } from "../schemas/tile.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { checkNamedCohorts } from "../storage/named-cohorts.ts";
import { withLock } from "../storage/settings.ts";
import { starterTiles } from "./starter-tiles.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;
type BoardRow = Selectable<ControlTables["boards"]>;

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
export async function createBoard(change: Change, board: NewBoard): Promise<Board> {
  const { transaction, projectId } = change;
  await lockBoards(transaction);
  await checkNamedCohorts(transaction, projectId, board);
  const position = await nextPosition(transaction, projectId);
  const created = boardOf(await insertBoard(transaction, projectId, board, position));
  await recordBoard(change, "board.created", created);
  return created;
}

/**
 * Changes a board's name, tiles or place. Throws `board-unknown`, and `changed-meanwhile` if it has another version.
 */
export async function changeBoard(
  change: Change,
  id: string,
  { tiles, ...body }: BoardChange,
  ifMatch: IfMatch,
): Promise<Board> {
  const { transaction, projectId } = change;
  await lockBoards(transaction);
  const before = await findBoard(transaction, projectId, id);
  checkVersion(ifMatch, before);
  await checkNamedCohorts(transaction, projectId, { tiles });
  const { name, position } = body;
  if (position !== undefined) await moveBoard(transaction, projectId, id, position);
  if (name !== undefined || tiles !== undefined)
    await transaction
      .updateTable("boards")
      .set({
        ...(name !== undefined && { name }),
        ...(tiles !== undefined && { tiles: JSON.stringify(tiles) }),
        updatedAt: Date.now(),
      })
      .where("id", "=", id)
      .execute();
  const after = await findBoard(transaction, projectId, id);
  await recordBoard(change, "board.changed", after, { ...body, ...(tiles && { tiles: tiles.length }) });
  return after;
}

/**
 * Deletes a board with its reports, and ends its public link. The last few deleted ones can be restored. Throws
 * `board-unknown`.
 */
export async function deleteBoard(change: Change, id: string): Promise<void> {
  const { transaction, projectId } = change;
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
  const { numDeletedRows } = await transaction
    .deleteFrom("reports")
    .where("boardId", "=", id)
    .executeTakeFirst();
  const reports = Number(numDeletedRows);
  await recordBoard(change, "board.deleted", board, reports > 0 ? { reports } : {});
}

/** Restores a deleted board, in its former place. Throws `board-unknown` and `limit-reached`. */
export async function restoreBoard(change: Change, id: string): Promise<Board> {
  const { transaction, projectId } = change;
  await lockBoards(transaction);
  await nextPosition(transaction, projectId);
  const row = await transaction
    .updateTable("boards")
    .set({ deletedAt: null })
    .where("projectId", "=", projectId)
    .where("id", "=", id)
    .where("deletedAt", "is not", null)
    .returningAll()
    .executeTakeFirst();
  if (!row) throw unknownBoard();
  const restored = boardOf(row);
  await recordBoard(change, "board.restored", restored);
  return restored;
}

/**
 * Creates a board's public link, and ends the former one. Returns its token. Throws `board-unknown`, and
 * `changed-meanwhile` if there is another link than the one that is to be replaced.
 */
export async function publishBoard(change: Change, id: string, ifMatch: IfMatch): Promise<string> {
  const { transaction, projectId } = change;
  await lockBoards(transaction);
  const board = await findBoard(transaction, projectId, id);
  checkLink(ifMatch, board);
  const token = createLinkToken();
  await transaction
    .updateTable("boards")
    .set({ linkHash: hashLinkToken(token), linkCreatedAt: Date.now() })
    .where("id", "=", id)
    .execute();
  await recordBoard(change, "board.published", board);
  return token;
}

/** Ends a board's public link. Throws `board-unknown`, and `changed-meanwhile` if it has another link by now. */
export async function unpublishBoard(change: Change, id: string, ifMatch: IfMatch): Promise<void> {
  const { transaction, projectId } = change;
  await lockBoards(transaction);
  const board = await findBoard(transaction, projectId, id);
  checkLink(ifMatch, board);
  await transaction
    .updateTable("boards")
    .set({ linkHash: null, linkCreatedAt: null })
    .where("id", "=", id)
    .execute();
  await recordBoard(change, "board.unpublished", board);
}

/** Records what was done to a board. Its tiles are not in the audit log: a search may name a user. */
function recordBoard(
  { record }: Change,
  action: Extract<AuditAction, `board.${string}`>,
  { id, name }: Board,
  detail: object = {},
): Promise<void> {
  return record({ action, target: name, detail: { id, ...detail } });
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

/** The place of one more board. Throws `limit-reached` if there can't be one more. */
async function nextPosition(transaction: Transaction<ControlTables>, projectId: number): Promise<number> {
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
): Promise<BoardRow> {
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

function summaryOf(row: BoardRow): BoardSummary {
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

function boardOf(row: BoardRow): Board {
  return { ...summaryOf(row), tiles: JSON.parse(row.tiles) };
}
