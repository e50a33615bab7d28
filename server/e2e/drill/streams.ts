import { createClient } from "../../../client/src/index.ts";
import { compareStamps, parseStampToken } from "../../event/id.ts";
import { openStream } from "../../testing/event-stream.ts";
import type { Installation } from "./installation.ts";

/** The wait before a stream is opened again. */
const retryMs = 500;
/** A stream has caught up within this time. */
const catchUpMs = 60_000;

/** What a live stream has delivered. */
export class StreamLog {
  readonly name: string;
  readonly ids = new Set<string>();
  doubled = 0;
  outOfOrder = 0;
  /** How often it was told that events were skipped. */
  resets = 0;
  #lastStamp: string | null = null;

  constructor(name: string) {
    this.name = name;
  }

  /** @param stamp - the id of the message, which is the event's arrival */
  add(id: string, stamp: string): void {
    if (this.ids.has(id)) this.doubled++;
    this.ids.add(id);
    const isLater =
      this.#lastStamp === null ||
      compareStamps(parseStampToken(this.#lastStamp)!, parseStampToken(stamp)!) < 0;
    if (!isLater) this.outOfOrder++;
    this.#lastStamp = stamp;
  }

  missing(ids: readonly string[]): number {
    return ids.filter((id) => !this.ids.has(id)).length;
  }
}

/** Live streams of all events: two as a browser follows them, two with the client library. */
export class Streams {
  readonly logs: readonly StreamLog[];
  readonly #abort = new AbortController();
  readonly #opened: Promise<unknown>;

  constructor(installation: Installation) {
    const follow = [followAsBrowser, followAsBrowser, followWithClient, followWithClient];
    const followed = follow.map((start, index) => {
      const log = new StreamLog(`stream ${index + 1}`);
      return { log, opened: start(installation, log, this.#abort.signal) };
    });
    this.logs = followed.map(({ log }) => log);
    this.#opened = Promise.all(followed.map(({ opened }) => opened));
  }

  /** Resolves once all are open. */
  async opened(): Promise<void> {
    await this.#opened;
  }

  /** Waits until all streams have delivered these events, and returns how many they lack in the end. */
  async missing(ids: readonly string[]): Promise<number> {
    for (const endMs = performance.now() + catchUpMs; ; await Bun.sleep(100)) {
      const missing = this.logs.reduce((sum, log) => sum + log.missing(ids), 0);
      if (missing === 0 || performance.now() > endMs) return missing;
    }
  }

  stop(): void {
    this.#abort.abort();
  }
}

type Follow = (installation: Installation, log: StreamLog, signal: AbortSignal) => Promise<void>;

/** Opens the stream again with `Last-Event-ID` whenever it ends, as `EventSource` does. */
const followAsBrowser: Follow = async ({ address, apiKey }, log, signal) => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const request = (path: string, { headers, ...init }: RequestInit = {}) =>
    fetch(address + path, { ...init, headers: { ...(headers as object), "x-api-key": apiKey } });
  void (async () => {
    for (let lastEventId: string | null = null; !signal.aborted; await Bun.sleep(retryMs)) {
      try {
        using stream = await openStream(
          { request },
          "",
          lastEventId === null ? {} : { "last-event-id": lastEventId },
        );
        signal.addEventListener("abort", () => stream.close());
        for (let message = await stream.next(); message; message = await stream.next()) {
          if (message.type === "ready") open();
          if (message.type === "reset") log.resets++;
          if (message.type === "event") log.add((JSON.parse(message.data) as { id: string }).id, message.id!);
          lastEventId = message.id ?? lastEventId;
        }
      } catch {
        // The node or the load balancer is gone; the next attempt may reach another one.
      }
    }
  })();
  return opened;
};

const followWithClient: Follow = async ({ address, apiKey }, log, signal) => {
  const client = createClient({ baseUrl: address, apiKey });
  const stream = client.live({}, { signal, onReset: () => log.resets++ });
  void (async () => {
    for await (const { id } of stream) log.add(id, stream.lastEventId!);
  })().catch(() => {});
  while (stream.lastEventId === undefined) await Bun.sleep(20);
};
