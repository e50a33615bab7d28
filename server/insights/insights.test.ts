// @engines sqlite, postgres, clickhouse
// @long postgres
/** Values that applications set: by API, many at once, and their history. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { Insight } from "../schemas/insight.ts";
import { auditOf } from "../testing/account-calls.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { addToInsight, insightPoints, setInsight } from "./insights.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

type Answer = {
  insight: Insight;
  insights: Insight[];
  points: { at: string; value: number }[];
  detail: string;
};

async function call(
  method: string,
  path: string,
  body?: unknown,
  status = 200,
  key = app.key,
): Promise<Answer> {
  const response = await app.request(
    `/api/insights${path}`,
    {
      method,
      ...(body !== undefined && {
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    },
    key,
  );
  const text = await response.text();
  expect(`${response.status} ${text}`).toStartWith(`${status} `);
  return JSON.parse(text) as Answer;
}

async function projectId(): Promise<number> {
  const { id } = await app.running.store.control
    .selectFrom("projects")
    .select("id")
    .where("slug", "=", "default")
    .executeTakeFirstOrThrow();
  return id;
}

test("a value is set with a title and an icon, which stay when only the value is set again", async () => {
  const { insight } = await call("PUT", "/customers", { title: "Paying customers", value: 12, icon: "💳" });
  expect(insight).toMatchObject({ key: "customers", title: "Paying customers", value: 12, icon: "💳" });
  expect((await call("PUT", "/customers", { value: 13.5 })).insight).toMatchObject({
    title: "Paying customers",
    value: 13.5,
    icon: "💳",
  });
  expect((await call("PUT", "/bare", { value: -1 })).insight).toMatchObject({ title: "bare", value: -1 });
  expect((await call("GET", "/customers")).points.at(-1)).toMatchObject({ value: 13.5 });
  expect((await call("GET", "")).insights.map(({ key }) => key)).toEqual(["bare", "customers"]);
  expect((await call("GET", "/missing", undefined, 404)).detail).toContain("PUT sets it");
});

test("50 additions at the same time all count, also those that create the value", async () => {
  const values = await Promise.all(
    Array.from({ length: 50 }, async () => (await call("PATCH", "/parallel", { add: 3 })).insight.value),
  );
  // Each has its own result: none was lost, none was counted twice.
  expect(values.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, n) => 3 * (n + 1)));
  expect((await call("GET", "/parallel")).insight.value).toBe(150);
  expect((await call("PATCH", "/parallel", { add: -50 })).insight.value).toBe(100);
});

test("what can't be a value says why", async () => {
  expect((await call("PUT", "/a", { value: "7" }, 422)).detail).toContain('"value"');
  expect((await call("PATCH", "/a", { value: 7 }, 422)).detail).toContain('"add" is missing');
  expect((await call("PUT", "/a", { value: 2e15 }, 422)).detail).toContain("at most");
  expect((await call("PUT", "/a%20b", { value: 1 }, 400)).detail).toContain("letters, digits");
  await call("PUT", "/large", { value: 9e14 });
  expect((await call("PATCH", "/large", { add: 9e14 }, 409)).detail).toContain("beyond");
  expect((await call("GET", "/large")).insight.value).toBe(9e14);
});

test("a key with the scope ingest sets values, but doesn't read or delete them", async () => {
  const response = await app.request("/api/keys", {
    method: "POST",
    headers: { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" },
    body: JSON.stringify({ name: "Worker", scopes: ["ingest"] }),
  });
  const { secret } = (await response.json()) as { secret: string };
  await call("PUT", "/by-worker", { value: 1 }, 200, secret);
  await call("PATCH", "/by-worker", { add: 1 }, 200, secret);
  await call("GET", "/by-worker", undefined, 403, secret);
  await call("DELETE", "/by-worker", undefined, 403, secret);
  await call("DELETE", "/by-worker");
  await call("GET", "/by-worker", undefined, 404);
  const [entry] = await auditOf(app, "insight.deleted");
  expect(entry).toMatchObject({ action: "insight.deleted", target: "by-worker" });
});

test("the history has a point for each span of time, and is trimmed", async () => {
  const { control } = app.running.store;
  const id = await projectId();
  const line = { projectId: id, key: "line" };
  const at = (nowMs: number) => ({ nowMs, keyId: null });
  const spanMs = limits.insightPointMinutes * 60_000;
  const startMs = Math.floor(Date.UTC(2026, 0, 31) / spanMs) * spanMs;
  await setInsight(control, line, { value: 1 }, at(startMs));
  await addToInsight(control, line, { add: 1 }, at(startMs + spanMs - 1));
  await addToInsight(control, line, { add: 1 }, at(startMs + spanMs));
  const points = await insightPoints(control, line);
  expect(points.map(({ at, value }) => [Date.parse(at) - startMs, value])).toEqual([
    [0, 2],
    [spanMs, 3],
  ]);
  // A range begins with what the value was before.
  const after = { fromMs: startMs + 1, toMs: startMs + 2 };
  expect(await insightPoints(control, line, after)).toMatchObject([{ value: 2 }]);
  await control
    .insertInto("insightPoints")
    .values(
      Array.from({ length: limits.insightPoints }, (_, n) => ({
        ...line,
        at: startMs - (n + 1) * spanMs,
        value: 0,
      })),
    )
    .execute();
  await setInsight(control, line, { value: 9 }, at(startMs + 2 * spanMs));
  const trimmed = await insightPoints(control, line);
  expect([trimmed.length, trimmed.at(-1)!.value]).toEqual([limits.insightPoints, 9]);
});

test("a project has a limited number of values", async () => {
  const other = await app.another("Full", "full@example.com");
  const { id } = await app.running.store.control
    .selectFrom("projects")
    .select("id")
    .where("slug", "=", other.slug)
    .executeTakeFirstOrThrow();
  const row = { projectId: id, title: "t", icon: null, value: 1, createdAt: 0, updatedAt: 0 };
  await app.running.store.control
    .insertInto("insights")
    .values(Array.from({ length: limits.insights }, (_, n) => ({ ...row, key: `k${n}` })))
    .execute();
  expect((await call("PUT", "/more", { value: 1 }, 409, other.secret)).detail).toContain("at most");
  await call("PUT", "/k7", { value: 2 }, 200, other.secret);
});

test("the list says which key set a value last, or that a member did", async () => {
  await call("PUT", "/by-key", { value: 1 });
  const listed = async () => (await call("GET", "")).insights.find(({ key }) => key === "by-key");
  expect(await listed()).toMatchObject({ setBy: { name: expect.any(String), ending: app.key.slice(-4) } });
  const headers = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
  const body = JSON.stringify({ add: 2 });
  const response = await app.request("/api/insights/by-key?project=default", {
    method: "PATCH",
    headers,
    body,
  });
  expect(response.status).toBe(200);
  expect(await listed()).toMatchObject({ value: 3, setBy: null });
});
