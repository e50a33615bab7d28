/** The space of a page that SQLite doesn't use, and its zeroing in the file itself. */
import type { Database } from "bun:sqlite";
import { fdatasyncSync, openSync, readSync, statSync, writeSync } from "node:fs";

/** SQLite's default, which all our files use. */
export const pageBytes = 4_096;
const fileHeaderBytes = 100;
/** Types of B-tree pages, in their first byte. */
const interiorTypes = [2, 5];
const leafTypes = [10, 13];
/** Pages that one pointer map page describes, with five bytes each. */
const mappedPages = Math.floor(pageBytes / 5);
/** Types of a pointer map's entries that are B-tree pages: a root, and any other. */
const treeEntries = [1, 5];

/**
 * The offsets between a B-tree page's cell pointers and its cells, which SQLite never reads
 * (https://www.sqlite.org/fileformat2.html#b_tree_pages). Null if the page has none. Other kinds of pages can look like
 * a B-tree page: pointer maps are told apart here.
 */
export function unallocatedIn(page: Buffer, number: number): { from: number; to: number } | null {
  if (isMapPage(number)) return null;
  // The first page begins with the file's header.
  const header = number === 1 ? fileHeaderBytes : 0;
  const type = page[header]!;
  const isInterior = interiorTypes.includes(type);
  if (!isInterior && !leafTypes.includes(type)) return null;
  const from = header + (isInterior ? 12 : 8) + 2 * page.readUInt16BE(header + 3);
  const to = page.readUInt16BE(header + 5);
  return from < to && to <= pageBytes ? { from, to } : null;
}

/**
 * The page with the pointer map that describes a page. Files with `auto_vacuum` have such maps
 * (https://www.sqlite.org/fileformat2.html#pointer_map_or_ptrmap_pages).
 */
function mapPageOf(number: number): number {
  return Math.floor((number - 2) / (mappedPages + 1)) * (mappedPages + 1) + 2;
}

function isMapPage(number: number): boolean {
  return number > 1 && mapPageOf(number) === number;
}

/** Where a page's entry in the pointer map is, as an offset in the file. */
function mapEntryOf(number: number): number {
  const mapPage = mapPageOf(number);
  return (mapPage - 1) * pageBytes + 5 * (number - mapPage - 1);
}

/**
 * Returns a function that zeroes the unallocated space of pages. It writes to the file itself, without the write-ahead
 * log, because no statement can write there. It holds the lock of writers meanwhile, and the log is empty, so that the
 * file is all there is.
 *
 * Invariant: it changes no byte that SQLite reads, so it doesn't matter which of them have reached the disk when the
 * power is cut. Checked by `server/storage/sqlite/unallocated.test.ts`.
 */
export function createZeroUnallocated(database: Database, file: string): (pages: number[]) => boolean {
  /** Never closed, which would drop SQLite's locks (https://www.sqlite.org/howtocorrupt.html, section 2.2). */
  let descriptor: number | null = null;
  const zeros = Buffer.alloc(pageBytes);
  const page = Buffer.alloc(pageBytes);
  const entry = Buffer.alloc(1);

  function zero(opened: number, number: number): void {
    const offset = (number - 1) * pageBytes;
    // The schema's page is in no map, and has nothing of an event.
    if (number === 1) return;
    if (readSync(opened, page, 0, pageBytes, offset) < pageBytes) return;
    readSync(opened, entry, 0, 1, mapEntryOf(number));
    const space = treeEntries.includes(entry[0]!) ? unallocatedIn(page, number) : null;
    if (space) writeSync(opened, zeros, 0, space.to - space.from, offset + space.from);
  }

  /** Returns false, and changes nothing, if the log is not empty. */
  return (pages) => {
    descriptor ??= openSync(file, "r+");
    database.run("BEGIN IMMEDIATE");
    try {
      if (statSync(`${file}-wal`).size > 0) return false;
      for (const number of pages) zero(descriptor, number);
      fdatasyncSync(descriptor);
      // A page in the cache has its old content, and would be written with it at its next change.
      database.run("PRAGMA shrink_memory");
      return true;
    } finally {
      database.run("ROLLBACK");
    }
  };
}
