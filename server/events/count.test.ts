// @engines sqlite, postgres, clickhouse
import { afterAll, beforeAll, expect, test } from "bun:test";
import { scenarios } from "../testing/scenarios.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

const day = Date.UTC(2026, 2, 1);
const hourMs = 3_600_000;
let app: TestApp;
let empty: string;
beforeAll(async () => {
  app = await testApp();
  empty = (await app.another("Other", "other@example.com")).secret;
  for (let n = 0; n < 40; n++) {
    const tags = { amount: String(n), plan: n % 2 ? "pro" : "free" };
    const body = { channel: n % 4 ? "a" : "b", name: "Paid", tags, createdAt: day + n * hourMs };
    expect((await app.post(body)).status).toBe(201);
  }
});
afterAll(() => app[Symbol.asyncDispose]());

async function count(query: Record<string, string>, key = app.key): Promise<number> {
  const response = await app.request(`/api/events/count?${new URLSearchParams(query)}`, {}, key);
  expect(response.status).toBe(200);
  const { ok, count, ...more } = (await response.json()) as { ok: boolean; count: number };
  expect([ok, more]).toEqual([true, {}]);
  return count;
}

test("events are counted, with each filter", async () => {
  expect(await count({})).toBe(40);
  expect(await count({ channel: "b" })).toBe(10);
  expect(await count({ "tag.plan": "pro" })).toBe(20);
  expect(await count({ q: "amount>=30" })).toBe(10);
  expect(await count({ q: "-amount:10..29" })).toBe(20);
  expect(await count({ q: "amount:10..29 plan=pro channel:a" })).toBe(10);
  expect(await count({ q: "amount>1000" })).toBe(0);
  expect(await count({ from: String(day + hourMs), to: String(day + 3 * hourMs) })).toBe(2);
  expect(await count({ from: String(day + 39.5 * hourMs) })).toBe(0);
  expect(await count({ to: String(day) })).toBe(0);
});

test("a project without events has none", async () => {
  expect(await count({}, empty)).toBe(0);
  expect(await count({ q: "amount>0" }, empty)).toBe(0);
});

scenarios(
  () => app,
  [
    {
      name: "a comparison with a text says where and what to write",
      path: "/api/events/count?q=plan%3Dpro+amount%3Eabc",
      status: 400,
      holds: {
        column: 17,
        detail: '"abc" is not a number. Write digits, with a point for decimals: amount>50.',
      },
    },
    { name: "an unknown parameter", path: "/api/events/count?limit=5", status: 400, says: ["limit"] },
  ],
);
