import { type ApiKeyCache, keyMissing, secretOf } from "../auth/api-key-cache.ts";
import { checkKey } from "../auth/authorizer.ts";
import { isSecret } from "../auth/key-secret.ts";
import { limits } from "../core/limits.ts";
import { dataHeaders, ProblemError, problem } from "../core/problems.ts";
import { readForeignBytes } from "../http/body.ts";
import { BodyPermit, type BodySemaphore } from "../http/body-semaphore.ts";
import type { KeyAccess } from "../http/caller.ts";
import { errorResponse, type FailureLog } from "../http/failures.ts";
import { parseForeignJson, rejectedText } from "../http/json.ts";
import { checkKeyOrigin, type KeyRateLimits, type RequestRateLimit } from "../ingest/key-limits.ts";
import type { Recorder } from "../ingest/record.ts";
import type { RejectedEvents } from "../ingest/rejected.ts";
import { type TurnOwner, Turns } from "../scheduling/turns.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import type { Store } from "../storage/store.ts";
import type { Item } from "./item.ts";
import { naming, type Outcome, recordItems, rejectItems } from "./record-items.ts";

export type DropInDeps = {
  keys: ApiKeyCache;
  recorder: Recorder;
  rejected: RejectedEvents;
  store: Store;
  failures: FailureLog;
  largeBodies: BodySemaphore;
  rateLimits: KeyRateLimits;
  secrets: SecretBox;
  setRequestTimeout: (request: Request, seconds: number) => void;
};

/** How a client of another service talks. */
export type Wire<Body> = {
  /** Its name in messages. */
  name: string;
  /** Parses the body; by default it is JSON. */
  parse?: (bytes: Uint8Array, request: Request) => Body | Promise<Body>;
  /** The API key, if it isn't in a header but in the body, or in an address that may have one. */
  keyIn?: (body: Body, request: Request) => string | undefined;
  /**
   * The items of a body, each made when it is read.
   *
   * @param nowMs - milliseconds since 1970
   */
  map: (body: Body, nowMs: number, request: Request) => Iterable<Item>;
  /** The response when all was recorded, or some was and the rest rejected. May throw a problem. */
  respond: (outcomes: Outcome[], body: Body, request: Request) => Response;
  /** Turns a problem into the client's own form. */
  explain?: (response: Response, request: Request) => Response | Promise<Response>;
};

export type Receive = ReturnType<typeof createReceive>;

/** Receives a request of a drop-in endpoint: its key, its body, its items, as each wire has them. */
export function createReceive(deps: DropInDeps) {
  const { keys, rejected, failures, largeBodies, rateLimits, setRequestTimeout } = deps;

  async function identify(secret: string, request: Request): Promise<KeyAccess> {
    const key = await keys.identifySecret(secret, request);
    checkKey(key, "events:send");
    if (key.kind === "publishable") checkKeyOrigin(key, request.headers.get("origin"));
    return key;
  }

  /**
   * Looks for a valid key in the text of a body, so that nobody without one can make the server parse megabytes.
   * Returns the problem instead: `key-missing` or `key-invalid`.
   */
  async function findKey(bytes: Uint8Array, request: Request): Promise<KeyAccess | ProblemError> {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let invalid: ProblemError | null = null;
    let tries = 0;
    for (let at = text.indexOf(keyStart); at >= 0 && tries < keyTries; at = text.indexOf(keyStart, at + 1)) {
      const secret = text.toString("latin1", at, at + keyLength);
      if (!isSecret(secret)) continue;
      tries++;
      try {
        return await keys.identifySecret(secret, request);
      } catch (error) {
        if (!(error instanceof ProblemError) || error.code !== "key-invalid") throw error;
        invalid = error;
      }
    }
    return invalid ?? keyNotFound();
  }

  async function handle<Body>(request: Request, wire: Wire<Body>, pathSecret?: string): Promise<Response> {
    const secret = pathSecret ?? secretInHeaders(request.headers);
    const keyOfHeaders = secret === null ? null : await identify(secret, request);
    if (!keyOfHeaders && !wire.keyIn) throw keyMissing();
    const permit = new BodyPermit(largeBodies, keyOfHeaders?.projectId ?? "strangers");
    const extendTimeout = (seconds: number) => setRequestTimeout(request, seconds);
    try {
      const bytes = await readForeignBytes(request, permit, extendTimeout, async (start) => {
        if (keyOfHeaders) return;
        // Many clients send the key before the events.
        const found = await findKey(start, request);
        if (!(found instanceof ProblemError)) permit.owner = found.projectId;
      });
      if (!keyOfHeaders && bytes.length === 0) throw keyMissing();
      if (!keyOfHeaders && bytes.length > limits.requestBytes) {
        const found = await findKey(bytes, request);
        if (found instanceof ProblemError) throw found;
      }
      let key = keyOfHeaders;
      let rateLimit: RequestRateLimit | null = null;
      let body: Body | undefined;
      let pieces: Pieces;
      let first: Item[];
      try {
        body = await (wire.parse ? wire.parse(bytes, request) : (parseForeignJson(bytes) as Promise<Body>));
        if (!key) {
          const inBody = wire.keyIn!(body, request);
          if (inBody === undefined) throw keyMissing();
          key = await identify(inBody, request);
        }
        rateLimit = rateLimits.of(key);
        const size = Math.min(limits.batchEvents, rateLimit?.windowEvents ?? limits.batchEvents);
        pieces = new Pieces(wire.map(body, Date.now(), request), size, key.projectId);
        first = await pieces.next();
        await rateLimit?.take(first.length);
      } catch (error) {
        if (!(error instanceof ProblemError)) throw error;
        const named = naming(wire.name, error);
        // A key in base64 would not be recognized and removed.
        const text = wire.keyIn && body !== undefined ? JSON.stringify(body) : rejectedText(bytes);
        // Wrong bodies count, too: everyone can read a publishable key, and what is kept displaces older ones.
        if (key && (await rateLimits.of(key)?.tryToTake(1)) !== false)
          await rejected.keep([{ body: text, problem: named }], key);
        throw named;
      }
      const outcomes = await recordItems(deps, wire.name, first, key);
      let limited: ProblemError | null = null;
      for (let piece = await pieces.next(); piece.length > 0; piece = await pieces.next()) {
        if (outcomes.length + piece.length > limits.foreignItems) throw tooManyItems();
        // The client wouldn't send the rest alone if it was told to try again.
        if (limited === null && (await rateLimit?.tryToTake(piece.length)) === false)
          limited = overRateLimit(outcomes.length);
        for (const outcome of limited
          ? await rejectItems(deps, wire.name, piece, key, limited)
          : await recordItems(deps, wire.name, piece, key))
          outcomes.push(outcome);
      }
      const response = wire.respond(outcomes, body, request);
      rateLimit?.addHeaders(response.headers);
      return response;
    } finally {
      permit.release();
    }
  }

  return async <Body>(request: Request, wire: Wire<Body>, pathSecret?: string): Promise<Response> => {
    try {
      return await handle(request, wire, pathSecret);
    } catch (error) {
      const response = errorResponse(error, failures, request);
      return wire.explain ? wire.explain(response, request) : response;
    }
  };
}

/**
 * A request's items in pieces, so that memory doesn't grow with their number. Clients don't divide a request that is
 * refused, so a larger one than an array may be is recorded in several steps.
 */
class Pieces {
  readonly #items: Iterator<Item>;
  readonly #size: number;
  readonly #turns: Turns;

  constructor(items: Iterable<Item>, size: number, owner: TurnOwner) {
    this.#items = items[Symbol.iterator]();
    this.#size = size;
    this.#turns = new Turns(owner);
  }

  /** Makes the next items, yielding to other requests; none at the end. */
  async next(): Promise<Item[]> {
    const piece: Item[] = [];
    let values = 0;
    while (piece.length < this.#size && values < limits.foreignPieceValues) {
      const { done, value } = this.#items.next();
      if (done) break;
      piece.push(value);
      values += value.values ?? 0;
      if (this.#turns.isOver) await this.#turns.next();
    }
    return piece;
  }
}

const keyStart = "tdg_";
const keyLength = 43;
/** Keys in a body that are looked up: events may mention some. */
const keyTries = 10;

function keyNotFound(): ProblemError {
  return problem("key-missing", {
    detail: `The body has no API key. If it has more than ${limits.requestBytes.toLocaleString("en")} bytes, send the key in the header "x-api-key", or the body as JSON with the key in it.`,
  });
}

/** The API key in `x-api-key`, in a bearer token, or as the user name of basic authentication (RFC 7617). */
function secretInHeaders(headers: Headers): string | null {
  const secret = secretOf(headers);
  if (secret !== null) return secret;
  const basic = /^basic +([\w+/=-]+)$/i.exec(headers.get("authorization") ?? "")?.[1];
  if (basic === undefined) return null;
  return Buffer.from(basic, "base64").toString().split(":", 1)[0] || null;
}

/** The channel that the address names, in the wires whose clients take a whole address. */
export function channelIn(request: Request, otherwise: string): string {
  return new URL(request.url).searchParams.get("channel") || otherwise;
}

export function jsonResponse(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", ...dataHeaders },
  });
}

/** The problem of a body whose form isn't the wire's. */
export function unfitBody(detail: string): ProblemError {
  return problem("body-invalid", { detail, errors: [{ pointer: "", detail }] });
}

function overRateLimit(recorded: number): ProblemError {
  return unfitBody(
    `The request had more events than the key's rate limit allows at once. The first ${recorded.toLocaleString("en")} were recorded; resend this one.`,
  );
}

function tooManyItems(): ProblemError {
  return problem("body-too-large", {
    detail: `A request can have at most ${limits.foreignItems.toLocaleString("en")} events. Those before were recorded.`,
  });
}
