/** Requests of senders with several events, or ready ones, as their documentation has them. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { gzipSync } from "node:zlib";
import { limits } from "../core/limits.ts";
import type { RejectedEventList } from "../schemas/rejected-event.ts";
import type { NewWebhook, Webhook, WebhookPreviewResponse, WebhookRequest } from "../schemas/webhook.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
let session: Record<string, string>;
beforeAll(async () => {
  app = await testApp();
  session = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
});
afterAll(() => app?.[Symbol.asyncDispose]());

async function call<Result>(method: string, path: string, body?: unknown): Promise<Result> {
  const init = { method, headers: session, ...(body !== undefined && { body: JSON.stringify(body) }) };
  return (await (await app.request(`/api/webhooks${path}`, init)).json()) as Result;
}

let count = 0;
/** Creates a webhook in a channel of its own. */
async function create(source: NewWebhook["source"], change: Partial<NewWebhook> = {}) {
  const body = { name: `Sender ${++count}`, source, channel: `sender-${count}`, ...change };
  const { webhook, url } = await call<{ webhook: Webhook; url: string }>("POST", "", body);
  return {
    webhook,
    async send(sent: string | Uint8Array<ArrayBuffer> | object, headers: Record<string, string> = {}) {
      const bytes = typeof sent === "string" || sent instanceof Uint8Array ? sent : JSON.stringify(sent);
      const response = await fetch(url, { method: "POST", headers, body: bytes });
      const { outcome, type } = (await response.json()) as { outcome?: string; type?: string };
      return [response.status, outcome ?? type?.split("/").at(-1)];
    },
    list: () => app.list(`?channel=${webhook.channel}&order=asc`),
    requests: async () =>
      (await call<{ requests: WebhookRequest[] }>("GET", `/${webhook.id}/requests`)).requests,
  };
}

const hmacOf = (algorithm: string, secret: string, ...parts: string[]) =>
  createHmac(algorithm, secret).update(parts.join("")).digest("hex");

/** https://prometheus.io/docs/alerting/latest/configuration/#webhook_config */
const notification = {
  version: "4",
  groupKey: '{}:{alertname="HighLatency"}',
  truncatedAlerts: 0,
  status: "firing",
  receiver: "tidings",
  groupLabels: { alertname: "HighLatency" },
  commonLabels: { alertname: "HighLatency", severity: "critical" },
  commonAnnotations: {},
  externalURL: "http://alertmanager.example.com",
  alerts: ["web-1", "web-2"].map((instance, index) => ({
    status: "firing",
    labels: { alertname: "HighLatency", severity: "critical", instance },
    annotations: { summary: `Requests of ${instance} take 2 s` },
    startsAt: "2026-11-26T12:00:00.000Z",
    endsAt: "0001-01-01T00:00:00Z",
    generatorURL: "http://prometheus.example.com/graph",
    fingerprint: `a1b2c3d4e5f6071${index}`,
  })),
};

test("Alertmanager: each alert is an event once, when it starts and when it is resolved", async () => {
  const { send, list } = await create("alertmanager");
  expect(await send(notification)).toEqual([201, "recorded"]);
  // It is sent again while it fires.
  expect(await send(notification)).toEqual([200, "duplicate"]);
  const [first] = notification.alerts;
  const resolved = { ...first, status: "resolved", endsAt: "2026-11-26T12:10:00.000Z" };
  expect(await send({ ...notification, status: "resolved", alerts: [resolved] })).toEqual([201, "recorded"]);
  const shared = { alert: "HighLatency", severity: "critical", receiver: "tidings" };
  const url = "http://prometheus.example.com/graph";
  const events = (await list()).toSorted((a, b) =>
    a.name + a.tags.instance < b.name + b.tags.instance ? -1 : 1,
  );
  expect(events).toMatchObject([
    {
      name: "Alert firing",
      description: "Requests of web-1 take 2 s",
      notify: true,
      tags: { ...shared, instance: "web-1", url, since: "2026-11-26T12:00:00.000Z" },
    },
    { name: "Alert firing", tags: { ...shared, instance: "web-2", url } },
    { name: "Alert resolved", notify: false, tags: { until: "2026-11-26T12:10:00.000Z" } },
  ]);
  expect(await send({ status: "firing", alerts: [] })).toEqual([200, "ignored"]);
});

test("Grafana: alerts, verified if there is a secret, with and without its time", async () => {
  const alert = {
    ...notification.alerts[0],
    valueString: "[ var='B' labels={} value=22 ]",
    silenceURL: "https://grafana.example.com/alerting/silence/new",
    dashboardURL: "https://grafana.example.com/d/abc",
    panelURL: "https://grafana.example.com/d/abc?viewPanel=2",
  };
  const body = {
    ...notification,
    orgId: 1,
    title: "[FIRING:1] HighLatency",
    state: "alerting",
    alerts: [alert],
  };
  const open = await create("grafana");
  expect(await open.send(body)).toEqual([201, "recorded"]);
  expect(await open.list()).toMatchObject([
    {
      name: "Alert firing",
      tags: { url: alert.panelURL, values: alert.valueString, silence: alert.silenceURL },
    },
  ]);

  const secret = "a secret of grafana".replaceAll(" ", "-");
  const { send } = await create("grafana", { secret });
  const text = JSON.stringify(body);
  const signatureHeader = "x-grafana-alerting-signature";
  expect(await send(text)).toEqual([403, "webhook-signature-invalid"]);
  expect(await send(text, { [signatureHeader]: hmacOf("sha256", `${secret}x`, text) })).toEqual([
    403,
    "webhook-signature-invalid",
  ]);
  expect(await send(text, { [signatureHeader]: hmacOf("sha256", secret, text) })).toEqual([201, "recorded"]);
  const now = Math.floor(Date.now() / 1_000);
  const timed = (seconds: number) => ({
    [signatureHeader]: hmacOf("sha256", secret, `${seconds}:`, text),
    "x-grafana-alerting-timestamp": String(seconds),
  });
  expect(await send(text, timed(now))).toEqual([200, "duplicate"]);
  expect(await send(text, timed(now - 600))).toEqual([403, "webhook-signature-invalid"]);
});

test("Sentry: issues and alerts of an integration, signed with its client secret", async () => {
  const secret = "sentry-client-secret";
  const { send, list } = await create("sentry", { secret });
  /** https://docs.sentry.io/organization/integrations/integration-platform/webhooks/ */
  const issue = {
    action: "created",
    actor: { id: "sentry", name: "Sentry", type: "application" },
    data: {
      issue: {
        culprit: "?(runner)",
        id: "1170820242",
        level: "error",
        permalink: null,
        project: { id: "1", name: "front-end", platform: "", slug: "front-end" },
        shortId: "FRONT-END-9",
        status: "unresolved",
        substatus: "escalating",
        title: "ReferenceError: blooopy is not defined",
      },
    },
    installation: { uuid: "a8e5d37a-696c-4c54-adb5-b3f28d64c7de" },
  };
  const event = {
    culprit: "?(<anonymous>)",
    environment: null,
    level: "error",
    title: "ReferenceError: heck is not defined",
    web_url: "https://sentry.io/organizations/test-org/issues/1117540176/",
  };
  const alert = { action: "triggered", data: { event, triggered_rule: "Very Important Alert Rule!" } };
  const metric = {
    action: "resolved",
    data: {
      description_text: "1000 events in the last 10 minutes",
      description_title: "Resolved: Too many errors",
      metric_alert: { alert_rule: { name: "Too many errors" }, projects: ["bar"] },
      web_url: "https://sentry.io/organizations/baz/alerts/1/",
    },
  };
  const sign = (body: object, resource: string, requestId: string) => ({
    "request-id": requestId,
    "sentry-hook-resource": resource,
    "sentry-hook-timestamp": "1566248777",
    "sentry-hook-signature": hmacOf("sha256", secret, JSON.stringify(body)),
  });
  expect(await send(issue, sign(issue, "issue", "r1"))).toEqual([201, "recorded"]);
  expect(await send(issue, sign(issue, "issue", "r1"))).toEqual([200, "duplicate"]);
  expect(await send(alert, sign(alert, "event_alert", "r2"))).toEqual([201, "recorded"]);
  expect(await send(metric, sign(metric, "metric_alert", "r3"))).toEqual([201, "recorded"]);
  const comment = { action: "created", data: { project_slug: "front-end" }, actor: { name: "Ada" } };
  expect(await send(comment, sign(comment, "comment", "r4"))).toEqual([201, "recorded"]);
  expect(await send(issue, sign(alert, "issue", "r5"))).toEqual([403, "webhook-signature-invalid"]);
  expect(await list()).toMatchObject([
    {
      name: "Issue created",
      description: "ReferenceError: blooopy is not defined",
      tags: { project: "front-end", issue: "FRONT-END-9", level: "error", substatus: "escalating" },
    },
    {
      name: "Issue alert",
      notify: true,
      description: "ReferenceError: heck is not defined",
      tags: { rule: "Very Important Alert Rule!", url: event.web_url },
    },
    { name: "Metric alert resolved", tags: { rule: "Too many errors", project: "bar" } },
    { name: "comment created", userId: "Ada" },
  ]);
});

test("Uptime Kuma: monitors that go down and up, and messages without one", async () => {
  const { send, list } = await create("uptime-kuma");
  const monitor = { id: 29, name: "Shop", url: "https://shop.example.com", hostname: null, type: "http" };
  const heartbeat = {
    monitorID: 29,
    status: 0,
    time: "2026-11-26 12:51:35.527",
    msg: "getaddrinfo ENOTFOUND shop.example.com",
    important: true,
    duration: 0,
    timezone: "America/Los_Angeles",
    timezoneOffset: "-08:00",
    localDateTime: "2026-11-26 04:51:35",
  };
  const down = { heartbeat, monitor, msg: "[Shop] [🔴 Down] getaddrinfo ENOTFOUND" };
  expect(await send(down)).toEqual([201, "recorded"]);
  expect(await send(down)).toEqual([200, "duplicate"]);
  const up = { ...heartbeat, status: 1, time: "2026-11-26 12:55:00.001", msg: "200 - OK", ping: 21 };
  expect(await send({ heartbeat: up, monitor, msg: "[Shop] [✅ Up] 200 - OK" })).toEqual([201, "recorded"]);
  const test = { heartbeat: null, monitor: null, msg: "My Webhook Alert Testing" };
  expect(await send(test)).toEqual([201, "recorded"]);
  expect(await list()).toMatchObject([
    {
      name: "Monitor down",
      notify: true,
      createdAt: "2026-11-26T12:51:35.527Z",
      description: heartbeat.msg,
      tags: { monitor: "Shop", url: "https://shop.example.com", type: "http" },
    },
    { name: "Monitor up", tags: { ping: "21" } },
    { name: "Monitor message", description: "My Webhook Alert Testing" },
  ]);
});

test("Vercel: JSON and NDJSON, signed, each line once", async () => {
  const secret = "vercel-drain-secret";
  const { send, list } = await create("vercel", { secret });
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
  const { send, list } = await create("netlify");
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
      log_type: "deploy",
      level: "info",
      message: "Build script success",
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
    { name: "Build script success", tags: { type: "deploy" } },
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
    const { send, list } = await create("heroku");
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
    const { send, requests } = await create("heroku");
    for (const body of ["x", "12", "5 <40>1", `999 ${state}`, framed("no syslog"), `${framed(state)}x`])
      expect([body, ...(await send(body, headers))]).toEqual([body, 400, "body-malformed"]);
    expect((await requests()).length).toBeGreaterThan(0);
  });

  test("the drain's token is verified if it was entered", async () => {
    const { send } = await create("heroku", { secret: headers["logplex-drain-token"] });
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
  ];
  const compressed = (items: object[]) =>
    new Uint8Array(gzipSync(items.map((item) => JSON.stringify(item)).join("\n")));

  test("compressed lines; the test file is ignored", async () => {
    const { send, list } = await create("cloudflare");
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
      ].toSorted(
        (a, b) =>
          events.findIndex(({ name }) => name === a.name) - events.findIndex(({ name }) => name === b.name),
      ),
    );
    expect(JSON.stringify(events)).not.toContain("192.0.2.1");
  });

  test("a body that unpacks too far, or has too many lines, is refused", async () => {
    const { send } = await create("cloudflare");
    const bomb = new Uint8Array(gzipSync(Buffer.alloc(limits.foreignBatchBytes * 4, " ")));
    expect(await send(bomb, gzip)).toEqual([413, "body-too-large"]);
    const many = new Uint8Array(gzipSync("{}\n".repeat(limits.webhookItems + 1)));
    expect(await send(many, gzip)).toEqual([422, "body-invalid"]);
  });

  test("a line that can't become an event is kept, and the others are recorded", async () => {
    const mapping = { name: "{{ClientRequestMethod}}", id: "{{RayID}}", createdAt: "{{EdgeStartTimestamp}}" };
    const { webhook, send, list, requests } = await create("cloudflare", { mapping });
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
    await call("PATCH", `/${webhook.id}`, { mapping: fixed });
    expect(await call("POST", `/${webhook.id}/requests/${request!.id}/resend`)).toMatchObject({
      outcome: "recorded",
    });
    expect(await list()).toHaveLength(2);
    expect(await send(compressed([bad]), gzip)).toEqual([200, "duplicate"]);
  });
});

test("the preview shows what the first item becomes", async () => {
  const preview = (source: NewWebhook["source"], body: string) =>
    call<WebhookPreviewResponse>("POST", "/preview", { source, channel: "c", mapping: null, body });
  expect(await preview("alertmanager", JSON.stringify(notification))).toMatchObject({
    outcome: "recorded",
    event: { name: "Alert firing", tags: { instance: "web-1" } },
  });
  const line = "<40>1 2012-11-30T06:45:29+00:00 host app web.3 - Hello\n";
  expect(await preview("heroku", `${line.length} ${line}`)).toMatchObject({ event: { name: "Hello" } });
  const parsed = [{ message: "Hello again", time: "2012-11-30T06:45:29+00:00", fields: {} }];
  expect(await preview("heroku", JSON.stringify(parsed))).toMatchObject({ event: { name: "Hello again" } });
  expect(await preview("vercel", "[]")).toEqual({ ok: true, outcome: "ignored", errors: [] });
});
