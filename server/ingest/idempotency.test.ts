// @engines sqlite, postgres, clickhouse
// @long postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import { scenarios } from "../testing/scenarios.ts";
import { testProcess } from "../testing/server-process.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const ok = { channel: "payments", name: "Payment received" };
const bad = { channel: "payments", name: 7 };

/** A request with a key, and everything that its sender sees of the response. */
async function postOnce(
  key: string,
  body: unknown,
  to: { request: TestApp["request"] } = app,
  apiKey?: string,
): Promise<{ status: number; isReplayed: boolean; retryAfter: string | null; text: string }> {
  const response = await to.request(
    "/api/events",
    {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": key },
      body: typeof body === "string" ? body : JSON.stringify(body),
    },
    apiKey,
  );
  const isReplayed = response.headers.get("idempotent-replayed") === "true";
  const retryAfter = response.headers.get("retry-after");
  return { status: response.status, isReplayed, retryAfter, text: await response.text() };
}

const newKey = () => crypto.randomUUID();
/** An event in a channel of its own, to count how often it was recorded. */
const newEvent = () => ({ channel: crypto.randomUUID(), name: "n" });
const count = async (channel: string) => (await app.list(`?channel=${channel}`)).length;

describe("a request with an Idempotency-Key", () => {
  test("gets the first response again, and records nothing", async () => {
    const event = newEvent();
    const key = newKey();
    const first = await postOnce(key, event);
    expect(first).toMatchObject({ status: 201, isReplayed: false });
    for (let n = 0; n < 3; n++) expect(await postOnce(key, event)).toEqual({ ...first, isReplayed: true });
    expect(await count(event.channel)).toBe(1);
  });

  test("of an existing event gets its 200 again", async () => {
    const event = { ...newEvent(), id: Bun.randomUUIDv7() };
    const { text } = await postOnce(newKey(), event);
    const key = newKey();
    const first = await postOnce(key, { ...event, name: "another" });
    expect(first).toMatchObject({ status: 200, isReplayed: false, text });
    expect(await postOnce(key, { ...event, name: "another" })).toEqual({ ...first, isReplayed: true });
  });

  test("of an array gets its results again", async () => {
    const { channel } = newEvent();
    const items = [{ channel, name: "a" }, bad, { channel, name: "b", id: Bun.randomUUIDv7() }, "event"];
    const key = newKey();
    const first = await postOnce(key, items);
    expect(first).toMatchObject({ status: 207, isReplayed: false });
    expect(await postOnce(key, items)).toEqual({ ...first, isReplayed: true });
    expect(await count(channel)).toBe(2);
  });

  test("of an array of 10,000 is stored once", async () => {
    const { channel } = newEvent();
    const items = Array.from({ length: 10_000 }, (_, n) => ({ channel, name: `${n}` }));
    const key = newKey();
    const first = await postOnce(key, items);
    expect(first.status).toBe(201);
    expect(await postOnce(key, items)).toEqual({ ...first, isReplayed: true });
    expect(await count(channel)).toBe(10_000);
  });

  test("of a large array is stored in commits that nobody waits for long", async () => {
    const commits: number[] = [];
    app.running.store.events.observeCommits((events) => commits.push(events));
    const { channel } = newEvent();
    const items = Array.from({ length: 5_000 }, (_, n) => ({ channel, name: `${n}` }));
    expect((await postOnce(newKey(), items)).status).toBe(201);
    expect(Math.max(...commits)).toBeWithin(1, 1_500);
  });

  test("of a large array goes on where it ended, under the same ids", async () => {
    const { channel } = newEvent();
    const items = [
      ...Array.from({ length: 2_000 }, (_, n) => ({ channel, name: `${n}` })),
      { channel, name: "own", id: Bun.randomUUIDv7() },
      bad,
    ];
    const key = newKey();
    const first = await postOnce(key, items);
    expect(first).toMatchObject({ status: 207, isReplayed: false });
    const { results } = JSON.parse(first.text) as { results: { id: string }[] };
    // As if its node had ended before these were stored.
    for (const { id } of [results[7]!, results[1_999]!, results[2_000]!])
      expect((await app.request(`/api/events/${id}`, { method: "DELETE" })).status).toBe(200);
    await app.running.store.control
      .updateTable("idempotencyKeys")
      .set({ results: "" })
      .where("key", "=", key)
      .execute();
    expect(await postOnce(key, [...items, ok])).toMatchObject({ status: 422, isReplayed: false });
    expect(await postOnce(key, items)).toEqual(first);
    expect(await count(channel)).toBe(2_001);
    expect(await postOnce(key, items)).toEqual({ ...first, isReplayed: true });
    expect(await count(channel)).toBe(2_001);
  });

  test("with a different body is rejected, array or event", async () => {
    const event = newEvent();
    for (const body of [event, [event]]) {
      const key = newKey();
      await postOnce(key, body);
      for (const other of [{ ...event, name: "other" }, [event, event], ` ${JSON.stringify(body)}`]) {
        const rejected = await postOnce(key, other);
        expect(rejected.status).toBe(422);
        expect(rejected.text).toContain("/problems/idempotency-key-reused");
      }
    }
    expect(await count(event.channel)).toBe(2);
  });

  test("that was rejected as a whole can be fixed and sent again", async () => {
    for (const [rejected, status] of [
      [bad, 422],
      [[bad], 422],
      ["{", 400],
    ] as const) {
      const key = newKey();
      expect((await postOnce(key, rejected)).status).toBe(status);
      expect(await postOnce(key, newEvent())).toMatchObject({ status: 201, isReplayed: false });
    }
  });

  test("is independent of the same key in another project", async () => {
    const { secret } = await app.another("Other", "other@example.com");
    const [key, event] = [newKey(), newEvent()];
    expect(await postOnce(key, event)).toMatchObject({ status: 201 });
    expect(await postOnce(key, event, app, secret)).toMatchObject({ status: 201, isReplayed: false });
    expect(await postOnce(key, { ...event, name: "x" }, app, secret)).toMatchObject({ status: 422 });
  });

  test("sent a hundred times concurrently is recorded once", async () => {
    for (const make of [() => newEvent(), () => [newEvent(), newEvent()]]) {
      const body = make();
      const key = newKey();
      const answers = await Promise.all(Array.from({ length: 100 }, () => postOnce(key, body)));
      const firsts = answers.filter(({ status, isReplayed }) => status === 201 && !isReplayed);
      expect(firsts).toHaveLength(1);
      for (const { status, retryAfter, text } of answers) {
        if (status === 409) {
          expect(text).toContain("/problems/request-under-way");
          expect(retryAfter).toBe("1");
        } else expect([status, text]).toEqual([201, firsts[0]!.text]);
      }
      for (const { channel } of [body].flat()) expect(await count(channel)).toBe(1);
      expect(await postOnce(key, body)).toEqual({ ...firsts[0]!, isReplayed: true });
    }
  });

  test("is forgotten after a day", async () => {
    const [key, event] = [newKey(), newEvent()];
    await postOnce(key, event);
    const madeAgo = (ms: number) =>
      app.running.store.control
        .updateTable("idempotencyKeys")
        .set({ createdAt: Date.now() - ms })
        .where("key", "=", key)
        .execute();
    await madeAgo(limits.idempotencyMs - 60_000);
    expect(await postOnce(key, event)).toMatchObject({ status: 201, isReplayed: true });
    await madeAgo(limits.idempotencyMs + 1);
    expect(await postOnce(key, { ...event, name: "another" })).toMatchObject({
      status: 201,
      isReplayed: false,
    });
    expect(await count(event.channel)).toBe(2);
  });

  const headers = (key: string) => ({ "idempotency-key": key });
  scenarios(
    () => app,
    [
      { name: "of 255 characters is done", headers: headers("k".repeat(255)), body: ok, status: 201 },
      { name: "of signs and spaces is done", headers: headers('"a b" ~!'), body: ok, status: 201 },
      {
        name: "of 256 characters is rejected",
        headers: headers("k".repeat(256)),
        body: ok,
        status: 400,
        says: ["idempotency-key-invalid", "255"],
      },
      { name: "that is empty is rejected", headers: headers(""), body: ok, status: 400 },
      { name: "that is not ASCII is rejected", headers: headers("schlüssel"), body: ok, status: 400 },
      { name: "with a tab in it is rejected", headers: headers("a\tb"), body: ok, status: 400 },
    ],
  );
});

test("a key is known after a restart, and kill -9 under load duplicates nothing", async () => {
  await using server = await testProcess();
  const bodies = Array.from({ length: 40 }, (_, n) =>
    n % 2 ? { channel: "c", name: `${n}` } : [{ channel: "c", name: `${n}` }, bad],
  );
  const answers = new Map<number, string>();
  let isDown = false;
  async function client(n: number): Promise<void> {
    while (!answers.has(n)) {
      while (isDown) await Bun.sleep(5);
      const answer = await postOnce(`key ${n}`, bodies[n], server).catch(() => null);
      if (answer && answer.status < 300) answers.set(n, answer.text);
      else await Bun.sleep(5);
    }
  }
  for (const signal of ["SIGKILL", "SIGKILL", "SIGTERM"] as const) {
    const clients = bodies.map((_, n) => client(n));
    if (signal === "SIGKILL") {
      await Promise.race(clients);
      isDown = true;
      await server.end(signal);
      await server.start();
      isDown = false;
    }
    await Promise.all(clients);
    if (signal === "SIGTERM") {
      await server.end(signal);
      await server.start();
    }
    for (const [n, text] of answers) {
      const again = await postOnce(`key ${n}`, bodies[n], server);
      expect(again).toMatchObject({ status: n % 2 ? 201 : 207, isReplayed: true, text });
    }
  }
  const { events } = (await (await server.request("/api/events")).json()) as { events: { name: string }[] };
  expect(events.map(({ name }) => name).sort()).toEqual(bodies.map((_, n) => `${n}`).sort());
});

test("a large array whose server is killed is stored once when it is sent again", async () => {
  await using server = await testProcess();
  const items = Array.from({ length: 10_000 }, (_, n) => ({ channel: "c", name: `${n}` }));
  const stored = async () => {
    const response = await server.request("/api/events/count");
    return ((await response.json()) as { count: number }).count;
  };
  const first = postOnce("large", items, server).catch(() => null);
  await until(async () => (await stored()) > 0);
  await server.end("SIGKILL");
  await first;
  await server.start();
  const again = await postOnce("large", items, server);
  expect(again.status).toBe(201);
  expect(await stored()).toBe(10_000);
  expect(await postOnce("large", items, server)).toEqual({ ...again, isReplayed: true });
  expect(await stored()).toBe(10_000);
});
