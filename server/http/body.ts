import { limits } from "../limits.ts";
import { ProblemError, problem } from "../problems.ts";
import { Turns } from "../turns.ts";
import type { BodyPermit } from "./body-semaphore.ts";
import { JsonShape } from "./json-shape.ts";

// A byte order mark is taken off by `withoutMark`: within a text it is one of its characters.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lenientDecoder = new TextDecoder();
const objectByte = "{".charCodeAt(0);
const arrayByte = "[".charCodeAt(0);
/** Bytes of JSON that are parsed unseen: they hold too little to take long. */
const unseenBytes = 4_096;
type Subject = "The body" | "The line";

/**
 * Reads a request's JSON.
 *
 * Throws the problems `content-type-unsupported`, `body-too-large` and `body-malformed`.
 */
export async function readJson(request: Request, bytesMax: number): Promise<unknown> {
  const type = request.headers.get("content-type");
  if (type !== "application/json" && !isJson(type)) throw unsupported(type);
  return parseJson(await readBytes(request, bytesMax));
}

/**
 * Reads the bytes of an event, or of an array of them: JSON, also as `text/plain`, which is what `navigator.sendBeacon` sends,
 * and also gzipped.
 *
 * Throws the problems `content-type-unsupported`, `body-too-large`, `body-malformed`, `body-too-slow` and `overloaded`.
 *
 * @param place - that it takes where it is large
 * @param allow - gives the client so many seconds, from now, until it has to go on
 */
export async function readEventBytes(
  request: Request,
  type: string | null,
  length: string | null,
  place: BodyPermit,
  allow: (seconds: number) => void,
): Promise<Uint8Array> {
  if (type !== "application/json" && !isJson(type) && !isPlainText(type)) throw unsupported(type);
  // Of what is gzipped or has no length, only its beginning tells that it is large.
  const onLarge = async () => {
    allow(limits.batchSeconds);
    await place.enter(limits.batchBytes);
  };
  const isLarge = Number(length) > limits.requestBytes && Number(length) <= limits.batchBytes;
  if (isLarge) {
    allow(limits.batchSeconds);
    await place.enter(isGzipped(request) ? limits.batchBytes : Number(length));
    allow(limits.requestSeconds);
  }
  const sent =
    isLarge || length === null
      ? await readPaced(request, onLarge, allow)
      : await readBytes(request, limits.batchBytes, length);
  // Nearly all bodies are objects, which are not gzipped: they are spared the look at one more header.
  const bytes = sent[0] !== objectByte && isGzipped(request) ? await gunzip(sent, onLarge) : sent;
  const json = withoutMark(bytes);
  if (json.length > limits.eventBytes && !isArray(json)) throw tooLarge(limits.eventBytes);
  return json;
}

/** Throws `body-malformed`, and `body-invalid` where it is nested too deep or holds too much. */
export function parseJson(bytes: Uint8Array, subject: Subject = "The body"): unknown {
  const json = withoutMark(bytes);
  if (json.length > unseenBytes) {
    const shape = new JsonShape();
    shape.read(json);
    if (shape.fault) throw shape.fault;
  }
  return parseText(decodeStrictly(json, subject), subject);
}

/** Throws `body-malformed` where it is not UTF-8. */
export function decodeStrictly(bytes: Uint8Array, subject: Subject): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw problem("body-malformed", { detail: `${subject} must be valid UTF-8.` });
  }
}

/** Throws `body-malformed` where it is no JSON. */
export function parseText(text: string, subject: Subject): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (text.trim() === "")
      throw problem("body-malformed", { detail: `${subject} is empty. Send a JSON object.` });
    throw problem("body-malformed", { detail: `${subject} is not valid JSON: ${(error as Error).message}.` });
  }
}

/** What was sent, or as much of its beginning as is kept where it is rejected: each byte that is not UTF-8 stands as U+FFFD. */
export function keptText(bytes: Uint8Array): string {
  // A character has four bytes at most; one more tells that there was more.
  return lenientDecoder.decode(bytes.subarray(0, 4 * (limits.rejectedBodyCharacters + 1)));
}

/**
 * The pieces of a request's body, gunzipped where it is gzipped, as the one who reads them takes them.
 *
 * Throws `content-type-unsupported`, and `body-too-large` where it unpacks too far.
 */
export function bodyPieces(request: Request): AsyncIterable<Uint8Array> {
  const body = request.body ?? new Blob([]).stream();
  return isGzipped(request) ? gunzipped(body) : body;
}

/**
 * Reads a whole body, of any kind.
 *
 * Throws `body-too-large`, before more than `bytesMax` are in memory, and `body-malformed` where the client went away.
 */
export async function readBytes(
  request: Request,
  bytesMax: number,
  length = request.headers.get("content-length"),
): Promise<Uint8Array> {
  if (Number(length) > bytesMax) throw tooLarge(bytesMax);
  try {
    return length === null ? await collect(request.body, bytesMax) : await request.bytes();
  } catch (error) {
    throw brokenConnection(error);
  }
}

/** Reads a body that is or may become large, and gives up one that comes too slowly: others may be waiting for its place. */
async function readPaced(
  request: Request,
  onLarge: () => Promise<void>,
  allow: (seconds: number) => void,
): Promise<Uint8Array> {
  let startedAt: number | undefined;
  try {
    return await collect(request.body, limits.batchBytes, async (length) => {
      if (length <= limits.requestBytes) return;
      await onLarge();
      startedAt ??= performance.now();
      const lateSeconds = (performance.now() - startedAt) / 1_000 - limits.requestSeconds;
      if (length < lateSeconds * limits.bodyBytesPerSecond) throw tooSlow();
      allow(limits.requestSeconds);
    });
  } catch (error) {
    throw brokenConnection(error);
  } finally {
    allow(limits.batchSeconds);
  }
}

function brokenConnection(error: unknown): Error {
  if (error instanceof ProblemError) return error;
  return problem("body-malformed", { detail: "The connection closed before the whole body arrived." });
}

/** Throws `content-type-unsupported` for an encoding that is not known here. */
function isGzipped({ headers }: Request): boolean {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
  if (encoding === "gzip" || encoding === "x-gzip") return true;
  if (encoding === "identity" || encoding === "") return false;
  throw problem("content-type-unsupported", {
    detail: `Send the body uncompressed or with "content-encoding: gzip", not "${encoding.slice(0, 100)}".`,
  });
}

async function gunzip(bytes: Uint8Array, onLarge: () => Promise<void>): Promise<Uint8Array> {
  try {
    return await collect(
      gunzipped(new Blob([new Uint8Array(bytes)]).stream()),
      limits.batchBytes,
      async (length) => {
        if (length > limits.requestBytes) await onLarge();
      },
    );
  } catch (error) {
    if (error instanceof ProblemError) throw error;
    throw problem("body-malformed", { detail: "The body is not valid gzip, or is truncated." });
  }
}

/** Throws `body-too-large` where it unpacks to much more than was sent: a gigabyte of line ends is a megabyte of gzip. */
async function* gunzipped(packed: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  let sent = 0;
  let unpacked = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array<ArrayBuffer>>({
    transform(piece, controller) {
      sent += piece.length;
      controller.enqueue(piece as Uint8Array<ArrayBuffer>);
    },
  });
  for await (const piece of packed.pipeThrough(counted).pipeThrough(new DecompressionStream("gzip"))) {
    unpacked += piece.length;
    if (unpacked > Math.max(limits.eventBytes, sent * limits.gzipRatio)) throw unpacksTooFar();
    yield piece;
  }
}

/** @param onPiece - told of all that is read so far, before the rest is */
async function collect(
  pieces: AsyncIterable<Uint8Array> | null,
  bytesMax: number,
  onPiece?: (length: number) => Promise<void>,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const turns = new Turns();
  let length = 0;
  for await (const piece of pieces ?? []) {
    length += piece.length;
    if (length > bytesMax) throw tooLarge(bytesMax);
    await onPiece?.(length);
    chunks.push(piece);
    if (turns.isOver) await turns.next();
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

/** Whether bytes of JSON are an array's. */
export function isArray(bytes: Uint8Array): boolean {
  return bytes[firstFilled(bytes, 0)] === arrayByte;
}

/** Where the first byte from a place on stands that is not white space, as JSON has it. */
export function firstFilled(bytes: Uint8Array, start: number): number {
  let at = start;
  for (; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
  }
  return at;
}

function withoutMark(bytes: Uint8Array): Uint8Array {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
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

function unpacksTooFar(): ProblemError {
  return problem("body-too-large", {
    detail: `The gzip body unpacks to more than ${limits.eventBytes.toLocaleString("en")} bytes and more than ${limits.gzipRatio} times its size. Send smaller parts, or send it uncompressed.`,
  });
}

function tooSlow(): ProblemError {
  return problem("body-too-slow", {
    detail: `Send at least ${limits.bodyBytesPerSecond.toLocaleString("en")} bytes a second, or a smaller body.`,
  });
}
