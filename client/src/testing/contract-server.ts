import { problem } from "../../../server/core/problems.ts";
import { checkEvent } from "../../../server/event/check-event.ts";
import type { Event } from "../wire.gen.ts";

/** What goes wrong with the next request. */
type Mishap =
  | { response: Response; stored?: boolean }
  /** The event is stored, but no response is sent. */
  | "silence"
  /** The event is stored, but the connection breaks during the response. */
  | "broken-response";

export type ContractServer = {
  url: string;
  /** Every request that arrived, with the time in milliseconds. */
  requests: { method: string; url: URL; body: unknown; atMs: number }[];
  /** What is stored, by id. */
  events: Map<string, Event>;
  /** What goes wrong with the next requests, in order. */
  mishaps: Mishap[];
  [Symbol.asyncDispose](): Promise<void>;
};

export const apiKey = "tdg_sk_0123456789abcdefghijABCDEFGHIJabcdef";

/** A real HTTP server that implements `POST` and `GET /api/events`, and fails on demand. */
export function contractServer(): ContractServer {
  const requests: ContractServer["requests"] = [];
  const events: ContractServer["events"] = new Map();
  const mishaps: Mishap[] = [];

  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const url = new URL(request.url);
      const body = request.method === "POST" ? await request.json() : undefined;
      requests.push({ method: request.method, url, body, atMs: performance.now() });
      const mishap = mishaps.shift();
      if (mishap && typeof mishap === "object" && !mishap.stored) return mishap.response;
      const response = request.method === "POST" ? record(request, body) : list(request);
      if (!mishap) return response;
      if (typeof mishap === "object") return mishap.response;
      if (mishap === "silence") return new Promise(() => {});
      return new Response(
        new ReadableStream({
          async start(controller) {
            controller.enqueue(new TextEncoder().encode('{"ok":true,"event":{"id":"01'));
            await Bun.sleep(10);
            controller.error();
          },
        }),
        { status: 201 },
      );
    },
    error: () => new Response(null, { status: 500 }),
  });

  function record(request: Request, body: unknown): Response {
    const rejected = rejectKey(request);
    if (rejected) return rejected;
    const checked = checkEvent(body, Date.now());
    if (Array.isArray(checked)) {
      return problem("body-invalid", { detail: checked[0]!.detail, errors: checked }).toResponse();
    }
    const id = checked.id ?? Bun.randomUUIDv7();
    const stored = events.get(id);
    if (stored) return Response.json({ ok: true, event: stored });
    const { channel, name, userId, icon, notify, tags, createdAtMs } = checked;
    const createdAt = new Date(createdAtMs ?? Date.now()).toISOString();
    const event: Event = {
      id,
      name,
      channelId: channel,
      userId,
      ...(icon && { icon }),
      notify,
      tags,
      createdAt,
    };
    events.set(id, event);
    return Response.json({ ok: true, event }, { status: 201 });
  }

  function list(request: Request): Response {
    const rejected = rejectKey(request);
    if (rejected) return rejected;
    return Response.json({ ok: true, events: [...events.values()].reverse() });
  }

  return {
    url: `http://127.0.0.1:${server.port}`,
    requests,
    events,
    mishaps,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

function rejectKey(request: Request): Response | null {
  if (request.headers.get("x-api-key") === apiKey) return null;
  return problem("key-invalid", { detail: "This API key is not known." }).toResponse();
}
