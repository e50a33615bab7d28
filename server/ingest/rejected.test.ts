// @engines sqlite, postgres, clickhouse
// @long postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { RejectedEvent } from "../schemas/rejected-event.ts";
import { scenarios, send } from "../testing/scenarios.ts";
import { testProcess } from "../testing/server-process.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp({ rejectedEvents: 50 });
});
afterAll(() => app[Symbol.asyncDispose]());

const ok = { channel: "payments", name: "Payment received" };
const bad = { channel: "payments", name: 7 };

type Page = { rejected: RejectedEvent[]; nextCursor: string | null };

async function rejectedOf(key?: string, query = ""): Promise<Page> {
  return (await (await app.request(`/api/events/rejected${query}`, {}, key)).json()) as Page;
}

/** A project of its own, without rejected events. */
async function newKey(): Promise<string> {
  const name = `p${Math.random().toString(36).slice(2)}`;
  return (await app.another(name, `${name}@example.com`)).secret;
}

function replay(id: string, body?: unknown, key?: string): Promise<Response> {
  return app.request(
    `/api/events/rejected/${id}/replay`,
    { method: "POST", ...(body !== undefined && { body: JSON.stringify(body) }) },
    key,
  );
}

const remove = (id: string, key?: string) =>
  app.request(`/api/events/rejected/${id}`, { method: "DELETE" }, key);

describe("a rejected event is kept", () => {
  const json = { "content-type": "application/json" };
  const ndjson = { "content-type": "application/x-ndjson" };
  const cases: [name: string, headers: Record<string, string>, sent: string, kept: string, type: string][] = [
    ["for its content", json, ' {"channel":"a"}', ' {"channel":"a"}', "body-invalid"],
    ["for being no JSON", json, '{"channel":\0', '{"channel":\0', "body-malformed"],
    ["within an array", json, JSON.stringify([ok, bad]), JSON.stringify(bad), "body-invalid"],
    ["on a line", ndjson, `${JSON.stringify(ok)}\n {"a" `, ' {"a" ', "body-malformed"],
    [
      "with an Idempotency-Key",
      { ...json, "idempotency-key": "a" },
      JSON.stringify(bad),
      JSON.stringify(bad),
      "body-invalid",
    ],
    [
      "within an array with an Idempotency-Key",
      { ...json, "idempotency-key": "b" },
      JSON.stringify([ok, bad]),
      JSON.stringify(bad),
      "body-invalid",
    ],
  ];
  for (const [name, headers, body, kept, type] of cases) {
    test(`${name}, as it was sent, with its problem and its key`, async () => {
      const key = await newKey();
      const before = Date.now();
      const response = await send(app, { headers, body, key });
      expect(response.status).toBeGreaterThan(201);
      const { rejected, nextCursor } = await rejectedOf(key);
      expect(nextCursor).toBeNull();
      expect(rejected).toEqual([
        {
          id: expect.any(String),
          body: kept,
          cut: false,
          problem: expect.objectContaining({ ok: false, type: `/problems/${type}` }),
          key: { id: expect.any(String), name: "test", ending: key.slice(-4) },
          rejectedAt: expect.any(String),
        },
      ]);
      expect(Date.parse(rejected[0]!.rejectedAt)).toBeWithin(before, Date.now() + 1);
    });
  }

  test("of a member's session without a key", async () => {
    await app.another("Session", "session@example.com");
    const headers = { ...json, cookie: await app.signIn("session@example.com"), origin: app.address };
    await app.request("/api/events", { method: "POST", headers, body: JSON.stringify(bad) });
    const response = await app.request("/api/events/rejected", { headers });
    expect(await response.json()).toMatchObject({ rejected: [{ body: JSON.stringify(bad), key: null }] });
  });

  test("with only its beginning if it is long, and can't be replayed without a body", async () => {
    const key = await newKey();
    const body = { ...bad, description: "x".repeat(limits.rejectedBodyCharacters) };
    await app.post(body, key);
    const { rejected } = await rejectedOf(key);
    expect(rejected).toMatchObject([
      { cut: true, body: JSON.stringify(body).slice(0, limits.rejectedBodyCharacters) },
    ]);
    expect((await replay(rejected[0]!.id, undefined, key)).status).toBe(422);
    expect((await replay(rejected[0]!.id, ok, key)).status).toBe(201);
  });

  test("at any depth of nesting", async () => {
    const key = await newKey();
    const deep = `[${"[".repeat(100_000)}${"]".repeat(100_000)}]`;
    expect((await send(app, { body: `[${deep}, ${JSON.stringify(ok)}]`, key })).status).toBe(207);
    expect((await rejectedOf(key)).rejected).toHaveLength(1);
  });

  test("unless it has no valid key or is too large", async () => {
    const { rejected: before } = await rejectedOf();
    expect((await send(app, { body: bad, key: null })).status).toBe(401);
    expect((await send(app, { body: `{"channel":"${"x".repeat(limits.eventBytes)}"}` })).status).toBe(413);
    expect((await rejectedOf()).rejected).toEqual(before);
  });

  test("up to a number, and the oldest are removed first", async () => {
    const key = await newKey();
    for (let n = 0; n < 3; n++) await app.post({ ...bad, icon: `single ${n}` }, key);
    await app.post(
      Array.from({ length: 60 }, (_, n) => ({ ...bad, icon: `item ${n}` })),
      key,
    );
    await app.post({ ...bad, icon: "last" }, key);
    const seen: string[] = [];
    for (let query = "?limit=7"; ; ) {
      const { rejected, nextCursor } = await rejectedOf(key, query);
      expect(rejected.length).toBeLessThanOrEqual(7);
      seen.push(...rejected.map(({ body }) => JSON.parse(body).icon));
      if (nextCursor === null) break;
      query = `?limit=7&cursor=${nextCursor}`;
    }
    expect(seen).toEqual(["last", ...Array.from({ length: 49 }, (_, n) => `item ${59 - n}`)]);
  });

  scenarios(
    () => app,
    [
      { name: "and listed by known parameters alone", path: "/api/events/rejected?chanel=x", status: 400 },
      { name: "and listed from a known cursor alone", path: "/api/events/rejected?cursor=x", status: 400 },
      { name: "and listed 200 at a time at most", path: "/api/events/rejected?limit=201", status: 400 },
    ],
  );
});

test("settings turn this off and limit the days", async () => {
  for (const change of [{ rejectedEvents: 0 }, { rejectedDays: 0 }]) {
    await using off = await testApp(change);
    expect((await off.post(bad)).status).toBe(422);
    // Within the same millisecond it may still be listed.
    await Bun.sleep(2);
    expect(await (await off.request("/api/events/rejected")).json()).toMatchObject({
      rejected: [],
      retentionDays: 0,
    });
  }
});

test("the list says how many days events are kept", async () => {
  await using month = await testApp({ rejectedDays: 30 });
  expect(await (await month.request("/api/events/rejected")).json()).toMatchObject({ retentionDays: 30 });
});

describe("replaying a rejected event", () => {
  async function reject(body: unknown = bad): Promise<string> {
    expect((await app.post(body)).status).toBe(422);
    return (await rejectedOf(undefined, "?limit=1")).rejected[0]!.id;
  }

  test("records the fixed event, and removes it from the list", async () => {
    const id = await reject();
    const response = await replay(id, { ...ok, tags: { mended: "yes" } });
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ ok: true, event: { tags: { mended: "yes" } } });
    expect((await rejectedOf()).rejected.map((event) => event.id)).not.toContain(id);
    expect(await app.list("?tag.mended=yes")).toHaveLength(1);
  });

  test("that is still wrong is rejected, and stays listed", async () => {
    const id = await reject();
    for (const body of [undefined, bad, [ok]]) expect((await replay(id, body)).status).toBe(422);
    const malformed = await app.request(`/api/events/rejected/${id}/replay`, { method: "POST", body: "{" });
    expect(malformed.status).toBe(400);
    expect((await rejectedOf(undefined, "?limit=1")).rejected).toMatchObject([{ id }]);
  });

  test("a hundred times concurrently records one event", async () => {
    const id = await reject();
    const event = { channel: crypto.randomUUID(), name: "n" };
    const answers = await Promise.all(Array.from({ length: 100 }, () => replay(id, event)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(99).fill(404)]);
    expect(await app.list(`?channel=${event.channel}`)).toHaveLength(1);
  });

  test("with an existing id returns 200 and the stored event, and removes it from the list", async () => {
    const event = { ...ok, id: Bun.randomUUIDv7() };
    await app.post(event);
    const id = await reject({ ...event, name: 7 });
    expect((await replay(id, event)).status).toBe(200);
    expect((await replay(id, event)).status).toBe(404);
  });

  test("that was removed or never existed gets 404", async () => {
    const id = await reject();
    expect((await remove(id)).status).toBe(200);
    expect((await remove(id)).status).toBe(404);
    for (const gone of [id, "999999999", "0", "x", "-1", "1e3"]) {
      const response = await replay(gone, ok);
      expect([gone, response.status]).toEqual([gone, 404]);
      expect(await response.json()).toMatchObject({ type: "/problems/rejected-event-unknown" });
    }
  });
});

describe("a project with known channels only", () => {
  let key: string;
  let slug: string;
  let headers: Record<string, string>;
  const channel = (name: string) =>
    app.request(
      "/api/channels",
      { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ name }) },
      key,
    );
  const change = (body: object) =>
    app.request(`/api/projects/${slug}`, { method: "PATCH", headers, body: JSON.stringify(body) });

  beforeAll(async () => {
    const cookie = await app.signIn();
    headers = { cookie, origin: app.address, "content-type": "application/json" };
    const created = await app.request("/api/projects", {
      method: "POST",
      headers,
      body: '{"name":"Strict"}',
    });
    slug = ((await created.json()) as { project: { slug: string } }).project.slug;
    const response = await app.request(`/api/keys?project=${slug}`, {
      method: "POST",
      headers,
      body: '{"name":"k","scopes":["ingest","read","manage"]}',
    });
    key = ((await response.json()) as { secret: string }).secret;
    expect((await app.post({ channel: "payments", name: "before" }, key)).status).toBe(201);
    const changed = await change({ knownChannelsOnly: true });
    expect(await changed.json()).toMatchObject({ project: { slug, knownChannelsOnly: true } });
  });

  test("rejects other channels at once, suggests the nearest, and keeps events until the channel exists", async () => {
    expect((await app.post({ channel: "payments", name: "n" }, key)).status).toBe(201);
    const response = await app.post({ channel: "paymnets", name: "n" }, key);
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({
      type: "/problems/body-invalid",
      errors: [{ pointer: "/channel", detail: expect.stringContaining('Did you mean "payments"?') }],
    });
    const { rejected } = await rejectedOf(key);
    expect(rejected).toMatchObject([{ body: '{"channel":"paymnets","name":"n"}' }]);
    expect((await replay(rejected[0]!.id, undefined, key)).status).toBe(422);
    expect((await channel("paymnets")).status).toBe(201);
    expect((await replay(rejected[0]!.id, undefined, key)).status).toBe(201);
    expect((await app.post({ channel: "paymnets", name: "n" }, key)).status).toBe(201);
  });

  test("suggests the nearest only for some of many, because each is compared with all channels", async () => {
    const items = Array.from({ length: 60 }, (_, n) => ({ channel: `payment${n}`, name: "n" }));
    const { results } = (await (await app.post(items, key)).json()) as { results: { detail: string }[] };
    expect(results.filter(({ detail }) => detail.includes("Did you mean"))).toHaveLength(20);
    expect(results.filter(({ detail }) => detail.includes("use another"))).toHaveLength(40);
  });

  test("does so for items, lines and sessions", async () => {
    const items = [{ channel: "payments", name: "n" }, { channel: "nowhere", name: "n" }, { channel: 7 }];
    expect(await (await app.post(items, key)).json()).toMatchObject({
      accepted: 1,
      results: [{ ok: true }, { ok: false, errors: [{ pointer: "/channel" }] }, { ok: false }],
    });
    const body = items.map((item) => JSON.stringify(item)).join("\n");
    const lines = await send(app, { headers: { "content-type": "application/x-ndjson" }, body, key });
    expect(await lines.json()).toMatchObject({ accepted: 1, rejections: [{ line: 2 }, { line: 3 }] });
    const session = await app.request(`/api/events?project=${slug}`, {
      method: "POST",
      headers,
      body: JSON.stringify(items[1]),
    });
    expect(session.status).toBe(422);
    const channels = (await (await app.request("/api/channels", {}, key)).json()) as {
      channels: { id: string }[];
    };
    expect(channels.channels.map(({ id }) => id)).not.toContain("nowhere");
  });

  test("accepts them again when the setting is turned off", async () => {
    expect((await change({ knownChannelsOnly: false })).status).toBe(200);
    expect((await app.post({ channel: "anything", name: "n" }, key)).status).toBe(201);
  });
});

test("a flood of rejected events grows neither memory nor the list", async () => {
  await using server = await testProcess();
  const body = JSON.stringify({ ...bad, description: "x".repeat(60_000) });
  const postsEach = 20;
  const flood = () =>
    Promise.all(
      Array.from({ length: 32 }, async () => {
        for (let n = 0; n < postsEach; n++) {
          const headers = { "content-type": "application/json" };
          const response = await server.request("/api/events", { method: "POST", headers, body });
          expect(response.status).toBe(422);
          await response.body?.cancel();
        }
      }),
    );
  await flood();
  const before = await server.heldMb();
  // If all are kept, each leaves 38 MB behind.
  for (let n = 0; n < 3; n++) await flood();
  await server.heldDownTo(before + 80);
  let count = 0;
  for (let query: string | null = "?limit=200"; query !== null; ) {
    const page = (await (await server.request(`/api/events/rejected${query}`)).json()) as Page;
    count += page.rejected.length;
    query = page.nextCursor === null ? null : `?limit=200&cursor=${page.nextCursor}`;
  }
  expect(count).toBe(1_000);
});
