/**
 * A project among others: it posts an event and reads a page at a steady rate, whether or not the responses keep up. It
 * runs in a process of its own, so that the load of its neighbor doesn't distort its figures. It reads a `NeighborJob`
 * as JSON from stdin and prints a `NeighborResult` as JSON on stdout.
 */
import { runJob } from "./job.ts";
import { Latencies, type LatencySummary } from "./latencies.ts";

export type NeighborJob = { port: number; apiKey: string; durationMs: number };

/** `failed`: requests that got another status than success. */
export type NeighborResult = {
  posts: LatencySummary;
  pages: LatencySummary;
  health: LatencySummary;
  failed: number;
};

const postEveryMs = 20;
const pageEveryMs = 50;

/** Runs the job in this process. */
export async function beNeighbor({ port, apiKey, durationMs }: NeighborJob): Promise<NeighborResult> {
  const origin = `http://127.0.0.1:${port}`;
  const headers = { "x-api-key": apiKey, "content-type": "application/json" };
  let failed = 0;

  async function request(path: string, init: RequestInit, dueMs: number, latencies: Latencies) {
    // A timer may be early by a part of a millisecond.
    const startMs = Math.min(dueMs, performance.now());
    const response = await fetch(`${origin}${path}`, { headers, ...init }).catch(() => null);
    await response?.arrayBuffer();
    if (!response?.ok) failed++;
    latencies.add(performance.now() - startMs);
  }

  async function repeat(everyMs: number, send: (number: number, dueMs: number) => Promise<void>) {
    const startMs = performance.now();
    const sent: Promise<void>[] = [];
    for (let number = 0; number * everyMs < durationMs; number++) {
      const dueMs = startMs + number * everyMs;
      await Bun.sleep(Math.max(0, dueMs - performance.now()));
      sent.push(send(number, dueMs));
    }
    await Promise.all(sent);
  }

  const [posts, pages, health] = [new Latencies(), new Latencies(), new Latencies()];
  await Promise.all([
    repeat(postEveryMs, (number, dueMs) => {
      const event = { channel: "orders", name: "Order placed", userId: `user_${number % 100}` };
      return request("/api/events", { method: "POST", body: JSON.stringify(event) }, dueMs, posts);
    }),
    repeat(pageEveryMs, (number, dueMs) =>
      request(number % 2 === 0 ? "/api/events?limit=50" : "/api/events?limit=50&q=placed", {}, dueMs, pages),
    ),
    repeat(pageEveryMs, (_number, dueMs) => request("/healthz", {}, dueMs, health)),
  ]);
  return { posts: posts.summary(), pages: pages.summary(), health: health.summary(), failed };
}

if (import.meta.main) await runJob(beNeighbor);
