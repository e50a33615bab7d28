/** The MCP server, used by the protocol's own client. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
const clients: Client[] = [];
beforeAll(async () => {
  app = await testApp();
});
afterAll(async () => {
  for (const client of clients) await client.close();
  await app[Symbol.asyncDispose]();
});

async function connect(headers: Record<string, string> = { "x-api-key": app.key }): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(
    new StreamableHTTPClientTransport(new URL("/mcp", app.address), { requestInit: { headers } }),
  );
  clients.push(client);
  return client;
}

type Result = {
  isError?: boolean;
  content: { text: string }[];
  // biome-ignore lint/suspicious/noExplicitAny: the client has checked it against the tool's schema
  structuredContent: any;
};

async function call(client: Client, name: string, values: Record<string, unknown> = {}): Promise<Result> {
  // The client compares the result with the schema only if it knows the tools.
  await client.listTools();
  return (await client.callTool({ name, arguments: values })) as Result;
}

async function newKey(body: object): Promise<string> {
  const response = await app.request("/api/keys?project=default", {
    method: "POST",
    headers: { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" },
    body: JSON.stringify({ name: "MCP", ...body }),
  });
  return ((await response.json()) as { secret: string }).secret;
}

test("records, finds, counts and follows events", async () => {
  const client = await connect({ authorization: `Bearer ${app.key}` });
  for (const [name, amount] of [
    ["Cart opened", "10"],
    ["Payment received", "49"],
  ]) {
    const values = { channel: "shop", name, userId: "u1", tags: { amount } };
    const { structuredContent } = await call(client, "record_event", values);
    expect(structuredContent.event).toMatchObject({ channelId: "shop", name, tags: { amount } });
  }
  const found = await call(client, "search_events", { q: "amount>20" });
  expect(found.structuredContent.events).toMatchObject([{ name: "Payment received" }]);
  expect(JSON.parse(found.content[0]!.text)).toEqual(found.structuredContent);
  const { id } = found.structuredContent.events[0];
  expect((await call(client, "get_event", { id })).structuredContent.event.id).toBe(id);
  const channels = await call(client, "list_channels");
  expect(channels.structuredContent.channels).toMatchObject([{ name: "shop", events: 2 }]);
  const stats = await call(client, "event_stats", { metric: "sum", tag: "amount" });
  expect(stats.structuredContent.overall).toBe(59);
  const journey = await call(client, "user_journey", { userId: "u1" });
  expect(journey.structuredContent.user).toMatchObject({ userId: "u1", events: 2 });
  expect(journey.structuredContent.events.map(({ name }: { name: string }) => name)).toEqual([
    "Cart opened",
    "Payment received",
  ]);
  const funnel = await call(client, "funnel", { step: ["cart", "payment"] });
  expect(funnel.content[0]!.text).not.toContain("query-invalid");
  expect(funnel.structuredContent.steps).toHaveLength(2);
  expect((await call(client, "paths", { anchor: "" })).isError).toBeUndefined();
  expect((await call(client, "stickiness")).isError).toBeUndefined();
  expect((await call(client, "new_and_returning_users")).isError).toBeUndefined();
  expect((await call(client, "retention")).isError).toBeUndefined();
});

describe("finds its way", () => {
  let client: Client;
  beforeAll(async () => {
    client = await connect();
    const body = JSON.stringify({ plan: "max", email: "grace@example.com" });
    const headers = { "content-type": "application/json" };
    await app.request("/api/users/grace", { method: "PUT", headers, body });
    await app.post({ channel: "trips", name: "Trip booked", userId: "grace", tags: { city: "Rome" } });
    await app.post({ channel: "trips", name: "Trip canceled", tags: { city: "Oslo", reason: "ill" } });
  });
  const result = async (name: string, values = {}) => (await call(client, name, values)).structuredContent;

  test("to users by a property", async () => {
    const { users } = await result("find_users", { q: 'plan:"max"' });
    expect(users).toMatchObject([{ userId: "grace", events: 1, properties: { plan: "max" } }]);
    expect((await result("find_users", { q: "plan:free" })).users).toEqual([]);
  });

  test("to people by conditions, and to the cohorts that these are saved as", async () => {
    const conditions = [
      { type: "property", name: "plan", test: "is", values: ["max"] },
      { type: "events", q: 'name:"Trip booked"', days: 30 },
    ];
    expect(await result("count_people", { conditions })).toMatchObject({ people: 1, sample: ["grace"] });
    expect(await result("count_people", { match: "none", conditions })).toMatchObject({ people: 1 });
    const { cohort } = await result("create_cohort", { name: "Travelers", conditions });
    expect(cohort).toMatchObject({ name: "Travelers", match: "all", people: 1 });
    expect(await result("list_cohorts")).toMatchObject({ cohorts: [{ id: cohort.id, conditions }] });
    const { users } = await result("list_cohort_members", { id: cohort.id, limit: 1 });
    expect(users).toMatchObject([{ userId: "grace", properties: { plan: "max" } }]);
    const { events } = await result("search_events", { q: "cohort:Travelers" });
    expect(events).toMatchObject([{ name: "Trip booked" }]);
  });

  test("to one person behind two IDs, and back", async () => {
    await app.post({ channel: "pages", name: "Prices viewed", userId: "visitor-5" });
    const ofPerson = async (userId: string) => (await result("user_journey", { userId })).user;
    expect((await result("merge_users", { userId: "grace", otherId: "visitor-5" })).user.userId).toBe(
      "grace",
    );
    expect(await ofPerson("visitor-5")).toMatchObject({ userId: "grace", events: 2 });
    expect((await call(client, "split_user", { userId: "visitor-5" })).isError).toBeUndefined();
    expect(await ofPerson("visitor-5")).toMatchObject({ userId: "visitor-5", events: 1 });
  });

  test("to companies, with their people, and to what is known of a user", async () => {
    await result("save_group", { type: "company", id: "acme", properties: { plan: "max" }, userId: "grace" });
    expect((await result("list_group_types")).types).toEqual([{ type: "company", groups: 1 }]);
    expect((await result("find_groups", { type: "company", q: "plan:max" })).groups).toMatchObject([
      { id: "acme", people: 1, events: 1 },
    ]);
    expect(await result("get_group", { type: "company", id: "acme" })).toMatchObject({
      group: { properties: { plan: "max" }, names: [{ name: "Trip booked", events: 1 }] },
      users: [{ userId: "grace" }],
      nextCursor: null,
    });
    expect(await result("user_profile", { userId: "grace" })).toMatchObject({
      user: { userId: "grace" },
      groups: [{ type: "company", id: "acme" }],
      cohorts: [{ name: "Travelers" }],
      notes: [],
    });
    await app.post({ channel: "visits", name: "Paid", userId: "grace" });
    const { events } = await result("search_events", { q: "name:Paid" });
    expect((await result("events_before", { id: events[0].id })).events).toMatchObject([
      { name: "Trip booked" },
    ]);
  });

  test("to names and tags", async () => {
    expect((await result("list_names", { prefix: "Trip" })).texts).toEqual(["Trip booked", "Trip canceled"]);
    expect((await result("list_tags")).texts).toEqual(expect.arrayContaining(["city", "reason"]));
    expect(await result("list_tags", { key: "city" })).toMatchObject({
      texts: ["Oslo", "Rome"],
      isComplete: true,
    });
  });

  test("to boards", async () => {
    const headers = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
    const tile = {
      id: "t",
      type: "number",
      title: "Trips",
      x: 0,
      y: 0,
      w: 3,
      h: 2,
      q: "trip",
      metric: "events",
    };
    const body = JSON.stringify({ name: "Travel", tiles: [tile] });
    await app.request("/api/boards?project=default", { method: "POST", headers, body });
    const { boards } = await result("list_boards");
    expect(boards).toMatchObject([{ name: "Overview" }, { name: "Travel" }]);
    expect((await result("get_board", { id: boards[1].id })).board.tiles).toMatchObject([{ q: "trip" }]);
  });

  test("to heartbeats", async () => {
    expect((await app.request(`/ping/${app.key}/nightly-backup?create=1`, {}, null)).status).toBe(201);
    const { heartbeats } = await result("list_heartbeats");
    expect(heartbeats).toMatchObject([{ slug: "nightly-backup", state: "up", badgeUrl: null }]);
  });

  test("to reports", async () => {
    expect(await result("list_reports")).toMatchObject({ reports: [] });
  });

  test("to rejected events", async () => {
    await app.post({
      channel: "trips",
      name: "Trip booked",
      tags: { seats: 2 },
      description: "x".repeat(1_000),
    });
    expect(await result("who_is_on_call")).toMatchObject({ schedules: [] });
    expect(await result("list_alerts")).toMatchObject({ alerts: [], open: 0 });
    expect(await result("list_marks", { from: "7d" })).toMatchObject({ marks: [], omitted: [] });
    expect(await result("list_silences", { state: "active" })).toMatchObject({ silences: [] });
    const { rejected, groups, total } = await result("list_rejected_events");
    expect(rejected[0].body.length).toBe(301);
    expect(rejected[0]).toMatchObject({ cut: true, problem: { type: "/problems/body-invalid" } });
    expect([groups.length, total]).toEqual([1, 1]);
  });

  test("through a range that ends now", async () => {
    const old = new Date(Date.now() - 3 * 86_400_000).toISOString();
    await app.post({ channel: "trips", name: "Trip planned", createdAt: old });
    const namesFrom = async (from: string, to?: string) =>
      (await result("search_events", { channel: "trips", from, to })).events.map(
        ({ name }: { name: string }) => name,
      );
    expect(await namesFrom("2d")).toEqual(["Trip canceled", "Trip booked"]);
    expect(await namesFrom("1w", "2d")).toEqual(["Trip planned"]);
    expect((await result("event_stats", { channel: "trips", from: "7d" })).total).toBe(3);
  });
});

describe("a key", () => {
  test("that only reads has no tool that records", async () => {
    const client = await connect({ "x-api-key": await newKey({ scopes: ["read"] }) });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("search_events");
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true);
    await expect(call(client, "record_event", { channel: "c", name: "n" })).rejects.toThrow("has no tool");
    await expect(call(client, "create_cohort", { name: "n", conditions: [] })).rejects.toThrow("has no tool");
  });

  test("that may not read, or is unknown, is refused", async () => {
    const message = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
    for (const [key, status] of [
      [await newKey({ scopes: ["ingest"] }), 403],
      [await newKey({ kind: "publishable" }), 403],
      ["tdg_sk_garbled", 401],
    ] as const) {
      const headers = { "x-api-key": key, "content-type": "application/json" };
      const response = await fetch(`${app.address}/mcp`, { method: "POST", headers, body: message });
      expect([key, response.status]).toEqual([key, status]);
    }
  });

  test("has its rate limit", async () => {
    const client = await connect({ "x-api-key": await newKey({ eventsPerSecond: 1 }) });
    const results = await Promise.all(
      // The limit is counted in windows of ten seconds.
      Array.from({ length: 40 }, () =>
        client.callTool({ name: "record_event", arguments: { channel: "limited", name: "n" } }),
      ),
    );
    const texts = (results as Result[])
      .filter(({ isError }) => isError)
      .map(({ content }) => content[0]!.text);
    expect(texts.some((text) => text.includes("(rate-limited)"))).toBe(true);
  });

  test("sees its own project only", async () => {
    const { secret } = await app.another("Other", "other@example.com");
    const client = await connect({ "x-api-key": secret });
    expect((await call(client, "search_events")).structuredContent.events).toEqual([]);
  });
});

test("a mistake is an error that says what to do", async () => {
  const client = await connect();
  for (const [name, values, text] of [
    ["search_events", { q: "amount>" }, "query-invalid"],
    ["search_events", { from: "yesterday" }, "query-invalid"],
    ["search_events", { from: `${"9".repeat(12)}d` }, "query-invalid"],
    ["get_board", { id: "stream" }, "board-unknown"],
    ["get_event", { id: "01900000-0000-7000-8000-000000000000" }, "event-unknown"],
    ["get_event", { id: "\ud800" }, "UUID"],
    ["get_event", { id: ".." }, "UUID"],
    ["get_event", { id: "stream" }, "UUID"],
    ["user_journey", { userId: ".." }, "user-unknown"],
    ["user_journey", { userId: "" }, "nothing named"],
    ["user_journey", { userId: "../channels" }, "user-unknown"],
    ["record_event", { channel: "no channel", name: "n".repeat(5_000) }, "body-invalid"],
    ["search_events", { limit: 5_000 }, "limit"],
    ["event_stats", { by: "minute", from: "2020-01-01T00:00:00Z" }, "query-invalid"],
    ["count_people", { conditions: [{ type: "events", q: "cohort:Travelers" }] }, "can't name a cohort"],
    ["count_people", { conditions: [{ type: "lastSeen" }] }, "beforeDays"],
    ["list_cohort_members", { id: "../../users" }, "cohort-unknown"],
  ] as const) {
    const result = await call(client, name, values);
    expect([name, result.isError, result.content[0]!.text]).toEqual([
      name,
      true,
      expect.stringContaining(text),
    ]);
  }
});

test("a list of large events is bounded, and its cursor continues after the last one", async () => {
  const tags = Object.fromEntries(Array.from({ length: 50 }, (_, tag) => [`tag ${tag}`, "x".repeat(1_000)]));
  const description = "y".repeat(5_000);
  const total = 30;
  for (let number = 0; number < total; number++)
    await app.post({ channel: "large", name: `n${number}`, tags, description });
  const client = await connect();
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const result = await call(client, "search_events", {
      channel: "large",
      limit: 100,
      ...(cursor && { cursor }),
    });
    expect(result.content[0]!.text.length).toBeLessThan(100_000);
    expect(result.structuredContent.isShortened).toBe(true);
    seen.push(...result.structuredContent.events.map(({ name }: { name: string }) => name));
    cursor = result.structuredContent.nextCursor ?? undefined;
  } while (cursor);
  expect(seen).toEqual(Array.from({ length: total }, (_, number) => `n${total - 1 - number}`));
  const [first] = (await app.list("?channel=large&limit=1"))!;
  const { structuredContent } = await call(client, "get_event", { id: first!.id });
  expect(structuredContent.event.description).toBe(description);
});
