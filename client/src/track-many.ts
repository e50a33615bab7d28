import { TidingsError, TidingsNetworkError } from "./errors.ts";
import { isPassing, type Policy, rejectionOf, request, waitToRetry } from "./request.ts";
import type { BatchAnswer } from "./wire.gen.ts";

/** The result for one event: it is stored with this id, or the error says why not. */
export type TrackResult =
  | { ok: true; id: string }
  | { ok: false; id: string; error: TidingsError | TidingsNetworkError };

/** An event with its id, and its JSON, which has the id too. */
export type ReadyEvent = { id: string; json: string };

/** What the service takes in one request. */
const chunkEventsMax = 10_000;
const chunkBytesMax = 16 * 1_048_576;
const megabyte = 1_048_576;

/**
 * Sends events in as few requests as they fit into, one after the other, and gives a verdict for each, in order. After a
 * request that failed as a whole the rest is not sent, and has the same error.
 *
 * Rejects only with the reason of a signal that was aborted.
 *
 * @param policy - `timeoutMs` is for each megabyte of a request that has begun
 */
export async function sendMany(
  url: string,
  headers: Record<string, string>,
  events: readonly ReadyEvent[],
  policy: Policy,
): Promise<TrackResult[]> {
  const verdicts: TrackResult[] = [];
  const waiting = [...chunksOf(events)];
  for (let chunk = waiting.shift(); chunk; chunk = waiting.shift()) {
    const { found, failure } = await sendChunk(url, headers, chunk, policy);
    const isTooLarge = failure instanceof TidingsError && failure.status === 413;
    // A proxy may take less than the service does.
    if (isTooLarge && chunk.length > 1) {
      const half = Math.ceil(chunk.length / 2);
      waiting.unshift(chunk.slice(0, half), chunk.slice(half));
      continue;
    }
    verdicts.push(...found);
    if (failure && !isTooLarge) {
      return [...verdicts, ...events.slice(verdicts.length).map(({ id }) => rejected(id, failure))];
    }
  }
  return verdicts;
}

/** Sends one request, and again what it had no place for at the moment. */
async function sendChunk(
  url: string,
  headers: Record<string, string>,
  events: readonly ReadyEvent[],
  policy: Policy,
): Promise<{ found: TrackResult[]; failure?: TidingsError | TidingsNetworkError }> {
  const found: TrackResult[] = [];
  let pending = events.map((event, index) => ({ event, index }));
  for (let attempt = 1; ; attempt++) {
    const body = `[${pending.map(({ event }) => event.json).join(",")}]`;
    const timeoutMs = policy.timeoutMs * Math.ceil(body.length / megabyte);
    const sent = pending.length;
    let answer: BatchAnswer;
    try {
      answer = await request<BatchAnswer>(
        url,
        { method: "POST", headers, body },
        { ...policy, timeoutMs },
        ({ results }) => Array.isArray(results) && results.length === sent,
      );
    } catch (error) {
      if (!(error instanceof TidingsError || error instanceof TidingsNetworkError)) throw error;
      for (const { event, index } of pending) found[index] = rejected(event.id, error);
      return { found, failure: error };
    }
    const again: typeof pending = [];
    for (const [place, result] of answer.results.entries()) {
      const { event, index } = pending[place]!;
      found[index] = result.ok ? result : rejected(event.id, rejectionOf(result.status, result));
      if (!result.ok && isPassing(result.status)) again.push(pending[place]!);
    }
    if (again.length === 0 || attempt > policy.retries) return { found };
    pending = again;
    await waitToRetry(attempt, policy);
  }
}

function rejected(id: string, error: TidingsError | TidingsNetworkError): TrackResult {
  return { ok: false, id, error };
}

function* chunksOf(events: readonly ReadyEvent[]): Generator<ReadyEvent[]> {
  const encoder = new TextEncoder();
  let chunk: ReadyEvent[] = [];
  // The brackets; then each event with its comma.
  let bytes = 2;
  for (const event of events) {
    const eventBytes = encoder.encode(event.json).length + 1;
    if (chunk.length > 0 && (chunk.length === chunkEventsMax || bytes + eventBytes > chunkBytesMax)) {
      yield chunk;
      chunk = [];
      bytes = 2;
    }
    chunk.push(event);
    bytes += eventBytes;
  }
  if (chunk.length > 0) yield chunk;
}
