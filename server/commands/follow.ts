import { createParser } from "eventsource-parser";
import type { Event } from "../event/event.ts";
import { AnswerError, type Source } from "./source.ts";

/** How long to wait before connecting again: at first, and at most. */
const reconnectMs = { first: 500, most: 15_000 };
/** How long a server may take to answer, as for the client library. */
const connectMs = 10_000;
/** A connection that is silent for longer is dead, as for the client library: the server sends a heartbeat every 15 s. */
const silentMs = 40_000;

export type Listener = {
  /** Called once the stream is open, before its first event. */
  onReady: () => Promise<void>;
  onEvent: (event: Event) => Promise<void>;
  /** Called with a sentence when the connection is lost and when it is back. */
  onState: (sentence: string) => void;
};

/**
 * Follows the stream until the process ends. Connects again after a failure, from the last event on. Throws if the
 * first connection fails, or if the server says that the request is wrong.
 */
export async function follow(
  source: Source,
  query: URLSearchParams,
  listener: Listener,
  idleMs = silentMs,
): Promise<never> {
  const position: Position = { lastEventId: null };
  let waitMs = reconnectMs.first;
  let state = "connecting" as "connecting" | "connected" | "lost";
  const onOpen = async () => {
    if (state === "connecting") await listener.onReady();
    if (state === "lost") listener.onState("Connected again.");
    state = "connected";
    waitMs = reconnectMs.first;
  };
  for (;;) {
    try {
      await readStream(source, query, { position, listener, onOpen, idleMs });
    } catch (error) {
      // What fails at first is wrong; later it is a server that starts again, unless it says that the request is wrong.
      if (state === "connecting" || isFinal(error)) throw error;
    }
    if (state === "connected") listener.onState("Connection lost; reconnecting …");
    state = "lost";
    await Bun.sleep(waitMs);
    waitMs = Math.min(waitMs * 2, reconnectMs.most);
  }
}

type Position = { lastEventId: string | null };
type Stream = {
  /** Updated with each event. */
  position: Position;
  listener: Listener;
  onOpen: () => Promise<void>;
  idleMs: number;
};

/** Reads one connection until it ends. Throws if it can't be made, breaks, or is silent for too long. */
async function readStream(
  source: Source,
  query: URLSearchParams,
  { position, listener, onOpen, idleMs }: Stream,
): Promise<void> {
  const controller = new AbortController();
  /** Waits for the server only so long. The time that printing takes doesn't count. */
  const within = async <Result>(ms: number, work: Promise<Result>): Promise<Result> => {
    const timer = setTimeout(() => controller.abort(), ms);
    return work.finally(() => clearTimeout(timer));
  };
  try {
    const headers: Record<string, string> =
      position.lastEventId === null ? {} : { "last-event-id": position.lastEventId };
    const init = { headers, signal: controller.signal };
    const { body } = await within(connectMs, source.request(`/api/events/stream?${query}`, init));
    let messages: { id?: string | undefined; event?: string | undefined; data: string }[] = [];
    const parser = createParser({ onEvent: (message) => messages.push(message) });
    await onOpen();
    const decoder = new TextDecoder();
    for (const reader = body!.getReader(); ; ) {
      const { done, value } = await within(idleMs, reader.read());
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      for (const { id, event, data } of messages) {
        if (event === "event") await listener.onEvent(JSON.parse(data) as Event);
        if (event === "reset") listener.onState("Some events arrived while the connection was lost.");
        if (id !== undefined) position.lastEventId = id;
      }
      messages = [];
    }
  } finally {
    controller.abort();
  }
}

/** Whether the same request can't succeed later, for example because the key was revoked. */
function isFinal(error: unknown): boolean {
  return error instanceof AnswerError && error.status < 500 && ![408, 429].includes(error.status);
}
