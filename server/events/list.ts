import { csvHeader, type EventFormat } from "../event/event-format.ts";
import { limits } from "../limits.ts";
import type { EventQuery } from "../storage/event-queries.ts";
import type { EventReader } from "../storage/event-store.ts";

/** Text before, between and after the chunks of a listing. */
const frames: Record<EventFormat, { head: string; between: string; tail: string }> = {
  json: { head: '{"ok":true,"events":[', between: ",", tail: "]}" },
  ndjson: { head: "", between: "", tail: "" },
  csv: { head: csvHeader, between: "", tail: "" },
};

/**
 * Streams the complete listing. It is read as the client consumes it, so a client that pauses costs nothing. Throws if
 * the first chunk fails. If a later chunk fails, the connection is cut off, so that no client takes a part for the
 * whole.
 *
 * @param setTimeout - closes the connection after this many idle seconds: later while a chunk is searched for than while
 *   the client reads one
 * @param onError - called if a listing is cut off
 */
export async function streamList(
  events: EventReader,
  query: EventQuery,
  setTimeout: (seconds: number) => void,
  onError: (error: unknown) => void,
): Promise<ReadableStream<Uint8Array>> {
  const { head, between, tail } = frames[query.format ?? "json"];
  const encoder = new TextEncoder();
  const chunks = events.stream(query)[Symbol.asyncIterator]();
  let first: IteratorResult<Uint8Array> | null = await chunks.next();
  let isFirst = true;
  let isCancelled = false;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        if (head !== "") controller.enqueue(encoder.encode(head));
      },
      async pull(controller) {
        let next: IteratorResult<Uint8Array>;
        try {
          if (!first) setTimeout(limits.requestWorkSeconds);
          next = first ?? (await chunks.next());
          first = null;
          // Empty chunks are turns of a search that found nothing.
          while (!next.done && next.value.length === 0 && !isCancelled) {
            setTimeout(limits.requestWorkSeconds);
            next = await chunks.next();
          }
          setTimeout(limits.requestSeconds);
        } catch (error) {
          if (!isCancelled) onError(error);
          // Without an argument, which Bun would print.
          controller.error();
          return;
        }
        if (isCancelled) return;
        if (next.done) {
          if (tail !== "") controller.enqueue(encoder.encode(tail));
          controller.close();
          return;
        }
        if (!isFirst && between !== "") controller.enqueue(encoder.encode(between));
        isFirst = false;
        controller.enqueue(next.value);
      },
      async cancel() {
        isCancelled = true;
        await chunks.return?.();
      },
    },
    { highWaterMark: 1 },
  );
}

/** Formats a page. JSON includes the cursor of the next one. */
export function pageText(format: EventFormat, events: string[], nextCursor: string | null): string {
  if (format === "json")
    return `{"ok":true,"events":[${events.join(",")}],"nextCursor":${JSON.stringify(nextCursor)}}`;
  return frames[format].head + events.join("");
}
