import type { TestApp } from "./test-app.ts";

export type Message = { type: string; id: string | null; data: string };

/**
 * Opens a live stream and reads its messages as a browser would
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream).
 */
export async function openStream(
  app: Pick<TestApp, "request">,
  query = "",
  headers: Record<string, string> = {},
  key?: string,
) {
  const abortController = new AbortController();
  const response = await app.request(
    `/api/events/stream${query}`,
    { headers, signal: abortController.signal },
    key,
  );
  if (response.status !== 200)
    throw new Error(`The stream answered ${response.status}: ${await response.text()}`);
  const messages = read(response.body!);
  return {
    response,
    /** Resolves to the next message (of a type, if given; else any but heartbeats), or to null at the stream's end. */
    async next(type?: string): Promise<Message | null> {
      for (;;) {
        const { value, done } = await messages.next();
        if (done) return null;
        if (type === undefined ? value.type !== "heartbeat" : value.type === type) return value;
      }
    },
    /** Resolves to the parsed data of the next `count` events. */
    async events(count: number): Promise<{ id: string; name: string; [member: string]: unknown }[]> {
      const events = [];
      while (events.length < count) {
        const message = await this.next("event");
        if (!message) break;
        events.push(JSON.parse(message.data));
      }
      return events;
    },
    close: () => abortController.abort(),
    [Symbol.dispose]: () => abortController.abort(),
  };
}

async function* read(body: ReadableStream<Uint8Array>): AsyncGenerator<Message, void> {
  let text = "";
  const decoder = new TextDecoder();
  try {
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true });
      const blocks = text.split("\n\n");
      text = blocks.pop()!;
      for (const block of blocks) {
        const field = (name: string) => new RegExp(`^${name}: ([^\\n]*)$`, "m").exec(block)?.[1] ?? null;
        const type = field("event");
        if (type) yield { type, id: field("id"), data: field("data")! };
      }
    }
  } catch (error) {
    if ((error as Error).name !== "AbortError") throw error;
  }
}
