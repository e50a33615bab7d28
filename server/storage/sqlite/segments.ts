import type { Database } from "bun:sqlite";

/** FTS5's prefix for terms of its main index. */
const mainPrefix = "0";
/**
 * Where a structure record has its number of levels: after a cookie of 4 bytes and 4 bytes that mark the format with
 * tombstones.
 */
const levelsAt = 8;
/** The rowid of a leaf is its segment's number times this, plus its own number. */
const leafShift = 2 ** 37;

/**
 * Reads terms of the full-text index directly from its segments, in the order of UTF-8
 * (https://sqlite.org/src/file/ext/fts5/fts5_index.c, "Segment leaf page format"). FTS5 itself gets from one term to
 * the next only through all entries of the first: thousands of pages for a term on a million events.
 *
 * Terms whose events were all removed are included until their segment is merged.
 */
export function createReadTerms(database: Database) {
  const selectStructure = database.prepare<{ block: Uint8Array }, []>(
    "SELECT block FROM events_index_data WHERE id = 10",
  );
  const selectLeafOf = database.prepare<{ leaf: number }, [number, Uint8Array]>(
    "SELECT pgno >> 1 AS leaf FROM events_index_idx WHERE segid = ?1 AND term <= ?2 ORDER BY term DESC LIMIT 1",
  );
  const selectLeafAfter = database.prepare<{ leaf: number }, [number, Uint8Array]>(
    "SELECT pgno >> 1 AS leaf FROM events_index_idx WHERE segid = ?1 AND term > ?2 ORDER BY term LIMIT 1",
  );
  const selectLeaf = database.prepare<{ block: Uint8Array }, [number]>(
    "SELECT block FROM events_index_data WHERE id = ?1",
  );
  let structure: Uint8Array = new Uint8Array();
  /**
   * The leaf last read of each segment, as the next target is mostly on it. The segment has no term between `target`
   * and the leaf's first one.
   */
  let leaves: { segment: number; target: Uint8Array | null; terms: Uint8Array[] }[] = [];

  function termsOf(segment: number, leaf: { leaf: number } | null): Uint8Array[] {
    const row = leaf && selectLeaf.get(segment * leafShift + leaf.leaf);
    return row ? [...termsOn(row.block)] : [];
  }

  /** The first term of a segment at or after `target`, or null. */
  function firstFrom(read: (typeof leaves)[number], target: Uint8Array): Uint8Array | null {
    const { segment, terms } = read;
    const isCovered = [terms[0], read.target].some((from) => from && Buffer.compare(from, target) <= 0);
    if (!isCovered || (terms.length > 0 && endsBefore(terms, target))) {
      read.terms = termsOf(segment, selectLeafOf.get(segment, target));
      let isEnd = false;
      if (endsBefore(read.terms, target)) {
        const nextLeaf = selectLeafAfter.get(segment, target);
        read.terms = termsOf(segment, nextLeaf);
        isEnd = nextLeaf === null;
      }
      // While a segment is being merged, its first leaves are gone but the index still lists them.
      read.target = isEnd || read.terms.length > 0 ? target : null;
    }
    let [low, high] = [0, read.terms.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (Buffer.compare(read.terms[middle]!, target) < 0) low = middle + 1;
      else high = middle;
    }
    return read.terms[low] ?? null;
  }

  /** The first term of all segments at or after `target`, or null. */
  function next(target: Uint8Array): Uint8Array | null {
    let next: Uint8Array | null = null;
    for (const leaf of leaves) {
      const first = firstFrom(leaf, target);
      if (first && (next === null || Buffer.compare(first, next) < 0)) next = first;
    }
    return next;
  }

  /** Up to `count` terms with a prefix, starting at `from`. */
  return database.transaction((from: string, prefix: string, count: number): string[] => {
    const { block } = selectStructure.get()!;
    if (Buffer.compare(block, structure) !== 0) {
      structure = block;
      leaves = segmentsIn(block).map(({ number }) => ({ segment: number, target: null, terms: [] }));
    }
    const terms: string[] = [];
    for (let target: Uint8Array = Buffer.from(mainPrefix + from); terms.length < count; ) {
      const term = next(target);
      const text = term && Buffer.from(term).toString();
      if (!term || !text!.startsWith(mainPrefix + prefix)) break;
      terms.push(text!.slice(mainPrefix.length));
      target = Buffer.concat([term, zeroByte]);
    }
    return terms;
  });
}

/** Appended to a term, it makes the next possible target: no term contains it. */
const zeroByte = new Uint8Array(1);

function endsBefore(terms: Uint8Array[], target: Uint8Array): boolean {
  const last = terms.at(-1);
  return last === undefined || Buffer.compare(last, target) < 0;
}

/** The terms that begin on a leaf. Its footer has their offsets, each as the distance from the one before. */
function* termsOn(leaf: Uint8Array): Generator<Uint8Array> {
  const footer = new Varints(leaf, (leaf[2]! << 8) | leaf[3]!);
  let term: Uint8Array = new Uint8Array();
  for (let at = 0; footer.at < leaf.length; ) {
    const isFirst = at === 0;
    at += footer.next();
    const entry = new Varints(leaf, at);
    const sharedBytes = isFirst ? 0 : entry.next();
    const newBytes = entry.next();
    const next = new Uint8Array(sharedBytes + newBytes);
    next.set(term.subarray(0, sharedBytes));
    next.set(leaf.subarray(entry.at, entry.at + newBytes), sharedBytes);
    term = next;
    yield term;
  }
}

/** The number of segment levels of the index. */
export function levelsIn(record: Uint8Array): number {
  return new Varints(record, levelsAt).next();
}

export type Segment = { number: number; tombstonePages: number };

/** The segments in the index's structure record ("Structure record" in the same file). */
export function segmentsIn(record: Uint8Array): Segment[] {
  const varints = new Varints(record, levelsAt);
  const next = () => varints.next();
  const segments: Segment[] = [];
  const levels = next();
  // Number of segments, and write counter.
  next();
  next();
  for (let level = 0; level < levels; level++) {
    // Number of segments being merged.
    next();
    const count = next();
    for (let segment = 0; segment < count; segment++) {
      const number = next();
      // First and last page, and origins.
      for (let field = 0; field < 4; field++) next();
      segments.push({ number, tombstonePages: next() });
      // Number of removed entries, and of all entries.
      next();
      next();
    }
  }
  return segments;
}

/** Reads SQLite's varints of one to nine bytes (https://sqlite.org/fileformat2.html#varint). */
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
