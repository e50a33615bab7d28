import { afterAll, beforeAll, expect, test } from "bun:test";
import { effort, patienceMs } from "../../server/testing/engine.ts";
import { type TestApp, testApp } from "../../server/testing/test-app.ts";
import {
  createClient,
  type Fetch,
  type ListFilters,
  TidingsError,
  TidingsNetworkError,
  type TrackedEvent,
} from "./index.ts";
import type { BatchResponse } from "./wire.gen.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

type Sent = { body: string; events: TrackedEvent[] };

/** A client of the real server, and the requests it sent; `intercept` sees each of them first. */
function client(
  intercept: (sent: Sent, forward: (body: string) => Promise<Response>) => Promise<Response> = (
    { body },
    forward,
  ) => forward(body),
) {
  const requests: Sent[] = [];
  const intercepting: Fetch = (url, init) => {
    const body = init.body as string;
    const sent = { body, events: JSON.parse(body) as TrackedEvent[] };
    requests.push(sent);
    return intercept(sent, (changed) => fetch(url, { ...init, body: changed }));
  };
  // A request that takes too long would be sent again, and be one more.
  const options = { baseUrl: app.address, apiKey: app.key, fetch: intercepting, timeoutMs: patienceMs };
  return { requests, ...createClient(options) };
}

const named = (channel: string, count: number, more: Partial<TrackedEvent> = {}): TrackedEvent[] =>
  Array.from({ length: count }, (_, n) => ({ channel, name: `n ${n}`, ...more }));

const list = (filters: ListFilters) => createClient({ baseUrl: app.address, apiKey: app.key }).list(filters);
const namesIn = async (channel: string) =>
  (await list({ channel, order: "asc" })).events.map(({ name }) => name);

test("many events are sent in few requests, each with its id, in order", async () => {
  const { trackMany, requests } = client();
  const paidAt = new Date("2026-01-31T09:30:00Z");
  const tags = { amount: 42.5, trial: false, paidAt, coupon: null };
  const count = effort(10_500, 25_000);
  const events = named("many", count, { tags });
  const results = await trackMany(events.values());
  expect(requests.map(({ events }) => events.length)).toEqual(
    count === 10_500 ? [10_000, 500] : [10_000, 10_000, 5_000],
  );
  expect(results.every(({ ok }) => ok)).toBe(true);
  const ids = results.map(({ id }) => id);
  expect(ids).toEqual(requests.flatMap(({ events }) => events.map(({ id }) => id!)));
  expect(ids).toEqual(ids.toSorted());
  expect(await namesIn("many")).toEqual(events.map(({ name }) => name));
  const found = await list({ channel: "many", tags: { amount: 42.5, trial: false, paidAt }, limit: 1 });
  expect(found.events[0]!.tags).toEqual({ amount: "42.5", trial: "false", paidAt: paidAt.toISOString() });
});

test("no request is larger than the server accepts, in bytes", async () => {
  const { trackMany, requests } = client();
  const results = await trackMany(named("large", 1_500, { description: "é".repeat(10_000) }));
  expect(results.every(({ ok }) => ok)).toBe(true);
  const sizes = requests.map(({ body }) => Buffer.byteLength(body));
  expect(sizes).toHaveLength(2);
  expect(sizes[0]).toBeLessThanOrEqual(16 * 1_048_576);
  expect(sizes[0]).toBeGreaterThan(16 * 1_048_576 - 25_000);
});

test("a rejected event has its error, and the others are stored", async () => {
  const wrong = { channel: "some", name: "" };
  const results = await client().trackMany([...named("some", 2), wrong, ...named("some", 1)]);
  expect(results.map(({ ok }) => ok)).toEqual([true, true, false, true]);
  const [, , rejected] = results;
  expect(rejected).toMatchObject({ ok: false, id: expect.any(String) });
  const { error } = rejected as { error: TidingsError };
  expect(error).toBeInstanceOf(TidingsError);
  expect(error).toMatchObject({ status: 422, code: "body-invalid", errors: [{ pointer: "/name" }] });
  expect(await namesIn("some")).toEqual(["n 0", "n 1", "n 0"]);
  const all = await client().trackMany([wrong, wrong]);
  expect(all).toMatchObject([
    { ok: false, error: { status: 422, code: "body-invalid" } },
    { ok: false, error: { status: 422, code: "body-invalid" } },
  ]);
});

test("each event is stored once although the first two responses are lost", async () => {
  const { trackMany, requests } = client(async (_, forward) => {
    const response = await forward(requests[0]!.body);
    if (requests.length < 3) throw new TypeError("the response was lost");
    return response;
  });
  const events = named("lossy", 100);
  const results = await trackMany(events);
  expect(new Set(requests.map(({ body }) => body)).size).toBe(1);
  expect(results.every(({ ok }) => ok)).toBe(true);
  expect(await namesIn("lossy")).toEqual(events.map(({ name }) => name));
});

test("only the events that the server couldn't store are sent again", async () => {
  const { trackMany, requests } = client(async ({ events }, forward) => {
    if (requests.length > 1) return forward(requests.at(-1)!.body);
    const stored = await forward(JSON.stringify(events.filter((_, n) => n !== 1)));
    const body = (await stored.json()) as BatchResponse;
    const full = { type: "/problems/storage-full", title: "Disk full", detail: "The disk is full." };
    body.results.splice(1, 0, { ok: false, status: 507, ...full });
    return Response.json({ ...body, ok: false, rejected: 1 }, { status: 207 });
  });
  const results = await trackMany(named("full", 3));
  expect(results.map(({ ok }) => ok)).toEqual([true, true, true]);
  expect(requests[1]!.events).toEqual([requests[0]!.events[1]!]);
  expect(await namesIn("full")).toEqual(["n 0", "n 2", "n 1"]);
});

test("behind a proxy with a lower limit, requests get smaller; only an event that is too large by itself fails", async () => {
  const { trackMany } = client(({ body }, forward) =>
    body.length > 20_000 ? Promise.resolve(new Response("no", { status: 413 })) : forward(body),
  );
  const tooLarge = { channel: "proxied", name: "large", description: "x".repeat(30_000) };
  const results = await trackMany([...named("proxied", 500), tooLarge, ...named("proxied", 1)]);
  const rejected = results.flatMap((result, index) => (result.ok ? [] : [{ index, ...result }]));
  expect(rejected).toMatchObject([{ index: 500, error: { status: 413 } }]);
  expect(await namesIn("proxied")).toHaveLength(501);
});

test("after a whole request fails, the rest is not sent, and can be sent again with the same ids", async () => {
  const { trackMany, requests } = client((_, forward) =>
    requests.length === 1 ? forward(requests[0]!.body) : Promise.resolve(new Response("no", { status: 403 })),
  );
  const events = named("halted", 20_001);
  const results = await trackMany(events);
  expect(requests).toHaveLength(2);
  expect(results.filter(({ ok }) => ok)).toHaveLength(10_000);
  expect(results[20_000]).toMatchObject({ ok: false, error: { status: 403, code: "http-403" } });
  const again = events.map((event, index) => ({ ...event, id: results[index]!.id }));
  expect((await client().trackMany(again)).every(({ ok }) => ok)).toBe(true);
  expect(await namesIn("halted")).toEqual(events.map(({ name }) => name));
});

test("if nothing responds, each result says so", async () => {
  const { trackMany } = createClient({
    baseUrl: app.address,
    apiKey: app.key,
    retries: 1,
    fetch: () => Promise.reject(new TypeError("no route")),
  });
  const results = await trackMany(named("nowhere", 2));
  expect(results).toHaveLength(2);
  for (const result of results) {
    const { error } = result as { error: TidingsNetworkError };
    expect(error).toBeInstanceOf(TidingsNetworkError);
    expect(error).toMatchObject({ attempts: 2 });
  }
});

test("an invalid tag is a TypeError, and nothing is sent; an empty list sends no request", async () => {
  const { trackMany, requests } = client();
  const events = [...named("never", 1), { channel: "never", name: "n", tags: { plan: {} as never } }];
  const error = await trackMany(events).catch((reason) => reason);
  expect(error).toBeInstanceOf(TypeError);
  expect(await trackMany([])).toEqual([]);
  expect(requests).toEqual([]);
});

test("an aborted signal rejects", async () => {
  const reason = new Error("shutting down");
  const controller = new AbortController();
  const { trackMany } = client(async (_, forward) => {
    controller.abort(reason);
    return forward("[]");
  });
  const error = await trackMany(named("aborted", 1), { signal: controller.signal }).catch((each) => each);
  expect(error).toBe(reason);
});
