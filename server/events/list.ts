import { csvHeader } from "../event/csv.ts";
import type { EventForm } from "../event/event-form.ts";
import type { EventQuery, EventReader } from "../storage/store.ts";

/** What stands around a listing's events, and between two chunks of them. */
const frames: Record<EventForm, { head: string; between: string; tail: string }> = {
  json: { head: '{"ok":true,"events":[', between: ",", tail: "]}" },
  ndjson: { head: "", between: "", tail: "" },
  csv: { head: csvHeader, between: "", tail: "" },
};

/**
 * The complete listing as a body that is made while it is read: a reader that pauses costs nothing. It throws what the first events meet; what
 * later ones meet cuts the connection off, so that nobody takes the part for the whole.
 *
 * @param onError - told of what cuts a listing off
 */
export async function streamList(
  events: EventReader,
  query: EventQuery,
  onError: (error: unknown) => void,
): Promise<ReadableStream<Uint8Array>> {
  const { head, between, tail } = frames[query.form ?? "json"];
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
          next = first ?? (await chunks.next());
          first = null;
          // Nothing of what was read there is asked for.
          while (!next.done && next.value.length === 0 && !isCancelled) next = await chunks.next();
        } catch (error) {
          if (!isCancelled) onError(error);
          // Without a reason, which Bun would print.
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

/** A page as a body; JSON has room for the cursor of the next one. */
export function pageText(form: EventForm, events: string[], nextCursor: string | null): string {
  if (form === "json")
    return `{"ok":true,"events":[${events.join(",")}],"nextCursor":${JSON.stringify(nextCursor)}}`;
  return frames[form].head + events.join("");
}
