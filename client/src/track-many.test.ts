import { afterAll, beforeAll, expect, test } from "bun:test";
import { type TestApp, testApp } from "../../server/testing/test-app.ts";
import {
  createClient,
  type Fetch,
  type ListFilters,
  TidingsError,
  TidingsNetworkError,
  type TrackedEvent,
} from "./index.ts";
import type { BatchAnswer } from "./wire.gen.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

type Sent = { body: string; events: TrackedEvent[] };

/** A client of the real server, and what it sent; `meddle` stands between the two. */
function client(
  meddle: (sent: Sent, pass: (body: string) => Promise<Response>) => Promise<Response> = ({ body }, pass) =>
    pass(body),
) {
  const requests: Sent[] = [];
  const between: Fetch = (url, init) => {
    const body = init.body as string;
    const sent = { body, events: JSON.parse(body) as TrackedEvent[] };
    requests.push(sent);
    return meddle(sent, (changed) => fetch(url, { ...init, body: changed }));
  };
  return { requests, ...createClient({ baseUrl: app.address, apiKey: app.key, fetch: between }) };
}

const named = (channel: string, count: number, more: Partial<TrackedEvent> = {}): TrackedEvent[] =>
  Array.from({ length: count }, (_, n) => ({ channel, name: `n ${n}`, ...more }));

const list = (filters: ListFilters) => createClient({ baseUrl: app.address, apiKey: app.key }).list(filters);
const namesIn = async (channel: string) =>
  (await list({ channel, order: "asc" })).events.map(({ name }) => name);

test("many events go in few requests, each with its id, in order", async () => {
  const { trackMany, requests } = client();
  const paidAt = new Date("2026-01-31T09:30:00Z");
  const tags = { amount: 42.5, trial: false, paidAt, coupon: null };
  const events = named("many", 25_000, { tags });
  const verdicts = await trackMany(events.values());
  expect(requests.map(({ events }) => events.length)).toEqual([10_000, 10_000, 5_000]);
  expect(verdicts.every(({ ok }) => ok)).toBe(true);
  const ids = verdicts.map(({ id }) => id);
  expect(ids).toEqual(requests.flatMap(({ events }) => events.map(({ id }) => id!)));
  expect(ids).toEqual(ids.toSorted());
  expect(await namesIn("many")).toEqual(events.map(({ name }) => name));
  const found = await list({ channel: "many", tags: { amount: 42.5, trial: false, paidAt }, limit: 1 });
  expect(found.events[0]!.tags).toEqual({ amount: "42.5", trial: "false", paidAt: paidAt.toISOString() });
}, 30_000);

test("no request is larger than the service takes, counted in bytes", async () => {
  const { trackMany, requests } = client();
  const verdicts = await trackMany(named("large", 1_500, { description: "é".repeat(10_000) }));
  expect(verdicts.every(({ ok }) => ok)).toBe(true);
  const sizes = requests.map(({ body }) => Buffer.byteLength(body));
  expect(sizes).toHaveLength(2);
  expect(sizes[0]).toBeLessThanOrEqual(16 * 1_048_576);
  expect(sizes[0]).toBeGreaterThan(16 * 1_048_576 - 25_000);
}, 30_000);

test("one that is rejected has its error, and the others are stored", async () => {
  const wrong = { channel: "some", name: "" };
  const verdicts = await client().trackMany([...named("some", 2), wrong, ...named("some", 1)]);
  expect(verdicts.map(({ ok }) => ok)).toEqual([true, true, false, true]);
  const [, , rejected] = verdicts;
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

test("events are stored once each although the first two answers are lost", async () => {
  const { trackMany, requests } = client(async (_, pass) => {
    const response = await pass(requests[0]!.body);
    if (requests.length < 3) throw new TypeError("the answer was lost");
    return response;
  });
  const events = named("lossy", 100);
  const verdicts = await trackMany(events);
  expect(new Set(requests.map(({ body }) => body)).size).toBe(1);
  expect(verdicts.every(({ ok }) => ok)).toBe(true);
  expect(await namesIn("lossy")).toEqual(events.map(({ name }) => name));
});

test("what the service had no place for is sent again, alone", async () => {
  const { trackMany, requests } = client(async ({ events }, pass) => {
    if (requests.length > 1) return pass(requests.at(-1)!.body);
    const taken = await pass(JSON.stringify(events.filter((_, n) => n !== 1)));
    const answer = (await taken.json()) as BatchAnswer;
    const full = { type: "/problems/storage-full", title: "Disk full", detail: "The disk is full." };
    answer.results.splice(1, 0, { ok: false, status: 507, ...full });
    return Response.json({ ...answer, ok: false, rejected: 1 }, { status: 207 });
  });
  const verdicts = await trackMany(named("full", 3));
  expect(verdicts.map(({ ok }) => ok)).toEqual([true, true, true]);
  expect(requests[1]!.events).toEqual([requests[0]!.events[1]!]);
  expect(await namesIn("full")).toEqual(["n 0", "n 2", "n 1"]);
});

test("behind a proxy that takes less, the requests get smaller; what is too large alone is rejected alone", async () => {
  const { trackMany } = client(({ body }, pass) =>
    body.length > 20_000 ? Promise.resolve(new Response("no", { status: 413 })) : pass(body),
  );
  const tooLarge = { channel: "proxied", name: "large", description: "x".repeat(30_000) };
  const verdicts = await trackMany([...named("proxied", 500), tooLarge, ...named("proxied", 1)]);
  const rejected = verdicts.flatMap((verdict, index) => (verdict.ok ? [] : [{ index, ...verdict }]));
  expect(rejected).toMatchObject([{ index: 500, error: { status: 413 } }]);
  expect(await namesIn("proxied")).toHaveLength(501);
});

test("after a request that failed as a whole the rest is not sent, and can be sent again by its ids", async () => {
  const { trackMany, requests } = client((_, pass) =>
    requests.length === 1 ? pass(requests[0]!.body) : Promise.resolve(new Response("no", { status: 403 })),
  );
  const events = named("halted", 20_001);
  const verdicts = await trackMany(events);
  expect(requests).toHaveLength(2);
  expect(verdicts.filter(({ ok }) => ok)).toHaveLength(10_000);
  expect(verdicts[20_000]).toMatchObject({ ok: false, error: { status: 403, code: "http-403" } });
  const again = events.map((event, index) => ({ ...event, id: verdicts[index]!.id }));
  expect((await client().trackMany(again)).every(({ ok }) => ok)).toBe(true);
  expect(await namesIn("halted")).toEqual(events.map(({ name }) => name));
}, 30_000);

test("where nothing answers, each verdict says so", async () => {
  const { trackMany } = createClient({
    baseUrl: app.address,
    apiKey: app.key,
    retries: 1,
    fetch: () => Promise.reject(new TypeError("no route")),
  });
  const verdicts = await trackMany(named("nowhere", 2));
  expect(verdicts).toHaveLength(2);
  for (const verdict of verdicts) {
    const { error } = verdict as { error: TidingsNetworkError };
    expect(error).toBeInstanceOf(TidingsNetworkError);
    expect(error).toMatchObject({ attempts: 2 });
  }
});

test("a tag that can't be sent is a TypeError, and nothing is sent; nothing at all is no request", async () => {
  const { trackMany, requests } = client();
  const events = [...named("never", 1), { channel: "never", name: "n", tags: { plan: {} as never } }];
  const error = await trackMany(events).catch((reason) => reason);
  expect(error).toBeInstanceOf(TypeError);
  expect(await trackMany([])).toEqual([]);
  expect(requests).toEqual([]);
});

test("an aborted signal ends it", async () => {
  const reason = new Error("shutting down");
  const controller = new AbortController();
  const { trackMany } = client(async (_, pass) => {
    controller.abort(reason);
    return pass("[]");
  });
  const error = await trackMany(named("aborted", 1), { signal: controller.signal }).catch((each) => each);
  expect(error).toBe(reason);
});
