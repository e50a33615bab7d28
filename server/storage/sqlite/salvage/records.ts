import type { PageFile } from "./page-file.ts";

/** Kinds of pages (https://sqlite.org/fileformat2.html#b_tree_pages). */
export const pageKinds = { tableInner: 5, tableLeaf: 13, indexInner: 2, indexLeaf: 10 } as const;

/** No row of ours is longer. */
const payloadBytesMax = 64_000_000;
/** The first page has the file's header before its own. */
const fileHeaderBytes = 100;

export type Value = null | number | string | Buffer;

/** A rowid in two halves of 32 bits, which are read faster than a bigint. */
export type RowId = { high: number; low: number };

/** A row as it is stored: the values of its columns; of a table with a rowid the rowid too. */
export type StoredRow = { rowid: RowId | null; values: Value[] };

/** A page of a b-tree: where its cells are. */
export type TreePage = { kind: number; bytes: Buffer; cells: number[]; rightChild: number };

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Reads the header of a page of a b-tree; null if it is none. */
export function treePage(bytes: Buffer, number: number): TreePage | null {
  const at = number === 1 ? fileHeaderBytes : 0;
  const kind = bytes[at]!;
  const isInner = kind === pageKinds.tableInner || kind === pageKinds.indexInner;
  if (!isInner && kind !== pageKinds.tableLeaf && kind !== pageKinds.indexLeaf) return null;
  const count = bytes.readUInt16BE(at + 3);
  const first = at + (isInner ? 12 : 8);
  if (count === 0 || first + 2 * count > bytes.length) return null;
  const cells = Array.from({ length: count }, (_, n) => bytes.readUInt16BE(first + 2 * n));
  return { kind, bytes, cells, rightChild: isInner ? bytes.readUInt32BE(at + 8) : 0 };
}

/** The child and the key of a cell on an inner page of a table: the child's rowids are up to the key. */
export function childOf({ bytes }: TreePage, cell: number): { child: number; key: RowId } | null {
  if (cell + 5 > bytes.length) return null;
  const key = new Cursor(bytes, cell + 4).rowid();
  return key && { child: bytes.readUInt32BE(cell), key };
}

/** Reads the row of a cell, with the overflow pages that it continues on. Null if it can't be read. */
export function rowOf(file: PageFile, { kind, bytes }: TreePage, cell: number): StoredRow | null {
  const cursor = new Cursor(bytes, kind === pageKinds.indexInner ? cell + 4 : cell);
  const length = cursor.varint();
  const rowid = kind === pageKinds.tableLeaf ? cursor.rowid() : null;
  if (length === null || length < 2 || length > payloadBytesMax) return null;
  if (kind === pageKinds.tableLeaf && rowid === null) return null;
  const payload = payloadAt(file, bytes, cursor.at, length, kind);
  const values = payload && valuesOf(payload);
  return values && { rowid, values };
}

/** How much of a row is on its page: https://sqlite.org/fileformat2.html#cell_payload_overflow_pages */
function payloadAt(file: PageFile, bytes: Buffer, at: number, length: number, kind: number): Buffer | null {
  const usable = bytes.length;
  const most = kind === pageKinds.tableLeaf ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23;
  if (length <= most) return at + length <= usable ? bytes.subarray(at, at + length) : null;
  const least = Math.floor(((usable - 12) * 32) / 255) - 23;
  const wanted = least + ((length - least) % (usable - 4));
  const local = wanted <= most ? wanted : least;
  if (at + local + 4 > usable) return null;
  // Nothing is reserved for a length that may be wrong.
  const parts = [bytes.subarray(at, at + local)];
  let next = bytes.readUInt32BE(at + local);
  for (let left = length - local; left > 0; left -= usable - 4) {
    const page = file.page(next);
    if (!page) return null;
    parts.push(page.subarray(4, 4 + Math.min(left, usable - 4)));
    next = page.readUInt32BE(0);
  }
  return Buffer.concat(parts);
}

/** The values of a record (https://sqlite.org/fileformat2.html#record_format). Null if it is none. */
function valuesOf(payload: Buffer): Value[] | null {
  const header = new Cursor(payload, 0);
  const headerBytes = header.varint();
  if (headerBytes === null || headerBytes > payload.length) return null;
  const values: Value[] = [];
  let at = headerBytes;
  while (header.at < headerBytes) {
    const type = header.varint();
    if (type === null || header.at > headerBytes) return null;
    const length = lengthOf(type);
    if (length === null || at + length > payload.length) return null;
    const value = valueAt(payload, at, type, length);
    if (value === undefined) return null;
    values.push(value);
    at += length;
  }
  return at === payload.length ? values : null;
}

const lengths = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0];

function lengthOf(type: number): number | null {
  if (type >= 12) return Math.floor((type - 12) / 2);
  return lengths[type] ?? null;
}

/** Undefined if a text is not UTF-8. */
function valueAt(payload: Buffer, at: number, type: number, length: number): Value | undefined {
  if (type === 0) return null;
  if (type === 8 || type === 9) return type - 8;
  if (type === 7) return payload.readDoubleBE(at);
  if (type === 6) return Number(payload.readBigInt64BE(at));
  if (type < 6) return payload.readIntBE(at, length);
  const bytes = payload.subarray(at, at + length);
  if (type % 2 === 0) return bytes;
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Reads variable-length integers. */
class Cursor {
  readonly #bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  /** Null if it is longer than lengths and types are, or beyond the end. */
  varint(): number | null {
    let value = 0;
    for (let count = 0; count < 5; count++) {
      const byte = this.#bytes[this.at++];
      if (byte === undefined) return null;
      value = value * 128 + (byte & 127);
      if (byte < 128) return value;
    }
    return null;
  }

  rowid(): RowId | null {
    let high = 0;
    let low = 0;
    for (let count = 0; count < 9; count++) {
      const byte = this.#bytes[this.at++];
      if (byte === undefined) return null;
      const bits = count === 8 ? 8 : 7;
      high = ((high << bits) | (low >>> (32 - bits))) >>> 0;
      low = ((low << bits) | (count === 8 ? byte : byte & 127)) >>> 0;
      if (byte < 128) break;
    }
    return { high, low };
  }
}
