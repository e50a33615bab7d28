// @engines sqlite, postgres
// @long postgres
/** Requests of senders of alerts, as their documentation has them. */
import { afterAll, beforeAll, expect, test } from "bun:test";
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
  const { send, list } = await senders.create("alertmanager");
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

test("alerts that join a rejected one are rejected events too, once each time the sender tries", async () => {
  const mapping = { name: "{{labels.instance}}", createdAt: "{{startsAt}}" };
  const { webhook, send, list, requests } = await senders.create("alertmanager", { mapping });
  const alert = (instance: string, startsAt = "yesterday") => ({
    ...notification.alerts[0],
    labels: { instance },
    fingerprint: instance,
    startsAt,
  });
  const notify = (...alerts: object[]) => send({ ...notification, alerts });
  const rejectedNames = async () => {
    const response = await app.request("/api/events/rejected?limit=200");
    const { rejected } = (await response.json()) as RejectedEventList;
    const bodies = rejected.map(({ body }) => JSON.parse(body) as { channel: string; name: string });
    return bodies.filter(({ channel }) => channel === webhook.channel).map(({ name }) => name);
  };
  for (const _ of [1, 2]) expect(await notify(alert("a"))).toEqual([422, "body-invalid"]);
  expect(await rejectedNames()).toEqual(["a"]);
  for (const _ of [1, 2]) expect(await notify(alert("a"), alert("c"))).toEqual([422, "body-invalid"]);
  expect((await rejectedNames()).toSorted()).toEqual(["a", "a", "c"]);
  // A request that was rejected as a whole is settled when it is recorded.
  expect(await requests()).toHaveLength(2);
  await senders.call("PATCH", `/${webhook.id}`, { mapping: { name: mapping.name } });
  expect(await notify(alert("a"), alert("c"))).toEqual([201, "recorded"]);
  expect((await requests()).map(({ outcome }) => outcome)).toEqual(["recorded", "rejected"]);
  // What is answered and shown is an event that exists.
  await senders.call("PATCH", `/${webhook.id}`, { mapping });
  expect(await notify(alert("d"), alert("e", "2026-11-26T12:00:00Z"))).toEqual([201, "recorded"]);
  const [partial] = await requests();
  await senders.call("PATCH", `/${webhook.id}`, { mapping: { name: mapping.name } });
  const again = await senders.call<{ id: string }>("POST", `/${webhook.id}/requests/${partial!.id}/resend`);
  const stored = (await list()).map(({ id }) => id);
  expect(stored).toHaveLength(4);
  expect(stored).toContain(again.id);
  expect(stored).toContain((await requests())[0]!.eventId!);
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
  const open = await senders.create("grafana");
  expect(await open.send(body)).toEqual([201, "recorded"]);
  expect(await open.list()).toMatchObject([
    {
      name: "Alert firing",
      tags: { url: alert.panelURL, values: alert.valueString, silence: alert.silenceURL },
    },
  ]);

  const secret = "a secret of grafana".replaceAll(" ", "-");
  const { send } = await senders.create("grafana", { secret });
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
    [signatureHeader]: hmacOf("sha256", secret, `${seconds}:${text}`),
    "x-grafana-alerting-timestamp": String(seconds),
  });
  expect(await send(text, timed(now))).toEqual([200, "duplicate"]);
  expect(await send(text, timed(now - 600))).toEqual([403, "webhook-signature-invalid"]);
});

test("Sentry: issues and alerts of an integration, signed with its client secret", async () => {
  const secret = "sentry-client-secret";
  const { send, list } = await senders.create("sentry", { secret });
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
  const { send, list } = await senders.create("uptime-kuma");
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

test("the preview shows what the first alert becomes", async () => {
  expect(await senders.preview("alertmanager", JSON.stringify(notification))).toMatchObject({
    outcome: "recorded",
    event: { name: "Alert firing", tags: { instance: "web-1" } },
  });
});

test("a mapping with the whole alert has it once, without its group", async () => {
  const mapping = { name: "Alert", tags: { all: "{{$}}", receiver: "{{group.receiver}}" } };
  const { send, list } = await senders.create("alertmanager", { mapping });
  const alerts = Array.from({ length: 50 }, (_, index) => ({ labels: {}, fingerprint: `f${index}` }));
  expect(await send({ receiver: "tidings", padding: "x".repeat(10_000), alerts })).toEqual([201, "recorded"]);
  const { tags } = (await list())[0]!;
  expect(JSON.parse(tags.all!)).toEqual({ labels: {}, fingerprint: expect.stringMatching(/^f\d+$/) });
  expect(tags.receiver).toBe("tidings");
});

test.each(["alertmanager", "grafana"] as const)(
  "%s: a malformed body is rejected and kept",
  async (source) => {
    const { send, requests } = await senders.create(source);
    for (const body of ["{", "x", ""]) expect(await send(body)).toEqual([400, "body-malformed"]);
    expect((await requests()).length).toBeGreaterThan(0);
  },
);
