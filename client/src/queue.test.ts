import { afterAll, beforeAll, expect, test } from "bun:test";
import { type TestApp, testApp } from "../../server/testing/test-app.ts";
import { until } from "../../server/testing/until.ts";
import { type ClientOptions, createClient, type DropReason, type Fetch, type TrackedEvent } from "./index.ts";

// Captured events against the real server. Tests with a failing server are in `hostile.test.ts`.

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

type Dropped = [events: TrackedEvent[], reason: DropReason, error: Error | undefined];

function setUp(options: Partial<ClientOptions> = {}) {
  const dropped: Dropped[] = [];
  /** The number of events in each request. */
  const requests: number[] = [];
  const counting: Fetch = (url, init) => {
    requests.push(JSON.parse(init.body as string).length);
    return (options.fetch ?? fetch)(url, init);
  };
  const client = createClient({
    baseUrl: app.address,
    apiKey: app.key,
    onDrop: (...drop) => void dropped.push(drop as Dropped),
    ...options,
    fetch: counting,
  });
  return { client, dropped, requests };
}

const neverMs = 3_600_000;

/** A server that can't be reached. */
const unreachable: Fetch = () => Promise.reject(new TypeError("unreachable"));

test("events are sent when there are enough of them, or after some time", async () => {
  const { client, requests } = setUp({ batching: { maxEvents: 5, maxWaitMs: neverMs } });
  for (let number = 0; number < 5; number++) client.capture({ channel: "full", name: "n" });
  await until(async () => (await app.list("?channel=full")).length === 5);
  expect(requests).toEqual([5]);
  const timed = setUp({ batching: { maxWaitMs: 20 } });
  for (let number = 0; number < 3; number++) timed.client.capture({ channel: "timed", name: "n" });
  await until(async () => (await app.list("?channel=timed")).length === 3);
  expect(timed.requests).toEqual([3]);
});

test("events have the time and the order of their capture", async () => {
  const { client } = setUp({ batching: { maxWaitMs: neverMs } });
  const createdAt = new Date(Date.now() - 60_000);
  client.capture({ channel: "times", name: "own time", createdAt });
  const beforeMs = Date.now();
  for (let number = 0; number < 10; number++) client.capture({ channel: "times", name: `n ${number}` });
  const afterMs = Date.now();
  expect(await client.flush()).toBe(true);
  const [own, ...others] = await app.list("?channel=times&order=asc");
  expect(own!.createdAt).toBe(createdAt.toISOString());
  expect(others.map(({ name }) => name)).toEqual(Array.from({ length: 10 }, (_, number) => `n ${number}`));
  for (const other of others) expect(Date.parse(other.createdAt)).toBeWithin(beforeMs, afterMs + 1);
});

test("a queue is bounded, and shutdown reports what it could not send", async () => {
  const { client, dropped } = setUp({
    fetch: unreachable,
    retries: 0,
    batching: { maxWaitMs: neverMs, queueMax: 3 },
  });
  for (let number = 0; number < 5; number++) client.capture({ channel: "c", name: `n ${number}` });
  expect(await client.flush()).toBe(false);
  await client.shutdown();
  client.capture({ channel: "c", name: "late" });
  const names = dropped.map(([events, reason]) => [reason, ...events.map(({ name }) => name)]);
  expect(names).toEqual([
    ["queue-full", "n 3"],
    ["queue-full", "n 4"],
    ["undeliverable", "n 0", "n 1", "n 2"],
    ["closed", "late"],
  ]);
});

test("dropped events can be sent again with trackMany", async () => {
  const { client, dropped } = setUp({ fetch: unreachable, retries: 0 });
  client.capture({ channel: "again", name: "n", tags: { amount: 42, at: new Date(0) } });
  await client.shutdown();
  const again = createClient({ baseUrl: app.address, apiKey: app.key });
  for (let attempt = 0; attempt < 2; attempt++) await again.trackMany(dropped[0]![0]);
  const [event, ...others] = await app.list("?channel=again");
  expect(event!.tags).toEqual({ amount: "42", at: "1970-01-01T00:00:00.000Z" });
  expect(others).toEqual([]);
});

test("shutdown ends within its time, although the server hangs", async () => {
  const hanging: Fetch = (_, { signal }) =>
    new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason)));
  const { client, dropped } = setUp({ fetch: hanging, timeoutMs: neverMs });
  client.capture({ channel: "c", name: "n" });
  await client.shutdown({ timeoutMs: 20 });
  expect(dropped.map(([, reason]) => reason)).toEqual(["undeliverable"]);
});

test("a key that is not accepted drops events once, with the reason", async () => {
  const { client, dropped } = setUp({ apiKey: "tdg_sk_x" });
  for (let number = 0; number < 3; number++) client.capture({ channel: "c", name: "n" });
  expect(await client.flush()).toBe(true);
  expect(dropped).toMatchObject([[{ length: 3 }, "rejected", { status: 401, code: "key-invalid" }]]);
});

test("await using sends what was captured, and onDrop may throw", async () => {
  {
    await using client = setUp({
      batching: { maxWaitMs: neverMs },
      onDrop: () => {
        throw new Error("thrown by onDrop");
      },
    }).client;
    const { error } = console;
    console.error = () => {};
    client.capture({ channel: "using", name: "n", tags: { at: new Date("no date") } });
    console.error = error;
    client.capture({ channel: "using", name: "n" });
  }
  expect((await app.list("?channel=using")).length).toBe(1);
});

test("beforeSend changes and drops events", async () => {
  const { client, dropped } = setUp({
    beforeSend: (event) =>
      event.name === "secret" ? null : { ...event, tags: { ...event.tags, email: "hidden" } },
  });
  client.capture({ channel: "before", name: "secret" });
  client.capture({ channel: "before", name: "n", tags: { email: "ada@example.com" } });
  await client.flush();
  await createClient({ baseUrl: app.address, apiKey: app.key, beforeSend: (event) => event }).track({
    channel: "before",
    name: "m",
  });
  const stored = await app.list("?channel=before&order=asc");
  expect(stored.map(({ name, tags }) => [name, tags])).toEqual([
    ["n", { email: "hidden" }],
    ["m", {}],
  ]);
  expect(dropped).toEqual([]);
  const error = await client.track({ channel: "before", name: "secret" }).catch((reason) => reason);
  expect(error).toBeInstanceOf(TypeError);
});

test("if beforeSend throws, a captured event is dropped as it was, and track rejects", async () => {
  const thrown = new Error("thrown by beforeSend");
  const { client, dropped, requests } = setUp({
    beforeSend: () => {
      throw thrown;
    },
  });
  const event = { channel: "before", name: "n" };
  client.capture(event);
  expect(dropped).toEqual([[[event], "invalid", thrown]]);
  expect(await client.track(event).catch((reason) => reason)).toBe(thrown);
  expect(requests).toEqual([]);
});

test("a disabled client sends nothing and returns events as if they were stored", async () => {
  const { client, requests, dropped } = setUp({ disabled: true });
  client.capture({ channel: "c", name: "n" });
  await client.flush();
  const createdAt = "2026-01-31T09:30:00.000Z";
  expect(await client.track({ channel: "c", name: "n", userId: "u1", tags: { a: 1 }, createdAt })).toEqual({
    id: expect.any(String),
    channelId: "c",
    name: "n",
    userId: "u1",
    notify: false,
    tags: { a: "1" },
    createdAt,
  });
  expect(await client.trackMany([{ channel: "c", name: "n" }])).toMatchObject([{ ok: true }]);
  expect((await client.identify("u1", { plan: "pro" })).properties).toEqual({ plan: "pro" });
  for await (const _ of client.events()) throw new Error("nothing is read");
  for await (const _ of client.live()) throw new Error("nothing is read");
  expect([requests, dropped]).toEqual([[], []]);
  await client.shutdown();
});
