import type { BodyPlace } from "./large-bodies.ts";
import { limits } from "./limits.ts";
import { ProblemError, problem } from "./problems.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });
const lenientDecoder = new TextDecoder();
const objectByte = "{".charCodeAt(0);
const arrayByte = "[".charCodeAt(0);

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
 * Throws the problems `content-type-unsupported`, `body-too-large`, `body-malformed` and `overloaded`.
 *
 * @param place - that it takes where it is large
 */
export async function readEventBytes(
  request: Request,
  type: string | null,
  length: string | null,
  place: BodyPlace,
): Promise<Uint8Array> {
  if (type !== "application/json" && !isJson(type) && !isPlainText(type)) throw unsupported(type);
  // Of what is gzipped or has no length, only its beginning tells that it is large.
  const onLarge = () => place.enter(limits.batchBytes);
  if (Number(length) > limits.requestBytes && Number(length) <= limits.batchBytes) {
    await (isGzipped(request) ? onLarge() : place.enter(Number(length)));
  }
  const sent = await readBytes(request, limits.batchBytes, length, onLarge);
  // Nearly all bodies are objects, which are not gzipped: they are spared the look at one more header.
  const bytes = sent[0] !== objectByte && isGzipped(request) ? await gunzip(sent, onLarge) : sent;
  if (bytes.length > limits.eventBytes && !isArray(bytes)) throw tooLarge(limits.eventBytes);
  return bytes;
}

/** Throws `body-malformed`. */
export function parseJson(bytes: Uint8Array, subject: "The body" | "The line" = "The body"): unknown {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw problem("body-malformed", { detail: `${subject} must be UTF-8, and has bytes that are not.` });
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    if (text.trim() === "")
      throw problem("body-malformed", { detail: `${subject} is empty. Send a JSON object.` });
    throw problem("body-malformed", { detail: `${subject} is not valid JSON: ${(error as Error).message}.` });
  }
}

/** What was sent, as far as it is text: each byte that is not UTF-8 stands as U+FFFD. */
export function decodeText(bytes: Uint8Array): string {
  return lenientDecoder.decode(bytes);
}

/** A request's body, gunzipped where it is gzipped, as the one who reads it takes it. Throws `content-type-unsupported`. */
export function bodyStream(request: Request): ReadableStream<Uint8Array> {
  const body = request.body ?? new Blob([]).stream();
  return isGzipped(request) ? body.pipeThrough(new DecompressionStream("gzip")) : body;
}

/**
 * Reads a whole body, of any kind.
 *
 * Throws `body-too-large`, before more than `bytesMax` are in memory, and `body-malformed` where the client went away.
 *
 * @param onLarge - waited for before the rest is read of a body without a length that is larger than most
 */
export async function readBytes(
  request: Request,
  bytesMax: number,
  length = request.headers.get("content-length"),
  onLarge?: () => Promise<void>,
): Promise<Uint8Array> {
  if (Number(length) > bytesMax) throw tooLarge(bytesMax);
  try {
    return length === null ? await collect(request.body, bytesMax, onLarge) : await request.bytes();
  } catch (error) {
    if (error instanceof ProblemError) throw error;
    throw problem("body-malformed", { detail: "The connection ended before the body did." });
  }
}

/** Throws `content-type-unsupported` for an encoding that is not known here. */
function isGzipped({ headers }: Request): boolean {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
  if (encoding === "gzip" || encoding === "x-gzip") return true;
  if (encoding === "identity" || encoding === "") return false;
  throw problem("content-type-unsupported", {
    detail: `Send the body as it is or with "content-encoding: gzip" instead of "${encoding.slice(0, 100)}".`,
  });
}

async function gunzip(bytes: Uint8Array, onLarge: () => Promise<void>): Promise<Uint8Array> {
  try {
    const stream = new Blob([new Uint8Array(bytes)]).stream().pipeThrough(new DecompressionStream("gzip"));
    return await collect(stream, limits.batchBytes, onLarge);
  } catch (error) {
    throw brokenGzip(error);
  }
}

/** What a failure while gunzipping means: the body's own fault, where it is not a problem already. */
function brokenGzip(error: unknown): Error {
  if (error instanceof ProblemError) return error;
  return problem("body-malformed", { detail: "The body is not valid gzip, or is cut off." });
}

async function collect(
  stream: ReadableStream<Uint8Array> | null,
  bytesMax: number,
  onLarge?: () => Promise<void>,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream ?? []) {
    length += chunk.length;
    if (length > bytesMax) throw tooLarge(bytesMax);
    if (length > limits.requestBytes) await onLarge?.();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function isArray(bytes: Uint8Array): boolean {
  return bytes.find((byte) => byte > 0x20) === arrayByte;
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
    detail: `Send JSON with the header "content-type: application/json"${type ? ` instead of "${type.slice(0, 100)}"` : ""}.`,
  });
}

function tooLarge(bytesMax: number): ProblemError {
  return problem("body-too-large", {
    detail: `The body must have at most ${bytesMax.toLocaleString("en")} bytes.`,
  });
}
