// @engines sqlite, postgres, clickhouse
// @long postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Completion } from "../schemas/completion.ts";
import { scenarios } from "../testing/scenarios.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
  const events = [
    {
      channel: "payments",
      name: "Payment received",
      userId: "u1",
      tags: { plan: "pro", "a key": "a value" },
    },
    { channel: "payments", name: "Payment failed", userId: "u2", tags: { plan: "Premium", plain: "x" } },
    {
      channel: "Refunds & more",
      name: 'The "last" one',
      userId: "ä_1",
      tags: { plan: "p".repeat(100) },
    },
    { channel: "refunds_old", name: "OR", userId: "", tags: { planned: "\\", "=": ",", amount: "12.50" } },
  ];
  for (const event of events) expect((await app.post(event)).status).toBe(201);
  await describeUser("u1", { name: "Ada Lovelace", plan: "Ace" });
  await describeUser("u2", { first_name: "", email: "grace@example.com" });
});
afterAll(() => app[Symbol.asyncDispose]());

async function describeUser(userId: string, properties: object): Promise<void> {
  const body = JSON.stringify(properties);
  const headers = { "content-type": "application/json" };
  const path = `/api/users/${encodeURIComponent(userId)}`;
  expect((await app.request(path, { method: "PUT", headers, body })).status).toBe(200);
}

async function complete(q: string, key?: string, at = q.length): Promise<Completion> {
  const response = await app.request(
    `/api/search/complete?${new URLSearchParams({ q, at: String(at) })}`,
    {},
    key,
  );
  expect(response.status).toBe(200);
  return (await response.json()) as Completion;
}

/** The searches that the suggestions result in. */
async function completed(q: string, at?: number): Promise<string[]> {
  const { start, end, suggestions } = await complete(q, undefined, at);
  return suggestions.map(({ insert }) => q.slice(0, start) + insert + q.slice(end));
}

describe("a search is completed", () => {
  const cases: [q: string, ...completed: string[]][] = [
    ["pay", "channel:payments", 'name:"Payment failed"', 'name:"Payment received"'],
    ["x -Pay", "x -channel:payments", 'x -name:"Payment failed"', 'x -name:"Payment received"'],
    ["channel:", "channel:payments", 'channel:"Refunds & more"', "channel:refunds_old"],
    ["channel:refunds_", "channel:refunds_old"],
    ["channel:REF", 'channel:"Refunds & more"', "channel:refunds_old"],
    ["channel:payments,r", "channel:payments,refunds_old", 'channel:payments,"Refunds & more"'],
    ["channel:old", "channel:refunds_old"],
    ["name:", 'name:"OR"', 'name:"Payment failed"', 'name:"Payment received"', 'name:"The \\"last\\" one"'],
    ['name:"Payment r', 'name:"Payment received"'],
    ["name:fail", 'name:"Payment failed"'],
    ["name:ment", 'name:"Payment failed"', 'name:"Payment received"'],
    ["user:u", "user:u1", "user:u2"],
    ["user:ä", "user:ä_1"],
    ["user:lovel", "user:u1"],
    ["notify:t", "notify:true"],
    ["pl", "plain=", "plan=", "planned="],
    ["amo", "amount=", "amount>", "amount<"],
    ["amount>"],
    ["amount>5"],
    ["amount>=5 pl", "amount>=5 plain=", "amount>=5 plan=", "amount>=5 planned="],
    ["plan=", "plan=Premium", "plan=pro"],
    ["plan=p", "plan=pro", "plan=Premium"],
    ["plan=mium", "plan=Premium"],
    ["planned=", 'planned="\\\\"'],
    ['"a k', '"a key"='],
    ['"a key"=', '"a key"="a value"'],
    ['"="=', '"="=","'],
    ["u1", "user:u1"],
    ["cha", "channel:"],
    ["other:x"],
    ["failed", 'name:"Payment failed"'],
    ["x -FAIL", 'x -name:"Payment failed"'],
    ["pro", "plan=pro"],
    ["value", '"a key"="a value"'],
    ["ada", "user:u1"],
    ["love", "user:u1"],
    ["grace@", "user:u2"],
    ["paymnts", "channel:payments", 'name:"Payment failed"'],
    ["faild", 'name:"Payment failed"'],
    ["recieved", 'name:"Payment received"'],
    ["xyzzy"],
  ];
  for (const [q, ...expected] of cases) test(q, async () => expect(await completed(q)).toEqual(expected));

  test("at its cursor", async () => {
    expect(await completed("plan=pr user:u1", 6)).toEqual(["plan=pro user:u1", "plan=Premium user:u1"]);
  });

  test("from an empty start, with known texts", async () => {
    const { suggestions } = await complete("");
    expect(suggestions.filter(({ kind }) => kind === "field")).toHaveLength(5);
    expect(suggestions.filter(({ kind }) => kind === "user")).toEqual([]);
    expect(new Set(suggestions.map(({ kind }) => kind))).toEqual(
      new Set(["field", "channel", "name", "key"]),
    );
  });

  test("to a search that finds something", async () => {
    for (const q of ["pay", "channel:", "name:", "user:u", "plan=", "planned=", '"a key"=', '"="=']) {
      for (const search of await completed(q))
        expect((await app.list(`?${new URLSearchParams({ q: search })}`)).length).toBeGreaterThan(0);
    }
  });

  test("with the counts of texts, and the names of users", async () => {
    const { suggestions } = await complete("pay");
    expect(suggestions).toEqual([
      { kind: "channel", text: "payments", insert: "channel:payments", events: 2 },
      { kind: "name", text: "Payment failed", insert: 'name:"Payment failed"', events: 1 },
      { kind: "name", text: "Payment received", insert: 'name:"Payment received"', events: 1 },
    ]);
    expect((await complete("ada")).suggestions).toEqual([
      { kind: "user", text: "Ada Lovelace", detail: "u1", insert: "user:u1", events: 1 },
    ]);
    expect((await complete("premium")).suggestions).toEqual([
      { kind: "tag", text: "Premium", detail: "plan", insert: "plan=Premium", events: 1 },
    ]);
  });

  test("with nothing of another project", async () => {
    const { secret } = await app.another("other", "other@example.com");
    for (const q of ["", "pay", "channel:", "name:", "user:u", "plan=", "failed", "pro", "ada", "paymnts"])
      expect((await complete(q, secret)).suggestions.filter(({ kind }) => kind !== "field")).toEqual([]);
  });
});

test("if there are too many texts, the first are suggested", async () => {
  await Promise.all(
    Array.from({ length: 300 }, (_, n) =>
      app.post({ channel: `many ${n}`, name: `many ${n}`, tags: { [`many ${n}`]: "x", order: `${n}` } }),
    ),
  );
  expect((await complete("order=")).suggestions).toHaveLength(20);
  expect((await complete("channel:many")).suggestions).toHaveLength(20);
  expect((await complete("many")).suggestions.map(({ kind }) => kind).join(" ")).toBe(
    `${"channel ".repeat(5)}${"name ".repeat(5)}${"key ".repeat(5)}`.trim(),
  );
});

const rejected = { status: 400, holds: { type: "/problems/query-invalid" } };
scenarios(
  () => app,
  [
    {
      name: "a cursor before the start is rejected",
      path: "/api/search/complete?q=a&at=-1",
      ...rejected,
      says: ["at least 0"],
    },
    {
      name: "a cursor behind the end is at the end",
      path: "/api/search/complete?q=u1&at=99",
      status: 200,
      says: ["user:u1"],
    },
    { name: "an unknown parameter is rejected", path: "/api/search/complete?query=a", ...rejected },
    {
      name: "a search that is too long is rejected",
      path: `/api/search/complete?q=${"a".repeat(4_001)}`,
      ...rejected,
    },
  ],
);
