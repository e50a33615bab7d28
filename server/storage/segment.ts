import { closeSync, fsyncSync, openSync, readSync, statSync, writeSync } from "node:fs";
import type { WalPosition } from "./log-position.ts";
import { createPrivateFile } from "./private-file.ts";

/*
 * A segment: the database's changes of some seconds, for continuous backups. After the mark at its begin it has recovery
 * points, each:
 *
 * - the length of its header (4 bytes), and the header as JSON
 * - pages in groups: how many (4 bytes), the length of what follows (4 bytes), and, compressed with Zstandard, their
 *   numbers (4 bytes each) and contents. A group of none ends the point
 * - SHA-256 of all of this
 *
 * Numbers are big-endian. A page that several commits changed is in a point once, as the last of them left it.
 */

const mark = Buffer.from("TIDINGS SEGMENT 1\n");
const digestBytes = 32;
/** Pages that are compressed together: 1 MB. */
const groupPages = 256;
/** A header is far shorter. */
const headerBytesMax = 4_096;
/** A group that is not compressible is a little longer than its pages, of at most 64 KB. */
const groupBytesMax = groupPages * 65_536 + 65_536;
/** Higher levels take several times as long for a few percent. */
const compressionLevel = 1;

/** A state of the database that can be recovered: after the last commit before a moment. */
export type RecoveryPoint = {
  /** The position before the changes, and after them. */
  from: WalPosition;
  to: WalPosition;
  /** All changes were committed before this time, and after the point before. */
  atMs: number;
  pageBytes: number;
  /** The database's size, in pages. */
  databasePages: number;
  /** Pages that changed. */
  pages: number;
};

/** Writes a segment. A process that ends meanwhile leaves the points that are complete. */
export class SegmentWriter {
  readonly #handle: number;
  readonly from: WalPosition;
  readonly file: string;
  /** The time of the first point and of the last. */
  firstMs = 0;
  lastMs = 0;
  bytes = 0;

  constructor(file: string, from: WalPosition) {
    createPrivateFile(file);
    this.file = file;
    this.from = from;
    this.#handle = openSync(file, "w", 0o600);
    this.#write(mark);
  }

  /** @param readPage - writes the content of a page to the buffer */
  append(point: RecoveryPoint, pages: number[], readPage: (page: number, to: Buffer) => void): void {
    const hash = new Bun.CryptoHasher("sha256");
    const put = (bytes: Uint8Array) => {
      hash.update(bytes);
      this.#write(bytes);
    };
    const header = Buffer.from(JSON.stringify(point));
    put(Buffer.concat([number32(header.length), header]));
    for (let at = 0; at < pages.length; at += groupPages) {
      const group = pages.slice(at, at + groupPages);
      const content = Buffer.alloc(group.length * (4 + point.pageBytes));
      for (const [index, page] of group.entries()) {
        content.writeUInt32BE(page, index * 4);
        const start = group.length * 4 + index * point.pageBytes;
        readPage(page, content.subarray(start, start + point.pageBytes));
      }
      const compressed = Bun.zstdCompressSync(content, { level: compressionLevel });
      put(Buffer.concat([number32(group.length), number32(compressed.length)]));
      put(compressed);
    }
    put(number32(0));
    this.#write(hash.digest());
    this.firstMs ||= point.atMs;
    this.lastMs = point.atMs;
  }

  /** Ends the segment. Returns when it is on disk. */
  end(): void {
    fsyncSync(this.#handle);
    this.close();
  }

  close(): void {
    closeSync(this.#handle);
  }

  #write(bytes: Uint8Array): void {
    for (let written = 0; written < bytes.length; )
      written += writeSync(this.#handle, bytes, written, bytes.length - written);
    this.bytes += bytes.length;
  }
}

/** A segment that can't be read. The message says why. */
export class DamagedSegment extends Error {}

/**
 * Reads the recovery points of a segment, each after its checksum was compared. Throws a DamagedSegment if it is
 * damaged or cut off.
 */
export function* readSegment(
  file: string,
): Generator<{ point: RecoveryPoint; pages: () => Generator<[page: number, content: Buffer]> }> {
  const handle = openSync(file, "r");
  const { size } = statSync(file);
  try {
    const read = (at: number, length: number, lengthMax: number): Buffer => {
      if (length > lengthMax || at + length > size) throw new DamagedSegment("it is cut off or damaged");
      const bytes = Buffer.alloc(length);
      readSync(handle, bytes, 0, length, at);
      return bytes;
    };
    if (!read(0, mark.length, mark.length).equals(mark))
      throw new DamagedSegment("it is not a segment that this version can read");
    for (let at = mark.length; at < size; ) {
      const hash = new Bun.CryptoHasher("sha256");
      const take = (length: number, lengthMax: number): Buffer => {
        const bytes = read(at, length, lengthMax);
        hash.update(bytes);
        at += length;
        return bytes;
      };
      const header = take(take(4, 4).readUInt32BE(), headerBytesMax);
      const groups: { at: number; pages: number; length: number }[] = [];
      for (;;) {
        const pages = take(4, 4).readUInt32BE();
        if (pages === 0) break;
        const length = take(4, 4).readUInt32BE();
        groups.push({ at, pages, length });
        take(length, groupBytesMax);
      }
      const digest = read(at, digestBytes, digestBytes);
      at += digestBytes;
      if (!digest.equals(hash.digest())) throw new DamagedSegment("its checksum is wrong");
      const point: RecoveryPoint = JSON.parse(header.toString());
      yield {
        point,
        *pages() {
          for (const group of groups) {
            const content = Buffer.from(Bun.zstdDecompressSync(read(group.at, group.length, groupBytesMax)));
            for (let index = 0; index < group.pages; index++) {
              const start = group.pages * 4 + index * point.pageBytes;
              yield [content.readUInt32BE(index * 4), content.subarray(start, start + point.pageBytes)];
            }
          }
        },
      };
    }
  } finally {
    closeSync(handle);
  }
}

function number32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
