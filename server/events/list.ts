import type { EventQuery, EventStore } from "../storage/store.ts";

/** The complete listing as a body that is made while it is read: a reader that pauses costs nothing. */
export function streamList(events: EventStore, query: EventQuery): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const chunks = events.stream(query)[Symbol.asyncIterator]();
  let isFirst = true;
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(encoder.encode('{"ok":true,"events":[')),
      async pull(controller) {
        const { value, done } = await chunks.next();
        if (done) {
          controller.enqueue(encoder.encode("]}"));
          controller.close();
          return;
        }
        if (!isFirst) controller.enqueue(encoder.encode(","));
        isFirst = false;
        controller.enqueue(value);
      },
      async cancel() {
        await chunks.return?.();
      },
    },
    { highWaterMark: 1 },
  );
}
