import type { LiveOptions } from "./client-types.ts";
import {
  failureOf,
  isTemporaryFailure,
  onAbortOf,
  type Policy,
  parse,
  requestedWaitMs,
  retryAfterMaxMs,
  waitToRetry,
} from "./request.ts";
import type { Event } from "./wire.gen.ts";

/** Where a stream is. */
export type StreamPosition = { lastEventId: string | undefined };

type Connection = StreamPosition & { requestedWaitMs: number };
type StreamRequest = { url: string; headers: Record<string, string>; policy: Policy };
type Message = { type: string | undefined; data: string };

/**
 * Streams events, and reconnects until a signal is aborted or the server rejects the request.
 *
 * @param position - updated with each event, before it is yielded
 */
export async function* streamEvents(
  request: StreamRequest,
  position: StreamPosition,
  { onReset, onDeleted, idleTimeoutMs = 40_000 }: LiveOptions,
): AsyncGenerator<Event> {
  for (let attempt = 1; ; attempt++) {
    const connection = Object.assign(position, { requestedWaitMs: 0 });
    for await (const { type, data } of messagesOf(request, connection, idleTimeoutMs)) {
      attempt = 0;
      if (type === "event") yield JSON.parse(data) as Event;
      else if (type === "reset") onReset?.();
      else if (type === "deleted") onDeleted?.(JSON.parse(data));
    }
    await waitToRetry(attempt || 1, request.policy, connection.requestedWaitMs);
  }
}

/**
 * Yields the messages of one connection, until it breaks or is silent. Throws only if reconnecting is of no use.
 *
 * Messages are as the server writes them, with one line for each field; the format allows more
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 */
async function* messagesOf(
  { url, headers, policy }: StreamRequest,
  connection: Connection,
  idleTimeoutMs: number,
): AsyncGenerator<Message> {
  const controller = new AbortController();
  const stopListening = onAbortOf(policy.signals, (reason) => controller.abort(reason));
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Null if the connection broke or is silent. */
  const within = async <Result>(
    start: () => Promise<Result>,
    ms = policy.timeoutMs,
  ): Promise<Result | null> => {
    clearTimeout(timer);
    timer = setTimeout(() => controller.abort(), ms);
    try {
      return await start();
    } catch {
      for (const signal of policy.signals) signal.throwIfAborted();
      return null;
    }
  };
  try {
    const { lastEventId } = connection;
    const response = await within(() =>
      policy.fetch(url, {
        headers: {
          ...headers,
          accept: "text/event-stream",
          ...(lastEventId && { "last-event-id": lastEventId }),
        },
        cache: "no-store",
        redirect: "manual",
        signal: controller.signal,
      }),
    );
    if (!response) return;
    if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
      const text = await within(() => response.text());
      if (text === null) return;
      const failure = failureOf(response, parse(text));
      if (!isTemporaryFailure(failure)) throw failure;
      connection.requestedWaitMs = Math.min(requestedWaitMs(failure), retryAfterMaxMs);
      return;
    }
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    for (let text = ""; ; ) {
      const read = await within(() => reader.read(), idleTimeoutMs);
      if (!read || read.done) return;
      const blocks = (text + decoder.decode(read.value, { stream: true })).split("\n\n");
      text = blocks.pop()!;
      // A caller who takes long over an event is no reason to reconnect.
      clearTimeout(timer);
      for (const block of blocks) {
        const fields = new Map(block.split("\n").map((line) => line.split(/: ?(.*)/s) as [string, string]));
        connection.lastEventId = fields.get("id") ?? connection.lastEventId;
        yield { type: fields.get("event"), data: fields.get("data")! };
      }
    }
  } finally {
    clearTimeout(timer);
    stopListening();
    controller.abort();
  }
}
