import { afterEach, expect, test } from "bun:test";
import { createNumberReader, type SteadyJob, steady } from "./steady.ts";

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

/** A server that sends each posted event to its live streams. */
function serveStreams() {
  const streams = new Set<ReadableStreamDefaultController<Uint8Array>>();
  let posted = 0;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    routes: {
      "/api/events": {
        POST: async (request) => {
          posted++;
          const frame = Buffer.from(`event: event\ndata: ${await request.text()}\n\n`);
          for (const stream of streams) stream.enqueue(frame);
          return Response.json({ ok: true }, { status: 201 });
        },
      },
      "/api/events/stream": () => {
        const body = new ReadableStream<Uint8Array>({
          start(controller) {
            streams.add(controller);
            controller.enqueue(Buffer.from("event: ready\ndata: {}\n\n"));
          },
        });
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      },
    },
  });
  stops.push(() => server.stop(true));
  return { port: server.port!, posted: () => posted, streams };
}

const job: Omit<SteadyJob, "ports"> = {
  apiKey: "k",
  perSecond: 200,
  warmupMs: 50,
  durationMs: 200,
  streams: 12,
  watchedStreams: 3,
};

test("every due event is posted and arrives at the watched streams", async () => {
  const { port, posted, streams } = serveStreams();
  const result = await steady({ ports: [port], ...job });
  expect(result.posted).toBe(50);
  expect(posted()).toBe(50);
  expect(streams.size).toBe(12);
  expect(result.answers.count).toBe(40);
  expect(result.arrivals.count).toBe(3 * 40);
  expect(result.arrivals.p50Ms).toBeLessThanOrEqual(result.arrivals.p99Ms);
});

test("numbers are read wherever the stream is split", () => {
  const numbers = Array.from({ length: 20 }, (_, number) => number * 7);
  const frames = numbers.map(
    (number) => `data: {"tags":{"number":"${String(number).padStart(10, "0")}"}}\n\n`,
  );
  const bytes = Buffer.from(frames.join(""));
  for (let size = 1; size <= 150; size++) {
    const read = createNumberReader();
    const seen: number[] = [];
    for (let at = 0; at < bytes.length; at += size) seen.push(...read(bytes.subarray(at, at + size)));
    expect(seen).toEqual(numbers);
  }
});

test("without streams only responses are measured", async () => {
  const { port } = serveStreams();
  const result = await steady({ ports: [port], ...job, streams: 0, watchedStreams: 0 });
  expect(result.answers.count).toBe(40);
  expect(result.arrivals.count).toBe(0);
});

test("a rejected POST or stream fails the run", async () => {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => new Response("overloaded", { status: 503 }),
  });
  stops.push(() => server.stop(true));
  const port = server.port!;
  await expect(steady({ ports: [port], ...job })).rejects.toThrow("a live stream was rejected");
  await expect(steady({ ports: [port], ...job, streams: 0 })).rejects.toThrow(
    "a post was answered 503: overloaded",
  );
});
