import { readSync } from "node:fs";
import { endianness } from "node:os";

/*
 * SQLite's write-ahead log, read as https://www.sqlite.org/fileformat2.html#the_write_ahead_log describes it. Only the
 * log: opening the database or its shared memory beside SQLite would drop the process's locks.
 */

const headerBytes = 32;
/** Before each page: its number, the database's size after a commit, the log's salts, and the running checksum. */
const frameHeaderBytes = 24;
/** Frames that one read takes. */
const framesPerRead = 256;
/** More restarts at once than emptying the log again and again makes. */
const restartsMax = 1_000;
/** A scan ends with the first commit after this many frames. */
const scanFramesMax = 65_536;

const isBigEndianMachine = endianness() === "BE";

/** The two words of SQLite's running checksum. Each frame continues that of the frame before. */
export type WalChecksum = readonly [number, number];

export type WalHeader = {
  pageBytes: number;
  /** Incremented by each restart of the log. */
  salt1: number;
  /** Another random number for each restart. */
  salt2: number;
  isBigEndian: boolean;
  checksum: WalChecksum;
};

/**
 * How often the log was restarted since it had a first salt: SQLite adds one each time, also if the log was empty. Null
 * if it is another program's log.
 */
export function restartsSince(salt1: number, { salt1: now }: WalHeader): number | null {
  const restarts = (now - salt1) >>> 0;
  return restarts <= restartsMax ? restarts : null;
}

/** The place of a frame's page in the file. Frames count from 1. */
export function pageOffset(frame: number, pageBytes: number): number {
  return headerBytes + (frame - 1) * (frameHeaderBytes + pageBytes) + frameHeaderBytes;
}

/** Reads the header. Null if the log is empty, or its header is just being written. */
export function readWalHeader(handle: number): WalHeader | null {
  const bytes = Buffer.alloc(headerBytes);
  if (readSync(handle, bytes, 0, headerBytes, 0) < headerBytes) return null;
  const magic = bytes.readUInt32BE(0);
  if (magic !== 0x377f0682 && magic !== 0x377f0683) return null;
  const isBigEndian = magic === 0x377f0683;
  const checksum = addChecksum([0, 0], wordsOf(bytes.subarray(0, 24), isBigEndian));
  if (checksum[0] !== bytes.readInt32BE(24) || checksum[1] !== bytes.readInt32BE(28)) return null;
  return {
    pageBytes: bytes.readUInt32BE(8),
    salt1: bytes.readUInt32BE(16),
    salt2: bytes.readUInt32BE(20),
    isBigEndian,
    checksum,
  };
}

/** The checksum that a frame has in the file; null if the file is shorter. */
export function checksumAt(handle: number, { pageBytes, checksum }: WalHeader, frame: number) {
  if (frame === 0) return checksum;
  const bytes = Buffer.alloc(8);
  const at = pageOffset(frame, pageBytes) - 8;
  if (readSync(handle, bytes, 0, 8, at) < 8) return null;
  return [bytes.readInt32BE(0), bytes.readInt32BE(4)] as const;
}

export type WalScan = {
  /** The last committed frame, and its checksum. */
  frame: number;
  checksum: WalChecksum;
  /** The size of the database after it, in pages; 0 if nothing was committed. */
  databasePages: number;
  /** The newest frame of each page that was committed. */
  pages: Map<number, number>;
};

/**
 * Finds the committed frames that follow a frame. Ends at the first frame that is not of this log or not yet complete:
 * a frame is valid if its salts are the log's and its checksum continues that of the frames before.
 */
export function scanWal(handle: number, header: WalHeader, frame: number, checksum: WalChecksum): WalScan {
  const frameBytes = frameHeaderBytes + header.pageBytes;
  const scan: WalScan = { frame, checksum, databasePages: 0, pages: new Map() };
  const buffer = Buffer.alloc(framesPerRead * frameBytes);
  let uncommitted = new Map<number, number>();
  let running = checksum;
  for (let next = frame + 1; ; ) {
    const read = readSync(
      handle,
      buffer,
      0,
      buffer.length,
      pageOffset(next, header.pageBytes) - frameHeaderBytes,
    );
    const frames = Math.floor(read / frameBytes);
    for (let at = 0; at < frames * frameBytes; at += frameBytes, next++) {
      const bytes = buffer.subarray(at, at + frameBytes);
      if (bytes.readUInt32BE(8) !== header.salt1 || bytes.readUInt32BE(12) !== header.salt2) return scan;
      const begun = addChecksum(running, wordsOf(bytes.subarray(0, 8), header.isBigEndian));
      running = addChecksum(begun, wordsOf(bytes.subarray(frameHeaderBytes), header.isBigEndian));
      if (running[0] !== bytes.readInt32BE(16) || running[1] !== bytes.readInt32BE(20)) return scan;
      uncommitted.set(bytes.readUInt32BE(0), next);
      const databasePages = bytes.readUInt32BE(4);
      if (databasePages === 0) continue;
      for (const [page, of] of uncommitted) scan.pages.set(page, of);
      uncommitted = new Map();
      Object.assign(scan, { frame: next, checksum: running, databasePages });
      if (next - frame >= scanFramesMax) return scan;
    }
    if (frames < framesPerRead) return scan;
  }
}

/** The last committed frame, and its checksum. */
export function lastCommit(handle: number, header: WalHeader): { frame: number; checksum: WalChecksum } {
  let last = { frame: 0, checksum: header.checksum };
  for (;;) {
    const next = scanWal(handle, header, last.frame, last.checksum);
    if (next.frame === last.frame) return last;
    last = next;
  }
}

/** The bytes as words in the order of the log. */
function wordsOf(bytes: Buffer, isBigEndian: boolean): Int32Array {
  const isSwapped = isBigEndian !== isBigEndianMachine;
  const own = isSwapped || bytes.byteOffset % 4 !== 0 ? Buffer.from(bytes) : bytes;
  if (isSwapped) own.swap32();
  if (own.byteOffset % 4 === 0) return new Int32Array(own.buffer, own.byteOffset, own.length / 4);
  return new Int32Array(Uint8Array.from(own).buffer);
}

function addChecksum([first, second]: WalChecksum, words: Int32Array): WalChecksum {
  let [a, b] = [first, second];
  for (let at = 0; at < words.length; at += 2) {
    a = (a + words[at]! + b) | 0;
    b = (b + words[at + 1]! + a) | 0;
  }
  return [a, b];
}
