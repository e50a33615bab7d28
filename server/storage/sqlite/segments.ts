import type { Database } from "bun:sqlite";

/** How FTS5 begins the terms of its main index. */
const mainPrefix = "0";
/** Behind a cookie of four bytes, and four more that mark the form with tombstones, a structure record begins with how many levels there are. */
const levelsAt = 8;
/** A leaf's row is the number of its segment, shifted left, and its own. */
const leafShift = 2 ** 37;

/**
 * Makes the function that reads terms of the full-text index straight from its segments, in the order of UTF-8
 * (https://sqlite.org/src/file/ext/fts5/fts5_index.c, "Segment leaf page format"). FTS5 itself comes to the term behind one only
 * through all that this one points to: of a term that a million events have, that is thousands of pages.
 *
 * Terms of which every event was removed are given too, until their segment is merged.
 */
export function createReadTerms(database: Database) {
  const selectStructure = database.prepare<{ block: Uint8Array }, []>(
    "SELECT block FROM events_index_data WHERE id = 10",
  );
  const selectLeafOf = database.prepare<{ leaf: number }, [number, Uint8Array]>(
    "SELECT pgno >> 1 AS leaf FROM events_index_idx WHERE segid = ?1 AND term <= ?2 ORDER BY term DESC LIMIT 1",
  );
  const selectLeafBehind = database.prepare<{ leaf: number }, [number, Uint8Array]>(
    "SELECT pgno >> 1 AS leaf FROM events_index_idx WHERE segid = ?1 AND term > ?2 ORDER BY term LIMIT 1",
  );
  const selectLeaf = database.prepare<{ block: Uint8Array }, [number]>(
    "SELECT block FROM events_index_data WHERE id = ?1",
  );
  let structure: Uint8Array = new Uint8Array();
  /**
   * The terms of the leaf that was read last, of each segment: the next that is sought is on it, mostly. Before them, the segment has
   * none from the one that was sought then.
   */
  let leaves: { segment: number; sought: Uint8Array | null; terms: Uint8Array[] }[] = [];

  function termsOf(segment: number, leaf: { leaf: number } | null): Uint8Array[] {
    const row = leaf && selectLeaf.get(segment * leafShift + leaf.leaf);
    return row ? [...termsOn(row.block)] : [];
  }

  /** The first term of a segment that is a given one or stands behind it; null where there is none. */
  function firstFrom(read: (typeof leaves)[number], sought: Uint8Array): Uint8Array | null {
    const { segment, terms } = read;
    const isKnown = [terms[0], read.sought].some((from) => from && Buffer.compare(from, sought) <= 0);
    if (!isKnown || (terms.length > 0 && isBehind(terms, sought))) {
      read.terms = termsOf(segment, selectLeafOf.get(segment, sought));
      let isEnd = false;
      if (isBehind(read.terms, sought)) {
        const behind = selectLeafBehind.get(segment, sought);
        read.terms = termsOf(segment, behind);
        isEnd = behind === null;
      }
      // Of a segment that is being merged, the first leaves are gone, while the index still names them.
      read.sought = isEnd || read.terms.length > 0 ? sought : null;
    }
    let [low, high] = [0, read.terms.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (Buffer.compare(read.terms[middle]!, sought) < 0) low = middle + 1;
      else high = middle;
    }
    return read.terms[low] ?? null;
  }

  /** The first term that is a given one or stands behind it; null where there is none. */
  function next(sought: Uint8Array): Uint8Array | null {
    let next: Uint8Array | null = null;
    for (const leaf of leaves) {
      const first = firstFrom(leaf, sought);
      if (first && (next === null || Buffer.compare(first, next) < 0)) next = first;
    }
    return next;
  }

  /** Up to `count` terms that have a prefix, from a given one on. */
  return database.transaction((from: string, prefix: string, count: number): string[] => {
    const { block } = selectStructure.get()!;
    if (Buffer.compare(block, structure) !== 0) {
      structure = block;
      leaves = segmentsIn(block).map(({ number }) => ({ segment: number, sought: null, terms: [] }));
    }
    const terms: string[] = [];
    for (let sought: Uint8Array = Buffer.from(mainPrefix + from); terms.length < count; ) {
      const term = next(sought);
      const text = term && Buffer.from(term).toString();
      if (!term || !text!.startsWith(mainPrefix + prefix)) break;
      terms.push(text!.slice(mainPrefix.length));
      sought = Buffer.concat([term, noByte]);
    }
    return terms;
  });
}

/** Puts a place right behind a term: no term holds it. */
const noByte = new Uint8Array(1);

function isBehind(terms: Uint8Array[], sought: Uint8Array): boolean {
  const last = terms.at(-1);
  return last === undefined || Buffer.compare(last, sought) < 0;
}

/** The terms that begin on a leaf: where they stand is told at its end, each by the distance from the one before. */
function* termsOn(leaf: Uint8Array): Generator<Uint8Array> {
  const footer = new Varints(leaf, (leaf[2]! << 8) | leaf[3]!);
  let term: Uint8Array = new Uint8Array();
  for (let at = 0; footer.at < leaf.length; ) {
    const isFirst = at === 0;
    at += footer.next();
    const entry = new Varints(leaf, at);
    const kept = isFirst ? 0 : entry.next();
    const added = entry.next();
    const next = new Uint8Array(kept + added);
    next.set(term.subarray(0, kept));
    next.set(leaf.subarray(entry.at, entry.at + added), kept);
    term = next;
    yield term;
  }
}

/** How many levels of segments the index has. */
export function levelsIn(record: Uint8Array): number {
  return new Varints(record, levelsAt).next();
}

export type Segment = { number: number; tombstonePages: number };

/** The segments of the index, as its structure record tells ("Structure record" in the same file). */
export function segmentsIn(record: Uint8Array): Segment[] {
  const varints = new Varints(record, levelsAt);
  const next = () => varints.next();
  const segments: Segment[] = [];
  const levels = next();
  // How many segments there are, and how many writes there were.
  next();
  next();
  for (let level = 0; level < levels; level++) {
    // How many segments are being merged.
    next();
    const count = next();
    for (let segment = 0; segment < count; segment++) {
      const number = next();
      // First and last page, and origins.
      for (let field = 0; field < 4; field++) next();
      segments.push({ number, tombstonePages: next() });
      // How many of its entries are removed, and how many there are.
      next();
      next();
    }
  }
  return segments;
}

/** SQLite's numbers of one to nine bytes (https://sqlite.org/fileformat2.html#varint). */
class Varints {
  readonly #bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  next(): number {
    let value = 0;
    for (let bytes = 1; ; bytes++) {
      const byte = this.#bytes[this.at++]!;
      if (bytes === 9) return value * 256 + byte;
      value = value * 128 + (byte & 0x7f);
      if (byte < 0x80) return value;
    }
  }
}
