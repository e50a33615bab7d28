// @engines sqlite, postgres
// @long postgres
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type TestApp, testApp } from "../../server/testing/test-app.ts";
import { createClient, type Fetch, TidingsError } from "./index.ts";

// The client against the real server. Tests that need a server that fails on demand are in `client.test.ts`.

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const client = (fetch?: Fetch) =>
  createClient({ baseUrl: app.address, apiKey: app.key, ...(fetch && { fetch }) });

test("track resolves to the event that list returns", async () => {
  const { track, list } = client();
  const tracked = await track({
    channel: "payments",
    name: "Payment received",
    userId: "u1",
    icon: "💰",
    notify: true,
    description: "**paid**",
    tags: { plan: "pro", amount: 42.5, trial: false, coupon: null },
    createdAt: new Date(Date.now() - 1_000),
  });
  expect(tracked.tags).toEqual({ plan: "pro", amount: "42.5", trial: "false" });
  const filters = { channel: "payments", userId: "u1", name: "Payment received", notify: true };
  const around = { from: Date.now() - 60_000, to: new Date(Date.now() + 60_000) };
  const page = await list({ ...filters, ...around, tags: { amount: 42.5 }, limit: 10 });
  expect(page).toEqual({ events: [tracked], nextCursor: null });
  expect((await list({ ...around, tags: { amount: 43 } })).events).toEqual([]);
});

test("each event is stored once although its first two responses are lost", async () => {
  const statuses = new Map<unknown, number[]>();
  const lossy: Fetch = async (url, init) => {
    const response = await fetch(url, init);
    const before = statuses.get(init.body) ?? [];
    statuses.set(init.body, [...before, response.status]);
    if (before.length < 2) throw new TypeError("the response was lost");
    return response;
  };
  const { track } = client(lossy);
  const channel = "lossy";
  const tracked = await Promise.all(
    Array.from({ length: 20 }, (_, number) => track({ channel, name: `n ${number}` })),
  );
  expect([...statuses.values()]).toEqual(tracked.map(() => [201, 200, 200]));
  const listed = (await client().list({ channel })).events;
  expect(listed.length).toBe(20);
  expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(tracked.map(({ id }) => id)));
});

test("a rate limit rejects with the time to wait, and splits arrays that are longer than a window", async () => {
  const headers = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
  const created = await app.request("/api/keys", {
    method: "POST",
    headers,
    body: '{"name":"limited","kind":"publishable","eventsPerSecond":1}',
  });
  const { secret } = (await created.json()) as { secret: string };
  const { track, trackMany } = createClient({ baseUrl: app.address, apiKey: secret, retries: 0 });
  const event = { channel: "limited", name: "n" };
  const results = await trackMany(Array(16).fill(event));
  expect(results.map(({ ok }) => ok)).toEqual([...Array(8).fill(true), ...Array(8).fill(false)]);
  const error = await track(event).catch((reason) => reason as TidingsError);
  expect(error).toMatchObject({ status: 429, code: "rate-limited" });
  expect((error as TidingsError).retryAfterMs).toBeWithin(1_000, 10_001);
});

test("pages contain every event once, in either order", async () => {
  const { track, list } = client();
  const channel = "pages";
  for (let number = 0; number < 25; number++) await track({ channel, name: `n ${number}` });
  for (const order of ["asc", "desc"] as const) {
    const names: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await list({ channel, order, limit: 10, cursor });
      names.push(...page.events.map(({ name }) => name));
      cursor = page.nextCursor;
    } while (cursor);
    const expected = Array.from({ length: 25 }, (_, number) => `n ${number}`);
    expect(names).toEqual(order === "asc" ? expected : expected.reverse());
  }
});

test("rejections are TidingsErrors with the server's detail", async () => {
  const rejected = await client()
    .track({ channel: "payments", name: "x".repeat(201) })
    .catch((error) => error);
  expect(rejected).toBeInstanceOf(TidingsError);
  expect(rejected).toMatchObject({ status: 422, code: "body-invalid", errors: [{ pointer: "/name" }] });
  const unread = await client()
    .list({ limit: 0 })
    .catch((error) => error);
  expect(unread).toMatchObject({ status: 400, code: "query-invalid" });
  const unknown = await createClient({ baseUrl: app.address, apiKey: "tdg_sk_x" })
    .list()
    .catch((error) => error);
  expect(unknown).toMatchObject({ status: 401, code: "key-invalid" });
});
