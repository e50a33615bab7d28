import { limits } from "../core/limits.ts";
import { ProblemError, problem } from "../core/problems.ts";
import { Turns } from "../scheduling/turns.ts";
import type { BodyPermit } from "./body-semaphore.ts";
import { isArray, parseJson, withoutBom } from "./json.ts";

const objectByte = "{".charCodeAt(0);

/** Throws `content-type-unsupported`, `body-too-large` and `body-malformed`. */
export async function readJson(request: Request, bytesMax: number): Promise<unknown> {
  const type = request.headers.get("content-type");
  if (type !== "application/json" && !isJson(type)) throw unsupported(type);
  return parseJson(await readBytes(request, bytesMax));
}

/**
 * The same, also of a `text/plain` body, which pages of other sites can send without a preflight, and with the text of
 * the body.
 */
export async function readJsonText(
  request: Request,
  bytesMax: number,
): Promise<{ bytes: Uint8Array; parse: () => unknown }> {
  const type = request.headers.get("content-type");
  if (!isJson(type) && !isPlainText(type)) throw unsupported(type);
  const bytes = await readBytes(request, bytesMax);
  return { bytes, parse: () => parseJson(bytes) };
}

/**
 * Reads the bytes of an event or an array of events: JSON, optionally gzipped, also as `text/plain`, which
 * `navigator.sendBeacon` sends.
 *
 * Throws `content-type-unsupported`, `body-too-large`, `body-malformed`, `body-too-slow` and `overloaded`.
 *
 * @param permit - acquired if the body is large
 * @param extendTimeout - closes the connection after this many seconds from now
 */
export async function readEventBytes(
  request: Request,
  type: string | null,
  length: string | null,
  permit: BodyPermit,
  extendTimeout: (seconds: number) => void,
): Promise<Uint8Array> {
  if (type !== "application/json" && !isJson(type) && !isPlainText(type)) throw unsupported(type);
  // Bodies that are gzipped or have no length turn out to be large only while they are read.
  const onLarge = async () => {
    extendTimeout(limits.batchSeconds);
    await permit.acquire(limits.batchBytes);
  };
  const isLarge = Number(length) > limits.requestBytes && Number(length) <= limits.batchBytes;
  if (isLarge) {
    extendTimeout(limits.batchSeconds);
    await permit.acquire(isGzipped(request) ? limits.batchBytes : Number(length));
    extendTimeout(limits.requestSeconds);
  }
  const received =
    isLarge || length === null
      ? await readPaced(request, onLarge, extendTimeout)
      : await readBytes(request, limits.batchBytes, length);
  // Nearly all bodies are plain objects, and for these the header need not be read.
  const bytes = received[0] !== objectByte && isGzipped(request) ? await gunzip(received, onLarge) : received;
  const json = withoutBom(bytes);
  if (json.length > limits.eventBytes && !isArray(json)) throw tooLarge(limits.eventBytes);
  return json;
}

/**
 * Reads the bytes of a batch from a client of another service, whatever its content type says: gzip is recognized by
 * its first bytes, because some clients don't declare it.
 *
 * Throws as `readEventBytes` does.
 *
 * @param onLarge - called once with the first bytes of a large body, before it waits for its permit
 */
export async function readForeignBytes(
  request: Request,
  permit: BodyPermit,
  extendTimeout: (seconds: number) => void,
  onLarge: (start: Uint8Array) => Promise<void>,
): Promise<Uint8Array> {
  const length = request.headers.get("content-length");
  let isLarge = false;
  const acquire = async (received: readonly Uint8Array[]) => {
    extendTimeout(limits.batchSeconds);
    if (isLarge) return;
    isLarge = true;
    await onLarge(Buffer.concat(received));
    await permit.acquire(limits.foreignBatchBytes);
  };
  if (Number(length) > limits.foreignBatchBytes) throw tooLarge(limits.foreignBatchBytes);
  const received = await readPaced(request, acquire, extendTimeout, limits.foreignBatchBytes);
  if (!(received[0] === 0x1f && received[1] === 0x8b)) {
    // Throws for other encodings. A declared gzip without its first bytes was unpacked on the way.
    isGzipped(request);
    return received;
  }
  return gunzip(received, acquire, limits.foreignBatchBytes);
}

/**
 * A request's body in pieces, decompressed if it is gzipped, and read no faster than it is consumed.
 *
 * Throws `content-type-unsupported`, and `body-too-large` if it decompresses too far.
 */
export function bodyPieces(request: Request): AsyncIterable<Uint8Array> {
  const body = request.body ?? new Blob([]).stream();
  return isGzipped(request) ? decompressed(body) : body;
}

/**
 * Reads a whole body of any type.
 *
 * Throws `body-too-large` before more than `bytesMax` are in memory, and `body-malformed` if the connection closed.
 */
export async function readBytes(
  request: Request,
  bytesMax: number,
  length = request.headers.get("content-length"),
): Promise<Uint8Array> {
  if (Number(length) > bytesMax) throw tooLarge(bytesMax);
  try {
    return length === null ? await readAll(request.body, bytesMax) : await request.bytes();
  } catch (error) {
    throw brokenConnection(error);
  }
}

/**
 * Reads a body that is or may become large, and rejects one that arrives too slowly, since others may be waiting for
 * its permit.
 */
async function readPaced(
  request: Request,
  onLarge: OnLarge,
  extendTimeout: (seconds: number) => void,
  bytesMax: number = limits.batchBytes,
): Promise<Uint8Array> {
  let startMs: number | undefined;
  try {
    return await readAll(request.body, bytesMax, async (length, received) => {
      if (length <= limits.requestBytes) return;
      await onLarge(received);
      startMs ??= performance.now();
      const overtimeSeconds = (performance.now() - startMs) / 1_000 - limits.requestSeconds;
      if (length < overtimeSeconds * limits.bodyBytesPerSecond) throw tooSlow();
      extendTimeout(limits.requestSeconds);
    });
  } catch (error) {
    throw brokenConnection(error);
  } finally {
    extendTimeout(limits.batchSeconds);
  }
}

function brokenConnection(error: unknown): Error {
  if (error instanceof ProblemError) return error;
  return problem("body-malformed", { detail: "The connection closed before the whole body arrived." });
}

/** Throws `content-type-unsupported` for other encodings. */
function isGzipped({ headers }: Request): boolean {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
  if (encoding === "gzip" || encoding === "x-gzip") return true;
  if (encoding === "identity" || encoding === "") return false;
  throw problem("content-type-unsupported", {
    detail: `Send the body uncompressed or with "content-encoding: gzip", not "${encoding.slice(0, 100)}".`,
  });
}

async function gunzip(
  bytes: Uint8Array,
  onLarge: OnLarge,
  bytesMax: number = limits.batchBytes,
): Promise<Uint8Array> {
  try {
    return await readAll(
      decompressed(new Blob([new Uint8Array(bytes)]).stream()),
      bytesMax,
      async (length, received) => {
        if (length > limits.requestBytes) await onLarge(received);
      },
    );
  } catch (error) {
    if (error instanceof ProblemError) throw error;
    throw problem("body-malformed", { detail: "The body is not valid gzip, or is truncated." });
  }
}

/**
 * Throws `body-too-large` if it decompresses to much more than was sent: a gigabyte of line breaks is a megabyte of
 * gzip.
 */
async function* decompressed(compressed: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  let received = 0;
  let decompressedBytes = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array<ArrayBuffer>>({
    transform(piece, controller) {
      received += piece.length;
      controller.enqueue(piece as Uint8Array<ArrayBuffer>);
    },
  });
  for await (const piece of compressed.pipeThrough(counted).pipeThrough(new DecompressionStream("gzip"))) {
    decompressedBytes += piece.length;
    if (decompressedBytes > Math.max(limits.eventBytes, received * limits.gzipRatio)) {
      throw decompressesTooFar();
    }
    yield piece;
  }
}

/** Called with what was received of a large body, before more is read. */
type OnLarge = (received: readonly Uint8Array[]) => Promise<void>;

/** @param onPiece - called with the length so far and the pieces, before more is read */
async function readAll(
  pieces: AsyncIterable<Uint8Array> | null,
  bytesMax: number,
  onPiece?: (length: number, received: readonly Uint8Array[]) => Promise<void>,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const turns = new Turns("server");
  let length = 0;
  for await (const piece of pieces ?? []) {
    length += piece.length;
    if (length > bytesMax) throw tooLarge(bytesMax);
    chunks.push(piece);
    await onPiece?.(length, chunks);
    if (turns.isOver) await turns.next();
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

function isJson(type: string | null): boolean {
  return type !== null && /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type);
}

function isPlainText(type: string | null): boolean {
  return type !== null && /^text\/plain\s*(?:;|$)/i.test(type);
}

export function isNdjson(type: string | null): boolean {
  return type !== null && /^application\/(?:x-)?ndjson\s*(?:;|$)/i.test(type);
}

function unsupported(type: string | null): ProblemError {
  return problem("content-type-unsupported", {
    detail: `Send JSON with the header "content-type: application/json"${type ? `, not "${type.slice(0, 100)}"` : ""}.`,
  });
}

function tooLarge(bytesMax: number): ProblemError {
  return problem("body-too-large", {
    detail: `The body must have at most ${bytesMax.toLocaleString("en")} bytes.`,
  });
}

function decompressesTooFar(): ProblemError {
  return problem("body-too-large", {
    detail: `The gzip body unpacks to more than ${limits.eventBytes.toLocaleString("en")} bytes and more than ${limits.gzipRatio} times its size. Send smaller parts, or send it uncompressed.`,
  });
}

function tooSlow(): ProblemError {
  return problem("body-too-slow", {
    detail: `Send at least ${limits.bodyBytesPerSecond.toLocaleString("en")} bytes a second, or a smaller body.`,
  });
}
