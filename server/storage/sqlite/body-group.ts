/**
 * The format of a group of compressed bodies: frames of up to 64 bodies, each frame compressed by itself (RFC 8878), so
 * that reading one body decompresses few others. Bodies are JSON, so none contains a line end, which separates them.
 *
 * An event's row refers to its body by the group's id and the body's ordinal in the group. Neither changes: a removed
 * body becomes an empty one.
 */

const groupVersion = 1;
/** More than a group can have: a reference is the group's id times this, plus the ordinal. */
const ordinalsOfGroup = 1_296;
/** Bodies in a frame: half as many take a fifth more space, twice as many take twice as long to read one of. */
const frameBodies = 64;
/** Characters after which a frame ends, so that long bodies are decompressed a few at a time. */
const frameCharacters = 32_768;
/** A frame is expected to have at least this share of the mean length of those before. */
const frameMargin = 0.95;
/** Level 6 makes groups a twentieth smaller, for three times the processor time. */
const zstdLevel = 3;

/** The length of `frames`. With it, a row has more before `bytes` than SQLite puts on its page at least (489 bytes). */
const frameTableBytes = 512;
const frameTableHeaderBytes = 2;
/** Of each frame the number of bodies (16 bits), the length (32) and the CRC-32 (32). */
const frameEntryBytes = 10;
const framesMax = Math.floor((frameTableBytes - frameTableHeaderBytes) / frameEntryBytes);

/** Overflow pages of a group, and of one whose first bodies need more. */
const overflowPages = 3;
const overflowPagesMax = 16;
const overflowBytes = 4_092;

/** The row of a group, without its id. */
export type BodyGroup = { events: number; frames: Uint8Array; bytes: Uint8Array };

/** A compressed frame. */
type Part = { count: number; bytes: Uint8Array };

/** A group that can't be read. The code makes it the same as a damaged page. */
export class DamagedGroup extends Error {
  readonly code = "SQLITE_CORRUPT_BODIES";

  constructor(group: number, what: string) {
    super(`compressed bodies, group ${group}: ${what}`);
  }
}

/** `first` is the ordinal of its first body, `at` its place in `bytes`. */
type Frame = { first: number; count: number; at: number; length: number; checksum: number };

/** Whether these are the `frames` of a group, of this version or a newer one. */
export function isGroup(frames: Uint8Array): boolean {
  return frames.length === frameTableBytes && frames[0]! >= groupVersion;
}

/** Whether a row's `body` is a reference. */
export function isReference(body: string): boolean {
  return body.charCodeAt(0) !== quotationMark;
}
const quotationMark = 34;

export function referenceOf(group: number, ordinal: number): number {
  return group * ordinalsOfGroup + ordinal;
}

export function groupOf(reference: number): number {
  return Math.floor(reference / ordinalsOfGroup);
}

export function ordinalOf(reference: number): number {
  return reference % ordinalsOfGroup;
}

/** The bounds of a group's references. */
export function referencesOf(group: number): [first: number, last: number] {
  return [referenceOf(group, 0), referenceOf(group, ordinalsOfGroup - 1)];
}

/** A reference as it is in a row: in base 36. */
export function referenceText(reference: number): string {
  return reference.toString(36);
}

export function parseReference(text: string): number {
  return Number.parseInt(text, 36);
}

/** Puts the first of these bodies into a group, as many as fit. */
export function packGroup(bodies: readonly string[]): BodyGroup {
  const parts: Part[] = [];
  const candidates = bodies.slice(0, ordinalsOfGroup);
  let [count, length] = [0, 0];
  while (count < candidates.length && parts.length < framesMax) {
    const bytesMax = paddedBytes(count < frameBodies ? overflowPagesMax : overflowPages);
    // The next frame is about as long as the others: don't compress one that does not fit.
    if (count > 0 && length + (length / parts.length) * frameMargin > bytesMax) break;
    const part = compressed(frameOf(candidates, count));
    if (count > 0 && length + part.bytes.length > bytesMax) break;
    parts.push(part);
    count += part.count;
    length += part.bytes.length;
  }
  return { events: count, ...joined(parts) };
}

/** Reads bodies of a group, and decompresses only the frames that have them. */
export class GroupReader {
  readonly #id: number;
  readonly #bytes: Uint8Array;
  readonly #frames: readonly (Frame & { bodies?: string[] })[];
  /** The characters and bytes that it keeps. */
  size: number;

  constructor(id: number, { frames, bytes }: BodyGroup) {
    this.#id = id;
    this.#bytes = bytes;
    this.#frames = framesOf(id, frames);
    this.size = bytes.length;
  }

  read(ordinal: number): string {
    const frame = this.#frames.find(({ first, count }) => ordinal < first + count);
    if (frame && !frame.bodies) {
      frame.bodies = decompressed(this.#id, frame, this.#bytes);
      for (const body of frame.bodies) this.size += body.length;
    }
    const body = frame?.bodies?.[ordinal - frame.first];
    // A removed body is empty.
    if (!body) throw new DamagedGroup(this.#id, `it has no body ${ordinal}`);
    return body;
  }

  /** Throws if a checksum is wrong. */
  check(): void {
    for (const frame of this.#frames) partOf(this.#id, frame, this.#bytes);
  }
}

/** The group without some of its bodies; null if none is left. */
export function withoutBodies(
  id: number,
  { frames, bytes }: BodyGroup,
  ordinals: ReadonlySet<number>,
): BodyGroup | null {
  const parts: Part[] = [];
  let events = 0;
  for (const frame of framesOf(id, frames)) {
    const bodies = decompressed(id, frame, bytes);
    const kept = bodies.map((body, index) => (ordinals.has(frame.first + index) ? "" : body));
    events += kept.filter((body) => body !== "").length;
    parts.push(
      kept.every((body, index) => body === bodies[index])
        ? { ...frame, bytes: partOf(id, frame, bytes) }
        : compressed(kept),
    );
  }
  return events === 0 ? null : { events, ...joined(parts) };
}

function frameOf(bodies: readonly string[], from: number): string[] {
  let [end, characters] = [from, 0];
  while (end < bodies.length && end < from + frameBodies && characters < frameCharacters) {
    characters += bodies[end++]!.length;
  }
  return bodies.slice(from, end);
}

function compressed(bodies: readonly string[]): Part {
  return { count: bodies.length, bytes: Bun.zstdCompressSync(bodies.join("\n"), { level: zstdLevel }) };
}

function partOf(id: number, { at, length, checksum }: Frame, bytes: Uint8Array): Uint8Array {
  const part = bytes.subarray(at, at + length);
  if (Bun.hash.crc32(part) !== checksum) throw new DamagedGroup(id, "a checksum is wrong");
  return part;
}

function decompressed(id: number, frame: Frame, bytes: Uint8Array): string[] {
  const bodies = Bun.zstdDecompressSync(partOf(id, frame, bytes))
    .toString()
    .split("\n");
  if (bodies.length !== frame.count)
    throw new DamagedGroup(id, `${bodies.length} bodies instead of ${frame.count}`);
  return bodies;
}

/**
 * The length of `bytes`: whole overflow pages.
 *
 * SQLite stores the beginning of a long row on its page and the rest on overflow pages
 * (https://www.sqlite.org/fileformat2.html#cell_payload_overflow_pages). When it moves rows to other pages, a copy of
 * the beginning can stay behind. With this length, the beginning is what comes before `bytes`, so it has nothing of a
 * body. Overflow pages are never copied, and zeroed when they are freed.
 *
 * Invariant: only overflow pages have frames of a group. Checked by `server/storage/sqlite/pack-bodies.test.ts`.
 */
function paddedBytes(pages: number): number {
  return pages * overflowBytes;
}

function joined(parts: readonly Part[]): { frames: Uint8Array; bytes: Uint8Array } {
  const table = new DataView(new ArrayBuffer(frameTableBytes));
  table.setUint8(0, groupVersion);
  table.setUint8(1, parts.length);
  const length = parts.reduce((sum, part) => sum + part.bytes.length, 0);
  const all = new Uint8Array(paddedBytes(Math.ceil(length / overflowBytes)));
  let at = 0;
  for (const [index, { count, bytes }] of parts.entries()) {
    const entry = frameTableHeaderBytes + index * frameEntryBytes;
    table.setUint16(entry, count);
    table.setUint32(entry + 2, bytes.length);
    table.setUint32(entry + 6, Bun.hash.crc32(bytes));
    all.set(bytes, at);
    at += bytes.length;
  }
  return { frames: new Uint8Array(table.buffer), bytes: all };
}

function framesOf(id: number, bytes: Uint8Array): Frame[] {
  if (bytes.length !== frameTableBytes || bytes[0] !== groupVersion || bytes[1]! > framesMax)
    throw new DamagedGroup(id, `its format is ${bytes[0]}, and this program's is ${groupVersion}`);
  const table = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let [first, at] = [0, 0];
  return Array.from({ length: bytes[1]! }, (_, index) => {
    const entry = frameTableHeaderBytes + index * frameEntryBytes;
    const frame = {
      first,
      count: table.getUint16(entry),
      at,
      length: table.getUint32(entry + 2),
      checksum: table.getUint32(entry + 6),
    };
    first += frame.count;
    at += frame.length;
    return frame;
  });
}
