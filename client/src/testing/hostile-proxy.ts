import {
  createServer,
  request as forward,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

/** What goes wrong with a request. All but the first four pass the request on before that. */
export type Mishap =
  | "drop-request"
  | "500"
  | "429"
  | "413"
  | "drop-response"
  | "half-response"
  | "500-after"
  | "hang"
  | "slow";

export type HostileProxy = {
  url: string;
  /** What goes wrong with the next POST requests, in order; null is a request without mishap. */
  mishaps: (Mishap | null)[];
  /** How many events the POST requests had that were passed on. */
  batches: number[];
  /** Breaks the connections of live streams. */
  breakStreams(): void;
  [Symbol.asyncDispose](): Promise<void>;
};

const slowMs = 100;

/**
 * A proxy before a real server. Preflights, live streams and other GET requests pass.
 *
 * @param target - the server's address; as a function, if it changes. While nothing listens there, connections break.
 */
export async function hostileProxy(target: string | (() => string)): Promise<HostileProxy> {
  const addressOf = typeof target === "string" ? () => target : target;
  const streams = new Set<IncomingMessage>();
  const mishaps: HostileProxy["mishaps"] = [];
  const batches: number[] = [];

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const mishap = request.method === "POST" ? mishaps.shift() : null;
    const fail = (status: number, headers = {}) =>
      void response.writeHead(status, { "access-control-allow-origin": "*", ...headers }).end("no");
    if (mishap === "drop-request") return void request.socket.destroy();
    if (mishap === "500") return fail(500);
    if (mishap === "429") return fail(429, { "retry-after": "0" });
    if (mishap === "413") return fail(413);

    const { host: _, connection: __, ...headers } = request.headers;
    if (request.headers.accept === "text/event-stream") return stream(request, response, headers);
    const answer = await new Promise<{ status: number; headers: object; body: Buffer }>((resolve, reject) => {
      const passed = forward(
        addressOf() + request.url,
        { method: request.method, headers },
        async (incoming) => {
          const parts: Buffer[] = [];
          for await (const part of incoming) parts.push(part as Buffer);
          resolve({ status: incoming.statusCode!, headers: incoming.headers, body: Buffer.concat(parts) });
        },
      );
      passed.on("error", reject).end(body);
    });
    if (request.method === "POST") {
      const sent = JSON.parse(body.toString());
      batches.push(Array.isArray(sent) ? sent.length : 1);
    }
    if (mishap === "drop-response") return void request.socket.destroy();
    if (mishap === "500-after") return fail(502);
    if (mishap === "hang") return;
    if (mishap === "slow") await new Promise((resolve) => setTimeout(resolve, slowMs));
    response.writeHead(answer.status, { ...answer.headers, "content-length": answer.body.length });
    if (mishap !== "half-response") return void response.end(answer.body);
    response.write(answer.body.subarray(0, answer.body.length / 2), () => request.socket.destroy());
  }

  function stream(request: IncomingMessage, response: ServerResponse, headers: IncomingHttpHeaders): void {
    streams.add(request);
    const passed = forward(addressOf() + request.url, { headers }, (incoming) => {
      response.writeHead(incoming.statusCode!, incoming.headers);
      incoming.on("error", () => request.socket.destroy()).pipe(response);
    });
    passed.on("error", () => request.socket.destroy()).end();
    request.socket.once("close", () => {
      streams.delete(request);
      passed.destroy();
    });
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mishaps,
    batches,
    breakStreams() {
      for (const request of streams) request.socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
