/**
 * The space of a page that SQLite doesn't use, and its zeroing in the file itself. When SQLite moves rows to another
 * page, a copy can stay in the first page's unallocated space, which `secure_delete` does not zero. New rows can
 * overwrite a part of it, so that no search finds all of what is left of a text: all such space is zeroed.
 */
import type { Database } from "bun:sqlite";
import { fdatasyncSync, openSync, readSync, statSync, writeSync } from "node:fs";

/** SQLite's default, which all our files use. */
export const pageBytes = 4_096;
const fileHeaderBytes = 100;
/** Pages that are read together. */
const chunkPages = 256;
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
export function createZeroUnallocated(
  database: Database,
  file: string,
): (first: number, forMs: number) => number | null {
  /** Never closed, which would drop SQLite's locks (https://www.sqlite.org/howtocorrupt.html, section 2.2). */
  let descriptor: number | null = null;
  const zeros = Buffer.alloc(pageBytes);
  const entry = Buffer.alloc(1);

  /** Returns whether there was anything to zero. */
  function zero(opened: number, page: Buffer, number: number): boolean {
    // The schema's page is in no map, and has nothing of an event.
    const space = number === 1 ? null : unallocatedIn(page, number);
    if (!space) return false;
    const bytes = space.to - space.from;
    if (page.compare(zeros, 0, bytes, space.from, space.to) === 0) return false;
    readSync(opened, entry, 0, 1, mapEntryOf(number));
    if (!treeEntries.includes(entry[0]!)) return false;
    writeSync(opened, zeros, 0, bytes, (number - 1) * pageBytes + space.from);
    return true;
  }

  /** From a page on, for some milliseconds. Returns the next page, or null at the file's end. */
  function zeroFrom(opened: number, first: number, forMs: number): number | null {
    const chunk = Buffer.allocUnsafe(chunkPages * pageBytes);
    const endMs = performance.now() + forMs;
    let zeroed = 0;
    let next: number | null = first;
    do {
      const read: number = readSync(opened, chunk, 0, chunk.length, (next - 1) * pageBytes);
      for (let at = 0; at + pageBytes <= read; at += pageBytes)
        if (zero(opened, chunk.subarray(at, at + pageBytes), next + at / pageBytes)) zeroed++;
      next = read < chunk.length ? null : next + chunkPages;
    } while (next !== null && performance.now() < endMs);
    if (zeroed === 0) return next;
    fdatasyncSync(opened);
    // A page in the cache has its old content, and would be written with it at its next change.
    database.run("PRAGMA shrink_memory");
    return next;
  }

  /**
   * Zeroes the space of pages from number `first` on, for about `forMs` milliseconds. Returns the next page, or null at
   * the end of the file. If the log is not empty, it changes nothing and returns `first`.
   */
  return (first, forMs) => {
    descriptor ??= openSync(file, "r+");
    database.run("BEGIN IMMEDIATE");
    try {
      return statSync(`${file}-wal`).size > 0 ? first : zeroFrom(descriptor, first, forMs);
    } finally {
      database.run("ROLLBACK");
    }
  };
}
