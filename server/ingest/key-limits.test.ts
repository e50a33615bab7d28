// @engines sqlite, postgres
// @long postgres
/** What limits how much a key or a project sends: rate limits, quotas, and the origins of publishable keys. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { KeyAccess } from "../http/caller.ts";
import type { LinesResponse } from "../schemas/batch.ts";
import type { Key, NewKey } from "../schemas/key.ts";
import type { ProjectChange } from "../schemas/project.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import { KeyRateLimits } from "./key-limits.ts";

const event = { channel: "page", name: "Page viewed" };
const dayMs = 24 * 60 * 60 * 1_000;

let nowMs = Date.now();
let app: TestApp;
let session: Record<string, string>;
beforeAll(async () => {
  app = await testApp({}, () => nowMs);
  session = {
    cookie: await app.signIn(),
    origin: app.address,
    "content-type": "application/json",
  };
});
afterAll(() => app[Symbol.asyncDispose]());

async function createKey(settings: Omit<NewKey, "name">): Promise<string> {
  const response = await app.request("/api/keys", {
    method: "POST",
    headers: session,
    body: JSON.stringify({ name: "test", ...settings }),
  });
  expect(response.status).toBe(201);
  return ((await response.json()) as { key: Key; secret: string }).secret;
}

function post(
  key: string,
  body: unknown,
  headers: Record<string, string> = {},
  path = "/api/events",
): Promise<Response> {
  return app.request(
    path,
    {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    },
    key,
  );
}

describe("a publishable key", () => {
  let key: string;
  beforeAll(async () => {
    key = await createKey({
      kind: "publishable",
      origins: ["https://shop.example", "https://*.shop.example", "http://localhost:3000"],
    });
  });

  test("sends events and batches, and nothing else", async () => {
    expect((await post(key, event)).status).toBe(201);
    expect((await post(key, [event, event])).status).toBe(201);
    const lines = await post(key, JSON.stringify(event), { "content-type": "application/x-ndjson" });
    expect(lines.status).toBe(201);
    for (const path of ["/api/events", "/api/events/stream", "/api/channels", "/api/stats", "/api/users"]) {
      const response = await app.request(path, {}, key);
      expect(response.status).toBe(403);
      expect(await response.text()).toContain("A publishable key can only send events.");
    }
  });

  for (const origin of [
    "https://shop.example",
    "https://www.shop.example",
    "https://a.shop.example",
    "https://a.b.shop.example",
    "http://localhost:3000",
  ]) {
    test(`works on pages of ${origin}, which the response names`, async () => {
      for (const path of ["/api/events", "/api/events?"]) {
        const response = await post(key, event, { origin }, path);
        expect(response.status).toBe(201);
        expect(response.headers.get("access-control-allow-origin")).toBe(origin);
        expect(response.headers.get("vary")).toBe("origin");
        expect(response.headers.get("access-control-expose-headers")).toBe("ratelimit, ratelimit-policy");
      }
    });
  }

  for (const origin of [
    "https://evil.example",
    "http://shop.example",
    "http://www.shop.example",
    "https://shop.example:8443",
    "https://evilshop.example",
    "https://.shop.example",
    "https://shop.example.evil.example",
    "http://localhost:3001",
    "null",
  ]) {
    test(`is rejected on pages of ${origin}, which the problem names`, async () => {
      for (const credentials of [{ "x-api-key": key }, { authorization: `Bearer ${key}` }] as Record<
        string,
        string
      >[]) {
        const response = await post(key, event, { origin, ...credentials });
        expect(response.status).toBe(403);
        const { type, detail } = (await response.json()) as { type: string; detail: string };
        expect(type).toBe("/problems/key-origin-forbidden");
        expect(detail).toContain(origin);
      }
    });
  }

  test("works on all pages if it has no origins", async () => {
    const open = await createKey({ kind: "publishable" });
    const response = await post(open, event, { origin: "https://any.example" });
    expect(response.status).toBe(201);
    expect(response.headers.get("access-control-allow-origin")).toBe("https://any.example");
  });

  test("gets its page's origin in errors too", async () => {
    const origin = "https://shop.example";
    const response = await post(key, { channel: "c" }, { origin });
    expect(response.status).toBe(422);
    expect(response.headers.get("access-control-allow-origin")).toBe(origin);
  });

  test("passes a preflight, which names the origin and allows the headers", async () => {
    const origin = "https://shop.example";
    const response = await app.request(
      "/api/events",
      {
        method: "OPTIONS",
        headers: {
          origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "content-type,x-api-key",
        },
      },
      null,
    );
    expect(response.status).toBe(204);
    const { headers } = response;
    expect(headers.get("access-control-allow-origin")).toBe(origin);
    expect(headers.get("vary")?.toLowerCase()).toContain("origin");
    expect(headers.get("access-control-allow-headers")).toBe("content-type,x-api-key");
    expect(headers.get("access-control-allow-credentials")).toBeNull();
  });

  test("is limited to 50 events a second, in windows of ten seconds", async () => {
    const limited = await createKey({ kind: "publishable" });
    const response = await post(limited, event);
    expect(response.headers.get("ratelimit-policy")).toBe('"events";q=500;w=10');
    expect(response.headers.get("ratelimit")).toMatch(/^"events";r=499;t=([1-9]|10)$/);
  });
});

test("a secret key is not bound to origins, and is told of no limit", async () => {
  const response = await post(app.key, event, { origin: "https://any.example" });
  expect(response.status).toBe(201);
  expect(response.headers.get("access-control-allow-origin")).toBe("*");
  expect(response.headers.has("ratelimit")).toBe(false);
  expect(response.headers.has("ratelimit-policy")).toBe(false);
});

describe("a rate limit", () => {
  test("lets a window's events pass, and rejects the next until the window ends", async () => {
    const key = await createKey({ eventsPerSecond: 1 });
    const responses = await Promise.all(Array.from({ length: 12 }, () => post(key, event)));
    const accepted = responses.filter(({ status }) => status === 201);
    expect(accepted).toHaveLength(10);
    const remaining = accepted.map(({ headers }) => /r=(\d+)/.exec(headers.get("ratelimit")!)![1]);
    expect(remaining.toSorted()).toEqual([..."0123456789"]);
    for (const response of responses.filter(({ status }) => status !== 201)) {
      expect(response.status).toBe(429);
      const seconds = Number(response.headers.get("retry-after"));
      expect(seconds).toBeWithin(1, 11);
      expect(response.headers.get("ratelimit")).toBe(`"events";r=0;t=${seconds}`);
      expect(response.headers.get("ratelimit-policy")).toBe('"events";q=10;w=10');
      expect(response.headers.get("access-control-expose-headers")).toContain("retry-after");
      expect(await response.json()).toMatchObject({
        type: "/problems/rate-limited",
        detail: expect.stringContaining("10 events in 10 seconds"),
      });
    }
  });

  test("counts each event of an array, and records none of a rejected one", async () => {
    const key = await createKey({ eventsPerSecond: 1 });
    expect((await post(key, Array(8).fill(event))).headers.get("ratelimit")).toStartWith('"events";r=2;');
    const channel = "rejected array";
    expect((await post(key, Array(3).fill({ ...event, channel }))).status).toBe(429);
    expect(await app.list(`?channel=${channel}`)).toEqual([]);
  });

  test("rejects an array that is longer than a window for good, without using it up", async () => {
    const key = await createKey({ eventsPerSecond: 1 });
    const response = await post(key, Array(11).fill(event));
    expect(response.status).toBe(413);
    expect(await response.text()).toContain("Send shorter arrays");
    expect((await post(key, Array(10).fill(event))).status).toBe(201);
  });

  test("counts requests with an Idempotency-Key each time", async () => {
    const key = await createKey({ eventsPerSecond: 1 });
    const headers = { "idempotency-key": crypto.randomUUID() };
    const statuses = [];
    for (let sent = 0; sent < 11; sent++) statuses.push((await post(key, event, headers)).status);
    expect(statuses).toEqual([...Array(10).fill(201), 429]);
  });

  test("records a window's lines of NDJSON, and lists the others", async () => {
    const key = await createKey({ eventsPerSecond: 1 });
    const body = `${JSON.stringify(event)}\n`.repeat(25);
    const response = await post(key, body, { "content-type": "application/x-ndjson" });
    expect(response.status).toBe(207);
    const { accepted, rejected, rejections } = (await response.json()) as LinesResponse;
    expect({ accepted, rejected }).toEqual({ accepted: 10, rejected: 15 });
    expect(rejections[0]).toMatchObject({ line: 11, status: 429, type: "/problems/rate-limited" });
    const next = await post(key, body, { "content-type": "application/x-ndjson" });
    expect(next.status).toBe(429);
    expect(next.headers.get("retry-after")).toMatch(/^\d+$/);
  });

  test("does not count what has no valid key", async () => {
    const key = await createKey({ eventsPerSecond: 1 });
    const mistyped = `${key.slice(0, -1)}${key.endsWith("a") ? "b" : "a"}`;
    for (let sent = 0; sent < 20; sent++) expect((await post(mistyped, event)).status).toBe(401);
    expect((await post(key, event)).headers.get("ratelimit")).toStartWith('"events";r=9;');
  });
});

describe("a daily quota", () => {
  const setQuota = async (slug: string, eventsPerDay: number | null) => {
    const change: ProjectChange = { eventsPerDay };
    const response = await app.request(`/api/projects/${slug}`, {
      method: "PATCH",
      headers: session,
      body: JSON.stringify(change),
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ project: { eventsPerDay } });
  };
  /** A new project of the owner, with a quota and a key. */
  const project = async (eventsPerDay: number) => {
    const created = await app.request("/api/projects", {
      method: "POST",
      headers: session,
      body: JSON.stringify({ name: "Limited" }),
    });
    const { slug } = ((await created.json()) as { project: { slug: string } }).project;
    const response = await app.request(`/api/keys?project=${slug}`, {
      method: "POST",
      headers: session,
      body: JSON.stringify({ name: "test" }),
    });
    await setQuota(slug, eventsPerDay);
    return { slug, key: ((await response.json()) as { secret: string }).secret };
  };
  const secondsToMidnight = () => Math.ceil((dayMs - (nowMs % dayMs)) / 1_000);

  test("is enforced for keys and members alike, until midnight UTC", async () => {
    const { slug, key } = await project(5);
    const asMember = (body: unknown) => post("", body, session, `/api/events?project=${slug}`);
    for (let sent = 0; sent < 3; sent++) expect((await post(key, event)).status).toBe(201);
    for (let sent = 0; sent < 2; sent++) expect((await asMember(event)).status).toBe(201);
    for (const response of [await post(key, event), await asMember(event)]) {
      expect(response.status).toBe(429);
      expect(Number(response.headers.get("retry-after"))).toBe(secondsToMidnight());
      expect(await response.json()).toMatchObject({
        type: "/problems/quota-reached",
        detail: "This project can record 5 events a day. The next day begins at midnight UTC.",
      });
    }
    nowMs += secondsToMidnight() * 1_000;
    expect((await post(key, event)).status).toBe(201);
  });

  test("is exact for requests that arrive at once", async () => {
    const { key } = await project(20);
    const responses = await Promise.all(Array.from({ length: 30 }, () => post(key, event)));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(20);
    expect(await app.list("", key)).toHaveLength(20);
  });

  test("does not count rejected events, nor those that are already stored", async () => {
    const { key } = await project(4);
    const stored = { ...event, id: Bun.randomUUIDv7() };
    expect((await post(key, { channel: "c" })).status).toBe(422);
    expect((await post(key, [event, {}])).status).toBe(207);
    const headers = { "idempotency-key": crypto.randomUUID() };
    for (let sent = 0; sent < 3; sent++) {
      expect((await post(key, stored)).status).toBe(sent === 0 ? 201 : 200);
      expect((await post(key, [stored])).status).toBe(201);
      expect((await post(key, event, headers)).status).toBe(201);
    }
    expect((await post(key, event)).status).toBe(201);
    expect((await post(key, event)).status).toBe(429);
    // A response is replayed even now.
    expect((await post(key, event, headers)).status).toBe(201);
    expect(await app.list("", key)).toHaveLength(4);
  });

  test("records the first events of an array, and rejects the rest", async () => {
    const { key } = await project(3);
    const response = await post(key, [event, {}, event, event, event]);
    expect(response.status).toBe(207);
    const { results } = (await response.json()) as { results: { status?: number }[] };
    expect(results.map(({ status }) => status)).toEqual([undefined, 422, undefined, undefined, 429]);
    expect((await post(key, [event, event])).status).toBe(429);
    const lines = { "content-type": "application/x-ndjson" };
    expect((await post(key, `${JSON.stringify(event)}\n`.repeat(3), lines)).status).toBe(429);
  });

  test.each([4, 2_000])(
    "records an array of %i with an Idempotency-Key in full or not at all",
    async (events) => {
      const { slug, key } = await project(events - 1);
      const headers = { "idempotency-key": crypto.randomUUID() };
      const send = () => post(key, Array(events).fill(event), headers);
      expect((await send()).status).toBe(429);
      expect(await app.list("", key)).toHaveLength(0);
      await setQuota(slug, events);
      expect((await send()).status).toBe(201);
      expect((await send()).status).toBe(201);
      // As if its node had ended: what began within the quota is finished, and counted once.
      await app.running.store.control
        .updateTable("idempotencyKeys")
        .set({ results: "" })
        .where("key", "=", headers["idempotency-key"])
        .execute();
      expect((await send()).status).toBe(201);
      expect(await app.list("", key)).toHaveLength(events);
      expect((await post(key, event)).status).toBe(429);
      await setQuota(slug, events + 1);
      expect((await post(key, event)).status).toBe(201);
    },
  );

  test("can be raised and removed at any time", async () => {
    const { slug, key } = await project(1);
    const statuses: number[] = [];
    const send = async () => statuses.push((await post(key, event)).status);
    await send();
    await send();
    await setQuota(slug, 2);
    await send();
    await send();
    await setQuota(slug, null);
    await send();
    expect(statuses).toEqual([201, 429, 201, 429, 201]);
  });

  test("is counted in the database, and continues after a restart", async () => {
    const { slug, key } = await project(4);
    await post(key, [event, event, event]);
    const { control } = app.running.store;
    const counted = async () => {
      const row = await control
        .selectFrom("dailyEvents")
        .innerJoin("projects", "projects.id", "dailyEvents.projectId")
        .select("events")
        .where("slug", "=", slug)
        .executeTakeFirst();
      return row?.events;
    };
    await until(async () => (await counted()) === 3);
    await app.restart();
    expect((await post(key, event)).status).toBe(201);
    expect((await post(key, event)).status).toBe(429);
  });
});

test.each([
  [1, "Try again in 1 second."],
  [2, "Try again in 2 seconds."],
])("who must wait %d s is told so", async (resetSeconds, expected) => {
  const consume = async () => ({ allowed: false, remaining: 0, resetSeconds });
  const limits = new KeyRateLimits({ rateLimiter: () => ({ consume, reset: async () => {} }) });
  expect(limits.of({ keyId: "key", eventsPerSecond: null } as KeyAccess)).toBeNull();
  const limit = limits.of({ keyId: "key", eventsPerSecond: 1 } as KeyAccess)!;
  await expect(limit.take(1)).rejects.toMatchObject({
    code: "rate-limited",
    options: { detail: expect.stringContaining(expected), retryAfterSeconds: resetSeconds },
  });
});
