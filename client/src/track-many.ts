import { TidingsError, TidingsNetworkError } from "./errors.ts";
import { isTemporary, type Policy, request, responseError, waitToRetry } from "./request.ts";
import type { BatchResponse } from "./wire.gen.ts";

/** The result for one event: it is stored with this id, or the error says why not. */
export type TrackResult =
  | { ok: true; id: string }
  | { ok: false; id: string; error: TidingsError | TidingsNetworkError };

/** An event's id and its JSON, which includes the id. */
export type PreparedEvent = { id: string; json: string };

/** The server's limits of one request. */
const chunkEventsMax = 10_000;
const chunkBytesMax = 16 * 1_048_576;
const megabyte = 1_048_576;

/**
 * Sends events in as few requests as possible, one after the other, and returns a result for each, in order. After a
 * whole request fails, the rest is not sent and gets the same error.
 *
 * Rejects only with the reason of an aborted signal.
 *
 * @param policy - `timeoutMs` is per started megabyte of a request
 * @param onDuplicates - called with the number of events that a request had and that were stored before
 */
export async function sendMany(
  url: string,
  init: RequestInit,
  events: readonly PreparedEvent[],
  policy: Policy,
  onDuplicates: (events: number) => void = () => {},
): Promise<TrackResult[]> {
  const results: TrackResult[] = [];
  const chunks = [...chunksOf(events)];
  for (let chunk = chunks.shift(); chunk; chunk = chunks.shift()) {
    const { results: chunkResults, failure } = await sendChunk(url, init, chunk, policy, onDuplicates);
    const isTooLarge = failure instanceof TidingsError && failure.status === 413;
    // A proxy may accept less than the server does.
    if (isTooLarge && chunk.length > 1) {
      const half = Math.ceil(chunk.length / 2);
      chunks.unshift(chunk.slice(0, half), chunk.slice(half));
      continue;
    }
    results.push(...chunkResults);
    if (failure && !isTooLarge) {
      return [...results, ...events.slice(results.length).map(({ id }) => rejected(id, failure))];
    }
  }
  return results;
}

/** Sends one request, and retries the events in it that failed temporarily. */
async function sendChunk(
  url: string,
  init: RequestInit,
  events: readonly PreparedEvent[],
  policy: Policy,
  onDuplicates: (events: number) => void,
): Promise<{ results: TrackResult[]; failure?: TidingsError | TidingsNetworkError }> {
  const results: TrackResult[] = [];
  let pending = events.map((event, index) => ({ event, index }));
  for (let attempt = 1; ; attempt++) {
    const body = `[${pending.map(({ event }) => event.json).join(",")}]`;
    const timeoutMs = policy.timeoutMs * Math.ceil(body.length / megabyte);
    const sent = pending.length;
    let response: BatchResponse;
    try {
      response = await request<BatchResponse>(
        url,
        { ...init, body },
        { ...policy, timeoutMs },
        ({ results }) => Array.isArray(results) && results.length === sent,
      );
    } catch (error) {
      if (!(error instanceof TidingsError || error instanceof TidingsNetworkError)) throw error;
      for (const { event, index } of pending) results[index] = rejected(event.id, error);
      return { results, failure: error };
    }
    onDuplicates(response.duplicates ?? 0);
    const retry: typeof pending = [];
    for (const [position, result] of response.results.entries()) {
      const { event, index } = pending[position]!;
      results[index] = result.ok ? result : rejected(event.id, responseError(result.status, result));
      if (!result.ok && isTemporary(result.status)) retry.push(pending[position]!);
    }
    if (retry.length === 0 || attempt > policy.retries) return { results };
    pending = retry;
    await waitToRetry(attempt, policy);
  }
}

function rejected(id: string, error: TidingsError | TidingsNetworkError): TrackResult {
  return { ok: false, id, error };
}

/** Divides events into requests. An event that is larger than `bytesMax` gets a request of its own. */
export function* chunksOf(
  events: readonly PreparedEvent[],
  eventsMax = chunkEventsMax,
  bytesMax = chunkBytesMax,
): Generator<PreparedEvent[]> {
  const encoder = new TextEncoder();
  let chunk: PreparedEvent[] = [];
  // The brackets; each event adds its JSON and a comma.
  let bytes = 2;
  for (const event of events) {
    const eventBytes = encoder.encode(event.json).length + 1;
    if (chunk.length > 0 && (chunk.length === eventsMax || bytes + eventBytes > bytesMax)) {
      yield chunk;
      chunk = [];
      bytes = 2;
    }
    chunk.push(event);
    bytes += eventBytes;
  }
  if (chunk.length > 0) yield chunk;
}
