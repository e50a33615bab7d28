import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";

/** The size of all pages of our databases, if the header can't tell. */
const pageBytesUsual = 4_096;
const headerText = "SQLite format 3\0";

/** A log's header and the header of each page in it: https://sqlite.org/fileformat2.html#the_write_ahead_log */
const logHeaderBytes = 32;
const frameHeaderBytes = 24;
/** The last bit says whether the checksums read numbers with the high byte first. */
const logMagic = 0x377f0682;

/**
 * The pages of a database that may be damaged, read from the file and its log without SQLite. Of each page it has the
 * newest committed version that can be read.
 */
export class PageFile {
  readonly pageBytes: number;
  /** How many pages there are; they are numbered from 1. */
  readonly pages: number;
  /** Pages that a commit wrote to the log and that can't be read there. */
  readonly damagedFrames: number;
  readonly #file: number;
  readonly #log: number | null;
  /** Where in the log each page is. */
  readonly #inLog: ReadonlyMap<number, number>;

  constructor(path: string) {
    this.#file = openSync(path, "r");
    const logPath = `${path}-wal`;
    this.#log = existsSync(logPath) ? openSync(logPath, "r") : null;
    const header = readAt(this.#file, 0, 100);
    const logHeader = this.#log === null ? null : readAt(this.#log, 0, logHeaderBytes);
    this.pageBytes = pageBytesIn(header) ?? pageBytesInLog(logHeader) ?? pageBytesUsual;
    const log = this.#log === null ? null : readLog(this.#log, logHeader!, this.pageBytes);
    this.#inLog = log?.places ?? new Map();
    this.damagedFrames = log?.damaged ?? 0;
    const inFile = Math.ceil(fstatSync(this.#file).size / this.pageBytes);
    this.pages = log?.pages ?? inFile;
  }

  /** A page; what is missing of it at the end of a file that was cut off is zero. Null if there is no such page. */
  page(number: number): Buffer | null {
    if (number < 1 || number > this.pages) return null;
    const place = this.#inLog.get(number);
    if (place !== undefined) return readAt(this.#log!, place, this.pageBytes);
    return readAt(this.#file, (number - 1) * this.pageBytes, this.pageBytes);
  }

  close(): void {
    closeSync(this.#file);
    if (this.#log !== null) closeSync(this.#log);
  }
}

/** Reads bytes; what can't be read is zero, such as a sector that the disk has lost. */
function readAt(file: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  try {
    readSync(file, bytes, 0, length, at);
  } catch (error) {
    if ((error as { code?: string }).code !== "EIO") throw error;
  }
  return bytes;
}

function pageBytesIn(header: Buffer): number | null {
  if (header.toString("latin1", 0, headerText.length) !== headerText) return null;
  const bytes = header.readUInt16BE(16);
  return isPageSize(bytes) ? bytes : null;
}

function pageBytesInLog(header: Buffer | null): number | null {
  if (!header || (header.readUInt32BE(0) & ~1) >>> 0 !== logMagic) return null;
  const bytes = header.readUInt32BE(8);
  return isPageSize(bytes) ? bytes : null;
}

function isPageSize(bytes: number): boolean {
  return bytes >= 512 && bytes <= 32_768 && (bytes & (bytes - 1)) === 0;
}

type Log = {
  places: Map<number, number>;
  /** The pages of the database after the last commit in the log; null if the log has none. */
  pages: number | null;
  damaged: number;
};

/**
 * Finds the committed pages in a log. SQLite ends at the first frame that is damaged. But each frame's checksum begins
 * with the one stored in the frame before, so those after a damaged one can be checked too.
 */
function readLog(file: number, header: Buffer, pageBytes: number): Log {
  const frameBytes = frameHeaderBytes + pageBytes;
  const frames = Math.floor(Math.max(fstatSync(file).size - logHeaderBytes, 0) / frameBytes);
  const isHeaderWhole = pageBytesInLog(header) === pageBytes;
  // Checksums have the byte order of the machine that made the log. That of the usual machines is the low byte first.
  const isBigEndian = isHeaderWhole && (header.readUInt32BE(0) & 1) === 1;
  let salts = isHeaderWhole ? header.subarray(16, 24) : null;
  let before = header.subarray(24, 32);
  const found: { page: number; commit: number; place: number; isWhole: boolean }[] = [];
  let last = -1;
  for (let index = 0; index < frames; index++) {
    const place = logHeaderBytes + index * frameBytes;
    const frame = readAt(file, place, frameBytes);
    const isWhole =
      (salts === null || salts.equals(frame.subarray(8, 16))) && hasChecksum(frame, before, isBigEndian);
    // Frames of an earlier use of the log follow those of the last one.
    if (isWhole) salts ??= frame.subarray(8, 16);
    before = frame.subarray(16, 24);
    const [page, commit] = [frame.readUInt32BE(0), frame.readUInt32BE(4)];
    found.push({ page, commit, place: place + frameHeaderBytes, isWhole });
    if (isWhole && commit > 0) last = index;
  }
  const places = new Map<number, number>();
  let damaged = 0;
  for (const { page, place, isWhole } of found.slice(0, last + 1)) {
    if (isWhole) places.set(page, place);
    else damaged++;
  }
  return { places, pages: last < 0 ? null : found[last]!.commit, damaged };
}

/** Checks a frame's checksum (https://sqlite.org/fileformat2.html#checksum_algorithm). */
function hasChecksum(frame: Buffer, before: Buffer, isBigEndian: boolean): boolean {
  const numbers = new DataView(frame.buffer, frame.byteOffset, frame.length);
  let first = before.readUInt32BE(0);
  let second = before.readUInt32BE(4);
  const add = (from: number, to: number) => {
    for (let at = from; at < to; at += 8) {
      first = (first + numbers.getUint32(at, !isBigEndian) + second) | 0;
      second = (second + numbers.getUint32(at + 4, !isBigEndian) + first) | 0;
    }
  };
  add(0, 8);
  add(frameHeaderBytes, frame.length);
  return first === frame.readInt32BE(16) && second === frame.readInt32BE(20);
}
