// @engines sqlite, postgres, clickhouse
// @long postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { SearchAlternative, SearchAlternatives } from "../schemas/search-alternatives.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

const dayMs = 86_400_000;

let app: TestApp;
let startMs: number;
beforeAll(async () => {
  app = await testApp();
  startMs = Date.now() - 10 * dayMs;
  const events = [
    {
      channel: "payments",
      name: "Payment received",
      userId: "cus_1042",
      tags: { plan: "pro", amount: "49" },
    },
    { channel: "payments", name: "Payment failed", userId: "cus_1042", tags: { plan: "free" } },
    { channel: "payments", name: "Payment failed", userId: "cus_1043", tags: { plan: "free" } },
    { channel: "Sign-ups", name: "Signed up", userId: "cus_1044", description: "The card was new." },
  ];
  for (const [at, event] of events.entries())
    expect((await app.post({ ...event, createdAt: startMs + at * dayMs })).status).toBe(201);
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ name: "Freya Lind" });
  expect((await app.request("/api/users/cus_1042", { method: "PUT", headers, body })).status).toBe(200);
});
afterAll(() => app[Symbol.asyncDispose]());

async function alternatives(query: Record<string, string>, key?: string): Promise<SearchAlternative[]> {
  const response = await app.request(`/api/search/alternatives?${new URLSearchParams(query)}`, {}, key);
  expect(response.status).toBe(200);
  return ((await response.json()) as SearchAlternatives).alternatives;
}

const shown = ({ kind, term, by, events }: SearchAlternative) =>
  [kind, ...[term, by].filter((text) => typeof text === "string"), events].join(" ");

describe("what was meant is suggested, with the number of events", () => {
  const cases: [q: string, ...shown: string[]][] = [
    ["fail", "instead fail fail* 2", "without fail 4"],
    ["fial*", "instead fial* fail* 2", "without fial* 4"],
    ["faild", "instead faild failed 2", "without faild 4"],
    ["user=cus_1042", "instead user=cus_1042 user:cus_1042 2", "without user=cus_1042 4"],
    ["cus_1042", "instead cus_1042 user:cus_1042 2", "without cus_1042 4"],
    ["user:CUS_1042", "instead user:CUS_1042 user:cus_1042 2", "without user:CUS_1042 4"],
    ["user:cus_1O44", "instead user:cus_1O44 user:cus_1044 1", "without user:cus_1O44 4"],
    ["user:freya", "instead user:freya user:cus_1042 2", "without user:freya 4"],
    ["channel:paymnts", "instead channel:paymnts channel:payments 3", "without channel:paymnts 4"],
    ["channel:sign-ups", "instead channel:sign-ups channel:Sign-ups 1", "without channel:sign-ups 4"],
    ["channel=payments", "instead channel=payments channel:payments 3", "without channel=payments 4"],
    ["name:failed", 'instead name:failed name:"Payment failed" 2', "without name:failed 4"],
    ["paln=pro", "instead paln=pro plan=pro 1", "without paln=pro 4"],
    ["tag.plan=pro", "instead tag.plan=pro plan=pro 1", "without tag.plan=pro 4"],
    ["tag.amount>5", "instead tag.amount>5 amount>5 1", "without tag.amount>5 4"],
    ["plan=Pro", "instead plan=Pro plan=pro 1", "without plan=Pro 4"],
    ["tier=free", "instead tier=free plan=free 2", "without tier=free 4"],
    ["amuont>5", "instead amuont>5 amount>5 1", "without amuont>5 4"],
    ["recieved", "instead recieved received 1", "without recieved 4"],
    ['"card new"', 'instead "card new" card new 1', 'without "card new" 4'],
    ["-name:x channel:x", "without channel:x 4"],
  ];
  for (const [q, ...expected] of cases)
    test(q, async () => expect((await alternatives({ q })).map(shown)).toEqual(expected));

  test("and users with their names", async () => {
    expect(await alternatives({ q: "user=cus_1042" })).toContainEqual({
      kind: "instead",
      term: "user=cus_1042",
      by: "user:cus_1042",
      detail: "Freya Lind",
      anyTime: false,
      events: 2,
      q: "user:cus_1042",
    });
  });
});

test("what finds something if a filter is left out", async () => {
  const found = await alternatives({ channel: "payments", userId: "cus_1043", "tag.plan": "pro" });
  expect(found.map(shown)).toEqual(["without user:cus_1043 1", "without plan=pro 1"]);
  expect(found.map(({ q }) => q)).toEqual(["channel:payments plan=pro", "channel:payments user:cus_1043"]);
});

test("at any time, and in this time without a filter", async () => {
  const from = new Date(startMs + 2.5 * dayMs).toISOString();
  expect(await alternatives({ name: "Payment failed", from })).toEqual([
    { kind: "anyTime", term: null, anyTime: true, events: 2, q: 'name:"Payment failed"' },
    { kind: "without", term: 'name:"Payment failed"', anyTime: false, events: 1, q: "" },
  ]);
  const to = new Date(startMs - dayMs).toISOString();
  // Nothing is in this time, so neither is what was meant.
  expect(await alternatives({ q: "name:failed -card", to })).toEqual([
    {
      kind: "instead",
      term: "name:failed",
      by: 'name:"Payment failed"',
      anyTime: true,
      events: 2,
      q: 'name:"Payment failed" -card',
    },
    { kind: "without", term: "name:failed", anyTime: true, events: 3, q: "-card" },
  ]);
});

test("each is a search that finds as many events", async () => {
  const queries: Record<string, string>[] = [
    { q: "user=cus_1042" },
    { q: '"card new"' },
    { q: "plan=pro fail" },
    { "tag.paln": "free" },
  ];
  for (const query of queries) {
    for (const { q, events } of await alternatives(query))
      expect(await app.list(`?${new URLSearchParams({ q })}`)).toHaveLength(events!);
  }
});

test("nothing of another project is suggested", async () => {
  const { secret } = await app.another("other", "other@example.com");
  for (const q of ["fail", "user:freya", "channel:paymnts", "paln=pro", "plan=Pro"])
    expect(await alternatives({ q }, secret)).toEqual([]);
});

test("a search that isn't valid, and a key that may not read, are rejected", async () => {
  expect((await app.request("/api/search/alternatives?q=a%28")).status).toBe(400);
  expect((await app.request("/api/search/alternatives?q=a", {}, null)).status).toBe(401);
});
