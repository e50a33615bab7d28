import { afterEach, expect, test } from "bun:test";
import { createEventCounter, drain } from "./drain.ts";

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

const event = '{"id":"1","name":"a","createdAt":"2026-01-01T00:00:00.000Z"}';
const listingOf = (events: number) => `{"ok":true,"events":[${Array(events).fill(event).join(",")}]}`;

function serve(respond: () => Response): number {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: respond });
  stops.push(() => server.stop(true));
  return server.port!;
}

test("events are counted wherever the listing is split", () => {
  const bytes = Buffer.from(listingOf(20));
  for (let size = 1; size <= 200; size++) {
    const countEvents = createEventCounter();
    let events = 0;
    for (let at = 0; at < bytes.length; at += size) events += countEvents(bytes.subarray(at, at + size));
    expect({ size, events }).toEqual({ size, events: 20 });
  }
});

test("one listing is read to the end", async () => {
  const port = serve(() => new Response(listingOf(1_000)));
  const result = await drain({ ports: [port], apiKey: "k", readers: 1, durationMs: null });
  expect(result.events).toBe(1_000);
  expect(result.bytes).toBe(listingOf(1_000).length);
});

test("readers start over until the time is up", async () => {
  let listings = 0;
  const port = serve(() => {
    listings++;
    return new Response(listingOf(10));
  });
  const { events } = await drain({ ports: [port], apiKey: "k", readers: 2, durationMs: 50 });
  expect(listings).toBeGreaterThanOrEqual(2);
  expect(events).toBe(listings * 10);
});

test("a rejected or truncated listing fails the run", async () => {
  const job = { apiKey: "k", readers: 1, durationMs: null };
  const rejected = serve(() => new Response("no such key", { status: 401 }));
  await expect(drain({ ports: [rejected], ...job })).rejects.toThrow("no such key");
  const truncated = serve(() => new Response(listingOf(10).slice(0, -1)));
  await expect(drain({ ports: [truncated], ...job })).rejects.toThrow("before it was whole");
});
