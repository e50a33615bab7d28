// @engines sqlite, postgres
// @long postgres
/** Requests of log drains, as their documentation has them. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { limits } from "../core/limits.ts";
import type { RejectedEventList } from "../schemas/rejected-event.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { hmacOf, webhookSenders } from "../testing/webhook-senders.ts";

let app: TestApp;
let senders: Awaited<ReturnType<typeof webhookSenders>>;
beforeAll(async () => {
  app = await testApp();
  senders = await webhookSenders(app);
});
afterAll(() => app?.[Symbol.asyncDispose]());

test("Vercel: JSON and NDJSON, signed, each line once", async () => {
  const secret = "vercel-drain-secret";
  const { send, list } = await senders.create("vercel", { secret });
  /** https://vercel.com/docs/drains/reference/logs */
  const lines = [
    {
      id: "1573817187330377061717300000",
      message: "Adding customer to database...",
      timestamp: 1573817187330,
      type: "stdout",
      source: "lambda",
      level: "info",
      projectId: "gdufoJxB6b9b1fEqr1jUtFkyavUU",
      projectName: "shop",
      deploymentId: "dpl_233NRGRjVZX1caZrXWtz5g1TAksD",
      host: "shop.vercel.app",
      entrypoint: "api/index.js",
      requestId: "643af4e3-975a-4cc7-9e7a-1eda11539d90",
      statusCode: 200,
      environment: "production",
    },
    {
      id: "1573817250283254651097202070",
      message: `TypeError: no stock\n    at order (${"x".repeat(250)})`,
      timestamp: 1573817250283,
      source: "lambda",
      level: "error",
      host: "shop.vercel.app",
      path: "/api/orders",
      statusCode: -1,
      proxy: { timestamp: 1573817250172, method: "GET", path: "/api/orders?id=1", statusCode: 500 },
    },
    {
      id: "3",
      timestamp: 1573817250284,
      source: "static",
      level: "info",
      statusCode: 304,
      path: "/index.html",
    },
  ];
  const signed = (text: string) => ({ "x-vercel-signature": hmacOf("sha1", secret, text) });
  const array = JSON.stringify(lines.slice(0, 2));
  expect(await send(array)).toEqual([403, "webhook-signature-invalid"]);
  expect(await send(array, signed(`${array} `))).toEqual([403, "webhook-signature-invalid"]);
  expect(await send(array, signed(array))).toEqual([201, "recorded"]);
  const ndjson = lines.map((line) => JSON.stringify(line)).join("\n");
  expect(await send(ndjson, signed(ndjson))).toEqual([201, "recorded"]);
  expect(await send(ndjson, signed(ndjson))).toEqual([200, "duplicate"]);
  const [info, crash, request] = await list();
  expect(info).toMatchObject({
    name: "Adding customer to database...",
    createdAt: "2019-11-15T11:26:27.330Z",
    tags: { level: "info", source: "lambda", project: "shop", status: "200", environment: "production" },
  });
  expect(crash).toMatchObject({ icon: "💥", notify: true, tags: { method: "GET", status: "-1" } });
  expect(crash!.name).toHaveLength(200);
  expect(crash!.description).toContain("\n    at order (");
  expect(request).toMatchObject({ name: "Request", tags: { status: "304", path: "/index.html" } });
});

test("Netlify: traffic, functions and deploys", async () => {
  const { send, list } = await senders.create("netlify");
  const shared = { account_id: "a1", site_id: "s1", deploy_id: "d1" };
  const lines = [
    {
      ...shared,
      timestamp: "2026-11-26T12:00:00.001Z",
      log_type: "traffic",
      method: "GET",
      status_code: 200,
      url: "https://shop.example.com/",
      client_ip: "192.0.2.1",
      duration: 12,
    },
    {
      ...shared,
      timestamp: "2026-11-26T12:00:00.002Z",
      log_type: "traffic",
      method: "GET",
      status_code: 502,
      url: "https://shop.example.com/orders",
    },
    {
      ...shared,
      timestamp: "2026-11-26T12:00:00.003Z",
      log_type: "functions",
      level: "error",
      message: "no stock",
      function_name: "order",
      request_id: "r1",
    },
    {
      ...shared,
      timestamp: "2026-11-26T12:00:00.004Z",
      log_type: "deploys",
      level: "info",
      deploy_section: "building",
      message: "Build script success",
    },
    {
      ...shared,
      timestamp: "2026-11-26T12:00:00.005Z",
      log_type: "waf",
      action: { type: "deny" },
      request: { method: "POST", url: "https://shop.example.com/login" },
      rule_sets: [],
    },
  ];
  const ndjson = `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`;
  expect(await send(ndjson, { "content-type": "application/x-ndjson" })).toEqual([201, "recorded"]);
  expect(await send(ndjson)).toEqual([200, "duplicate"]);
  const events = await list();
  expect(events).toMatchObject([
    { name: "Request", tags: { type: "traffic", status: "200", durationMs: "12", site: "s1" } },
    { name: "Request failed", icon: "❌" },
    { name: "no stock", icon: "❌", tags: { function: "order", level: "error" } },
    { name: "Build script success", tags: { type: "deploys", section: "building" } },
    { name: "Firewall deny", tags: { method: "POST", path: "https://shop.example.com/login" } },
  ]);
  expect(JSON.stringify(events)).not.toContain("192.0.2.1");
});

describe("Heroku", () => {
  const framed = (...messages: string[]) =>
    messages.map((message) => `${Buffer.byteLength(message)} ${message}`).join("");
  /** https://devcenter.heroku.com/articles/log-drains#https-drains */
  const state = "<40>1 2012-11-30T06:45:29+00:00 host app web.3 - State changed from starting to up\n";
  const starting =
    "<40>1 2012-11-30T06:45:26+00:00 host app web.3 - Starting process with command `bundle exec rackup config.ru -p 24405`\n";
  const timeout =
    '<158>1 2012-11-30T06:45:30.123456+00:00 host heroku router - at=error code=H12 desc="Request timeout" method=GET path="/é" host=shop.example.com fwd="192.0.2.1" dyno=web.3 connect=1ms service=30001ms status=503 bytes=0 protocol=https\n';
  const headers = {
    "content-type": "application/logplex-1",
    "logplex-msg-count": "3",
    "logplex-frame-id": "09C557EAFCFB6CF2740EE62F62971098",
    "logplex-drain-token": "d.fc6b856b-3332-4546-93de-7d0ee272c3bd",
  };

  test("lines of dynos and the router", async () => {
    const { send, list } = await senders.create("heroku");
    const body = framed(starting, state, timeout);
    expect(await send(body, headers)).toEqual([201, "recorded"]);
    expect(await send(body, headers)).toEqual([200, "duplicate"]);
    const events = await list();
    expect(events).toMatchObject([
      { name: "Starting process with command `bundle exec rackup config.ru -p 24405`" },
      {
        name: "State changed from starting to up",
        createdAt: "2012-11-30T06:45:29.000Z",
        tags: { process: "web.3", source: "app", severity: "emergency" },
      },
      { name: "Request timeout", notify: true, tags: { code: "H12", status: "503", service: "30001ms" } },
    ]);
    expect(JSON.stringify(events)).not.toContain("192.0.2.1");
  });

  test("what is not framed is rejected and kept", async () => {
    const { send, requests } = await senders.create("heroku");
    for (const body of ["x", "12", "5 <40>1", `999 ${state}`, framed("no syslog"), `${framed(state)}x`])
      expect([body, ...(await send(body, headers))]).toEqual([body, 400, "body-malformed"]);
    expect((await requests()).length).toBeGreaterThan(0);
  });

  test("the drain's token is verified if it was entered", async () => {
    const { send } = await senders.create("heroku", { secret: headers["logplex-drain-token"] });
    expect(await send(framed(state), headers)).toEqual([201, "recorded"]);
    const other = { ...headers, "logplex-drain-token": "d.00000000-3332-4546-93de-7d0ee272c3bd" };
    expect(await send(framed(state), other)).toEqual([403, "webhook-signature-invalid"]);
    const { "logplex-drain-token": _, ...without } = headers;
    expect(await send(framed(state), without)).toEqual([403, "webhook-signature-invalid"]);
  });
});

describe("Cloudflare", () => {
  const gzip = { "content-encoding": "gzip" };
  const lines = [
    {
      ClientIP: "192.0.2.1",
      ClientRequestHost: "shop.example.com",
      ClientRequestMethod: "GET",
      ClientRequestPath: "/orders",
      EdgeResponseStatus: 200,
      EdgeStartTimestamp: "2026-11-26T12:00:00Z",
      RayID: "3ec81d7a6b4d3f2a",
    },
    { EdgeResponseStatus: 502, EdgeStartTimestamp: 1795694400000000000, RayID: "3ec81d7a6b4d3f2b" },
    {
      Action: "block",
      RuleID: "r1",
      Source: "waf",
      Datetime: "2026-11-26T12:00:02Z",
      RayID: "3ec81d7a6b4d3f2b",
    },
    // Of the same request, with its status, too.
    ...["challenge", "log"].map((Action, MatchIndex) => ({
      ...{ Action, MatchIndex, RuleID: "r2", Source: "firewallcustom", EdgeResponseStatus: 502 },
      ...{ Datetime: "2026-11-26T12:00:02Z", RayID: "3ec81d7a6b4d3f2b" },
    })),
  ];
  const compressed = (items: object[]) =>
    new Uint8Array(gzipSync(items.map((item) => JSON.stringify(item)).join("\n")));

  test("compressed lines; the test file is ignored", async () => {
    const { send, list } = await senders.create("cloudflare");
    expect(await send(compressed([{ content: "tests" }]), gzip)).toEqual([200, "ignored"]);
    expect(await send(compressed(lines), gzip)).toEqual([201, "recorded"]);
    expect(await send(compressed(lines), gzip)).toEqual([200, "duplicate"]);
    const events = await list();
    expect(events).toMatchObject(
      [
        { name: "Request failed", createdAt: "2026-11-26T12:00:00.000Z" },
        {
          name: "Request",
          createdAt: "2026-11-26T12:00:00.000Z",
          tags: { path: "/orders", rayId: "3ec81d7a6b4d3f2a" },
        },
        { name: "Firewall block", tags: { rule: "r1", source: "waf" } },
        { name: "Firewall challenge", tags: { rule: "r2", status: "502" } },
        { name: "Firewall log", tags: { rule: "r2", status: "502" } },
      ].toSorted(
        (a, b) =>
          events.findIndex(({ name }) => name === a.name) - events.findIndex(({ name }) => name === b.name),
      ),
    );
    expect(JSON.stringify(events)).not.toContain("192.0.2.1");
  });

  test("a body that unpacks too far, or has too many lines, is refused", async () => {
    const { send } = await senders.create("cloudflare");
    const bomb = new Uint8Array(gzipSync(Buffer.alloc(limits.foreignBatchBytes * 4, " ")));
    expect(await send(bomb, gzip)).toEqual([413, "body-too-large"]);
    const many = new Uint8Array(gzipSync("{}\n".repeat(limits.webhookItems + 1)));
    expect(await send(many, gzip)).toEqual([422, "body-invalid"]);
  });

  test("a line that can't become an event is kept, and the others are recorded", async () => {
    const mapping = { name: "{{ClientRequestMethod}}", id: "{{RayID}}", createdAt: "{{EdgeStartTimestamp}}" };
    const { webhook, send, list, requests } = await senders.create("cloudflare", { mapping });
    const [good] = lines;
    const bad = { ...good, RayID: "bad", EdgeStartTimestamp: "yesterday" };
    expect(await send(compressed([good!, bad]), gzip)).toEqual([201, "recorded"]);
    expect(await list()).toMatchObject([{ name: "GET" }]);
    const { rejected } = (await (
      await app.request("/api/events/rejected?limit=200")
    ).json()) as RejectedEventList;
    expect(rejected.filter(({ body }) => body.includes(`"${webhook.channel}"`))).toHaveLength(1);
    const [request] = await requests();
    expect(request).toMatchObject({ outcome: "rejected" });
    // After the mapping is fixed, the request is mapped again, and only what is missing is recorded.
    const { createdAt: _, ...fixed } = mapping;
    await senders.call("PATCH", `/${webhook.id}`, { mapping: fixed });
    expect(await senders.call("POST", `/${webhook.id}/requests/${request!.id}/resend`)).toMatchObject({
      outcome: "recorded",
    });
    expect(await list()).toHaveLength(2);
    expect(await send(compressed([bad]), gzip)).toEqual([200, "duplicate"]);
  });
});

test("the preview shows what the first line becomes", async () => {
  const line = "<40>1 2012-11-30T06:45:29+00:00 host app web.3 - Hello\n";
  expect(await senders.preview("heroku", `${line.length} ${line}`)).toMatchObject({
    event: { name: "Hello" },
  });
  const parsed = [{ message: "Hello again", time: "2012-11-30T06:45:29+00:00", fields: {} }];
  expect(await senders.preview("heroku", JSON.stringify(parsed))).toMatchObject({
    event: { name: "Hello again" },
  });
  expect(await senders.preview("vercel", "[]")).toEqual({ ok: true, outcome: "ignored", errors: [] });
});
