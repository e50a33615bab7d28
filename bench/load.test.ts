import { afterEach, expect, test } from "bun:test";
import { eventBodies, post } from "./events.ts";
import { type LoadJob, load } from "./load.ts";

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

function job(port: number | number[], changes: Partial<LoadJob> = {}): LoadJob {
  return {
    ports: [port].flat(),
    connections: 8,
    warmupMs: 50,
    durationMs: 200,
    expectedStatus: 201,
    requests: eventBodies.map((body) => post(body, "tdg_sk_x")),
    ...changes,
  };
}

function serve(respond: (request: Request) => Response | Promise<Response>): number {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: respond });
  stops.push(() => server.stop(true));
  return server.port!;
}

/** A raw TCP server that writes its response in the given chunks, with a pause after each. */
function serveBytes(chunks: string[]): { port: number; answered: () => number } {
  let answered = 0;
  const server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      async data(socket) {
        answered++;
        for (const chunk of chunks) {
          socket.write(chunk);
          await Bun.sleep(1);
        }
      },
    },
  });
  stops.push(() => server.stop(true));
  return { port: server.port, answered: () => answered };
}

test("counts exactly the server's responses", async () => {
  const seen = new Set<string>();
  let answered = 0;
  const port = serve(async (request) => {
    const text = await request.text();
    seen.add(text);
    answered++;
    return Response.json(JSON.parse(text), { status: 201 });
  });
  const result = await load(job(port));
  expect(result.acknowledged).toBe(answered);
  expect(seen.size).toBe(Math.min(answered, 500));
  expect(result.perSecond).toBeGreaterThan(0);
  expect(result.p50Ms).toBeLessThanOrEqual(result.p99Ms);
});

test("distributes connections among several servers", async () => {
  const answered = [0, 0, 0];
  const ports = answered.map((_, index) =>
    serve(async (request) => {
      await request.text();
      answered[index]!++;
      return new Response("ok", { status: 201 });
    }),
  );
  const result = await load(job(ports, { connections: 6 }));
  expect(answered.every((count) => count > 0)).toBe(true);
  expect(answered.reduce((sum, count) => sum + count)).toBe(result.acknowledged);
});

test("reassembles responses that arrive in chunks", async () => {
  const { port, answered } = serveBytes([
    "HTTP/1",
    ".1 201 Created\r\nX-Content-Len",
    "gth: 7\r\nContent-Length:  12\r",
    "\n\r",
    "\n12345",
    "6789012",
  ]);
  const result = await load(job(port));
  expect(result.acknowledged).toBe(answered());
  expect(result.acknowledged).toBeGreaterThan(8);
});

test("a response without a body counts", async () => {
  const { port, answered } = serveBytes(["HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n"]);
  expect((await load(job(port))).acknowledged).toBe(answered());
});

test("a response without content counts", async () => {
  const { port, answered } = serveBytes(["HTTP/1.1 204 No Con", "tent\r\nx-a: b\r\n\r", "\n"]);
  const result = await load(job(port, { expectedStatus: 204 }));
  expect(result.acknowledged).toBe(answered());
  expect(result.acknowledged).toBeGreaterThan(8);
});

test("requests are numbered where they should differ", async () => {
  const seen: [string, string][] = [];
  const port = serve(async (request) => {
    seen.push((await request.text()).split(" ") as [string, string]);
    return new Response("ok", { status: 201 });
  });
  const numbered = [
    { text: "c0c0c0", every: 1 },
    { text: "f0:f0", every: 4 },
  ];
  const result = await load(
    job(port, { connections: 1, requests: [post("c0c0c0 f0:f0", "k"), post("c0c0c0 f0:f0", "k")], numbered }),
  );
  expect(seen).toHaveLength(result.acknowledged);
  expect(seen.slice(0, 2)).toEqual([
    ["000000", "00:00"],
    ["000001", "00:00"],
  ]);
  const digits = (number: number, length: number) => number.toString(16).padStart(length, "0");
  for (const [number, [id, group]] of seen.entries()) {
    expect(id).toBe(digits(number, 6));
    expect(group.replace(":", "")).toBe(digits(Math.floor(number / 4), 4).slice(-4));
  }
});

test("sends requests that are larger than the socket's buffer", async () => {
  let bytes = 0;
  const port = serve(async (request) => {
    const { length } = await request.bytes();
    bytes += length;
    return new Response("ok", { status: 201 });
  });
  const body = JSON.stringify("x".repeat(8_000_000));
  const result = await load(job(port, { connections: 2, requests: [post(body, "k")] }));
  expect(bytes).toBe(result.acknowledged * body.length);
});

test("a server slower than the run is measured by its first response", async () => {
  const port = serve(async () => {
    await Bun.sleep(100);
    return new Response("ok", { status: 201 });
  });
  const result = await load(job(port, { connections: 1, warmupMs: 10, durationMs: 20 }));
  expect(result.counted).toBe(1);
  expect(result.perSecond).toBeLessThan(20);
});

test("another status fails the run with the response", async () => {
  const port = serve(() => new Response("the disk is full", { status: 507 }));
  await expect(load(job(port))).rejects.toThrow("the disk is full");
});

test("a connection closed by the server fails the run", async () => {
  const server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (socket) => void socket.end() },
  });
  stops.push(() => server.stop(true));
  await expect(load(job(server.port))).rejects.toThrow("the server closed a connection");
});
