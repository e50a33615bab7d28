import type { Servers } from "../kept-servers.ts";
import { EventSet, sentOf } from "./ledger.ts";

const retryMs = 200;

/** A live stream that is resumed when it ends. */
export class Stream {
  readonly delivered = new EventSet();
  readonly problems: string[] = [];
  /** Resolves when the stream is first open. */
  readonly opened: Promise<void>;
  readonly #abort = new AbortController();
  #markOpened = () => {};
  #lastEventId: string | null = null;
  count = 0;

  constructor(servers: Servers, apiKey: string, query: string) {
    this.opened = new Promise((resolve) => {
      this.#markOpened = resolve;
    });
    void this.#follow(servers, apiKey, query);
  }

  close(): void {
    this.#abort.abort();
  }

  async #follow(servers: Servers, apiKey: string, query: string): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      try {
        const response = await fetch(`${servers.address}/api/events/stream${query}`, {
          signal,
          headers: {
            "x-api-key": apiKey,
            ...(this.#lastEventId !== null && { "last-event-id": this.#lastEventId }),
          },
        });
        if (response.ok) await this.#read(response.body!);
      } catch {
        // The server is down, or the stream was closed.
      }
      await Bun.sleep(retryMs);
    }
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true });
      const messages = text.split("\n\n");
      text = messages.pop()!;
      for (const message of messages) this.#take(message);
    }
  }

  #take(message: string): void {
    const field = (name: string) => new RegExp(`^${name}: ([^\\n]*)$`, "m").exec(message)?.[1] ?? null;
    const type = field("event");
    this.#lastEventId = field("id") ?? this.#lastEventId;
    if (type === "ready") this.#markOpened();
    if (type === "reset") this.problems.push("A live stream was reset.");
    if (type !== "event") return;
    this.count++;
    const sent = sentOf((JSON.parse(field("data")!) as { id: string }).id);
    if (sent && this.delivered.add(sent))
      this.problems.push(`A live stream delivered ${JSON.stringify(sent)} twice.`);
  }
}
