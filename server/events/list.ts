import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";
import { csvHeader, csvHeaderWith, csvRowWith, type EventFormat } from "../event/event-format.ts";
import { TagCounts } from "../event/tag-counts.ts";
import type { EventQuery } from "../storage/event-queries.ts";
import type { EventReader } from "../storage/event-store.ts";

/** Text before, between and after the chunks of a listing. */
const frames: Record<EventFormat, { head: string; between: string; tail: string }> = {
  json: { head: '{"ok":true,"events":[', between: ",", tail: "]}" },
  ndjson: { head: "", between: "", tail: "" },
  csv: { head: csvHeader, between: "", tail: "" },
};

/** A listing in a format for clients. */
export type Listing = Omit<EventQuery, "tagColumns"> & {
  format: EventFormat;
  /** CSV with a column for each tag that the events have. */
  hasTagColumns: boolean;
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
  listing: Listing,
  setTimeout: (seconds: number) => void,
  onError: (error: unknown) => void,
): Promise<ReadableStream<Uint8Array>> {
  const { head, between, tail } = framesOf(listing);
  const encoder = new TextEncoder();
  const chunks = chunksOf(events, listing)[Symbol.asyncIterator]();
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
        await chunks.return();
      },
    },
    { highWaterMark: 1 },
  );
}

function framesOf({ format, hasTagColumns }: Listing) {
  // Its header is known once the tags are.
  return hasTagColumns ? { ...frames[format], head: "" } : frames[format];
}

/** A listing's chunks. For columns of tags, all events are read twice: to find the tags, and to write them. */
async function* chunksOf(
  events: EventReader,
  { hasTagColumns, ...query }: Listing,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (!hasTagColumns) {
    yield* events.stream(query);
    return;
  }
  const nothing = new Uint8Array();
  const counts = new TagCounts();
  for await (const chunk of events.stream({ ...query, format: "tagCounts" })) {
    if (chunk.length > 0) counts.addAll(JSON.parse(new TextDecoder().decode(chunk)) as [string, number][]);
    yield nothing;
  }
  const tagColumns = counts.columns();
  yield new TextEncoder().encode(csvHeaderWith(tagColumns));
  // Tags that are new since then are in the last column.
  yield* events.stream({ ...query, tagColumns });
}

/** Formats a page. JSON includes the cursor of the next one. */
export function pageText(format: EventFormat, events: string[], nextCursor: string | null): string {
  if (format === "json")
    return `{"ok":true,"events":[${events.join(",")}],"nextCursor":${JSON.stringify(nextCursor)}}`;
  return frames[format].head + events.join("");
}

/** A page of events, given as JSON, as CSV with a column for each of their tags. */
export function pageWithTagColumns(page: readonly string[]): string {
  const events = page.map((json) => JSON.parse(json) as Event);
  const counts = new TagCounts();
  for (const event of events) counts.add(event);
  const tagColumns = counts.columns();
  return csvHeaderWith(tagColumns) + events.map((event) => csvRowWith(event, tagColumns)).join("");
}
