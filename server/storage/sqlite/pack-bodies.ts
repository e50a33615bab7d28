import type { Database } from "bun:sqlite";
import {
  type BodyGroup,
  groupOf,
  isReference,
  ordinalOf,
  packGroup,
  parseReference,
  referenceOf,
  referencesOf,
  referenceText,
  withoutBodies,
} from "./body-group.ts";
import { type RowKey, rowKeyAt, rowKeySql } from "./row-key.ts";

/**
 * Rows that a step looks through for bodies to pack: at first and at least, at most, and how many more than the bodies
 * of the last group.
 */
const stepRowsMin = 128;
const stepRowsMax = 1_280;
const stepRowsFactor = 1.06;
/** Fewer bodies than this stay in their rows: a group would save little. */
const groupBodiesMin = 64;
/** Bytes of a page for rows; of a row besides its body; and of a row with a reference. */
const pageBytes = 4_088;
const rowBytes = 36;
const packedRowBytes = 40;
/** Bytes that a row with a long body has on its page, more or less. The rest is on pages of its own. */
const rowBytesMax = 2_048;
/** Rows that have at least two pages, whatever their bodies. */
const lastRows = 128;
/** How many pages of rows can become one, at most; and how much more than a page they may have by this estimate. */
const mergedPagesMax = 15;
const mergedBytesMax = pageBytes * 1.01;

type PlainRow = [ms: number, sequence: number, body: string, bytes: number];
type MovedRow = { projectId: bigint; id: string; arrival: bigint | null; body: string };
type PackableBlock = { fromMs: number; toMs: number; buildId: number };

/**
 * Moves bodies of events in older blocks into compressed groups, oldest first, and removes bodies from groups. Call each
 * function within a transaction.
 *
 * A row stays where it is when a reference replaces its body. SQLite merges pages only when a row is deleted from one that
 * is nearly empty: then this page and the two beside it become one, if that is enough. So some rows are deleted and
 * inserted again. This waits until the bodies on the next pages are packed too: copies of moved rows can stay in
 * unallocated space, and if these had bodies, most erasures would find some to zero (`unallocated.ts`).
 */
export function createPackBodies(database: Database) {
  const selectBlock = database.prepare<PackableBlock, [number]>(
    `SELECT from_ms AS fromMs, to_ms AS toMs, build_id AS buildId FROM blocks
     WHERE packed = 0 AND events > 0 AND from_ms <= (SELECT max(from_ms) FROM blocks WHERE events >= ?1)
     ORDER BY from_ms LIMIT 1`,
  );
  const markPacked = database.prepare("UPDATE blocks SET packed = 1 WHERE from_ms = ?1");
  const selectNth = database.prepare<{ rowKey: bigint }, [bigint, bigint, number]>(
    `SELECT row_key AS rowKey FROM events WHERE row_key >= ?1 AND row_key < ?2
     ORDER BY row_key LIMIT 1 OFFSET ?3`,
  );
  selectNth.safeIntegers(true);
  const selectPlain = database.prepare(
    `SELECT row_key >> 21, row_key & 2097151, body, octet_length(body) FROM events
     WHERE row_key >= ?1 AND row_key < ?2 AND unicode(body) = unicode('"') ORDER BY row_key`,
  );
  // One statement with a function takes half as long as a statement for each row.
  let references: { rows: PlainRow[]; group: number; ordinal: number } = { rows: [], group: 0, ordinal: 0 };
  database.function("next_reference", (ms: number, sequence: number): string => {
    const { rows, group, ordinal } = references;
    const [expectedMs, expectedSequence] = rows[ordinal] ?? [];
    if (ms !== expectedMs || sequence !== expectedSequence)
      throw new Error("SQLite updates rows in another order than it reads them.");
    references.ordinal++;
    return referenceText(referenceOf(group, ordinal));
  });
  const updateBodies = database.prepare(
    `UPDATE events SET body = next_reference(row_key >> 21, row_key & 2097151)
     WHERE row_key BETWEEN ?1 AND ?2 AND unicode(body) = unicode('"')`,
  );
  const deleteRow = database.prepare<MovedRow, [number, number]>(
    `DELETE FROM events WHERE row_key = ${rowKeySql("?1", "?2")}
     RETURNING project_id AS projectId, hex(id) AS id, arrival, body`,
  );
  deleteRow.safeIntegers(true);
  const insertRow = database.prepare(
    `INSERT INTO events (row_key, project_id, id, arrival, body)
     VALUES (${rowKeySql("?1", "?2")}, ?3, unhex(?4), ?5, ?6)`,
  );
  const insertGroup = database.prepare("INSERT INTO body_groups (events, frames, bytes) VALUES (?1, ?2, ?3)");
  const selectGroup = database.prepare<BodyGroup, [number]>(
    "SELECT events, frames, bytes FROM body_groups WHERE id = ?1",
  );
  const updateGroup = database.prepare(
    "UPDATE body_groups SET events = ?2, frames = ?3, bytes = ?4 WHERE id = ?1",
  );
  const deleteGroup = database.prepare("DELETE FROM body_groups WHERE id = ?1");
  const insertRemoved = database.prepare("INSERT OR IGNORE INTO removed_bodies (reference) VALUES (?1)");
  const selectRemoved = database.prepare<{ reference: number }, []>(
    "SELECT reference FROM removed_bodies ORDER BY reference LIMIT 1",
  );
  const selectRemovedIn = database.prepare<{ reference: number }, [number, number]>(
    "SELECT reference FROM removed_bodies WHERE reference BETWEEN ?1 AND ?2",
  );
  const deleteRemovedIn = database.prepare("DELETE FROM removed_bodies WHERE reference BETWEEN ?1 AND ?2");

  let next: { buildId: number; low: RowKey } = { buildId: 0, low: 0n };
  let stepRows = stepRowsMin;
  /** The last rows at which pages are to be merged. A restart forgets them, and wastes these pages. */
  let unmerged: PlainRow[] = [];
  const rowsToMerge = createRowsToMerge();

  /** Packs some bodies of a block, and marks it at its end. */
  function packIn({ fromMs, toMs, buildId }: PackableBlock, blockEventsMin: number): void {
    const low = next.buildId === buildId ? next.low : rowKeyAt(fromMs);
    const high = selectNth.get(low, rowKeyAt(toMs), stepRows)?.rowKey ?? rowKeyAt(toMs);
    const rows = selectPlain.values(low, high) as PlainRow[];
    const packed = rows.length < Math.min(groupBodiesMin, blockEventsMin) ? rows.length : pack(rows);
    const rest = rows[packed];
    next = { buildId, low: rest ? keyOf(rest) : high };
    if (next.low === rowKeyAt(toMs)) markPacked.run(fromMs);
  }

  /** Packs the first of these bodies into a group. Returns how many. */
  function pack(rows: PlainRow[]): number {
    const { events, frames, bytes } = packGroup(rows.map(([, , body]) => body));
    const { lastInsertRowid } = insertGroup.run(events, frames, bytes);
    const packed = rows.slice(0, events);
    references = { rows: packed, group: Number(lastInsertRowid), ordinal: 0 };
    updateBodies.run(keyOf(packed[0]!), keyOf(packed.at(-1)!));
    const last = new Set(packed.slice(-lastRows));
    const toMerge = [...unmerged, ...rowsToMerge(packed)];
    unmerged = toMerge.filter((row) => last.has(row));
    for (const row of toMerge) if (!last.has(row)) mergePages(row);
    const wanted = events === rows.length ? events * 2 : Math.ceil(events * stepRowsFactor);
    stepRows = Math.min(Math.max(stepRowsMin, wanted), stepRowsMax);
    return events;
  }

  /** Merges the page of a row with the two beside it, if it is nearly empty. */
  function mergePages([ms, sequence]: PlainRow): void {
    const row = deleteRow.get(ms, sequence);
    if (row) insertRow.run(ms, sequence, row.projectId, row.id, row.arrival, row.body);
  }

  /** Takes the removed bodies out of one group. Returns whether there was one. */
  function removeSome(): boolean {
    const removed = selectRemoved.get();
    if (!removed) return false;
    const id = groupOf(removed.reference);
    const ordinals = new Set(
      selectRemovedIn.all(...referencesOf(id)).map(({ reference }) => ordinalOf(reference)),
    );
    const group = selectGroup.get(id);
    const rest = group && ordinals.size < group.events ? withoutBodies(id, group, ordinals) : null;
    if (rest) updateGroup.run(id, rest.events, rest.frames, rest.bytes);
    else deleteGroup.run(id);
    deleteRemovedIn.run(...referencesOf(id));
    return true;
  }

  return {
    /** Notes that an event was removed, whose row had this in the column `body`. */
    removed(body: string): void {
      if (isReference(body)) insertRemoved.run(parseReference(body));
    },

    removeSome,

    /**
     * Takes removed bodies out of a group, or packs some bodies. Returns whether it did anything.
     *
     * @param blockEventsMin - the newest block with so many events is packed, and all older ones: those after it are
     *   small, and soon merged into a larger one
     */
    step(blockEventsMin: number): boolean {
      if (removeSome()) return true;
      const block = selectBlock.get(blockEventsMin);
      if (block) packIn(block, blockEventsMin);
      return block !== null;
    },

    /** Forgets where it was: the last step may not be stored. */
    rolledBack(): void {
      next = { buildId: 0, low: 0n };
      unmerged = [];
    },

    /** Whether `step` has anything to do. */
    isBehind: (blockEventsMin: number): boolean =>
      selectRemoved.get() !== null || selectBlock.get(blockEventsMin) !== null,
  };
}

function keyOf([ms, sequence]: PlainRow): RowKey {
  return rowKeyAt(ms, sequence);
}

export type PackBodies = ReturnType<typeof createPackBodies>;

/**
 * Returns a function that finds the rows at which to merge pages, so that these get full. If five pages can become one,
 * these are a row in the second page, which takes in the first and the third, and one in the fourth. The function is
 * called with the rows of one group after another.
 */
function createRowsToMerge(): (rows: PlainRow[]) => PlainRow[] {
  let [page, at] = [0, 0];
  const bytesOf = ([, , , bodyBytes]: PlainRow) => rowBytes + Math.min(bodyBytes, rowBytesMax);
  return (rows) => {
    const rowsOfPage = (pageBytes * rows.length) / rows.reduce((bytes, row) => bytes + bytesOf(row), 0);
    const pages = mergedBytesMax / (rowsOfPage * packedRowBytes);
    // Each merge takes in two more.
    const runPages = Math.min(1 + 2 * Math.floor((pages - 1) / 2), mergedPagesMax);
    return rows.filter((row) => {
      const isMiddle = at < pageBytes / 2 && at + bytesOf(row) >= pageBytes / 2;
      at += bytesOf(row);
      const isChosen = isMiddle && (page % runPages) % 2 === 1;
      if (at >= pageBytes) {
        at -= pageBytes;
        page++;
      }
      return isChosen;
    });
  };
}
