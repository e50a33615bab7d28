// @engines sqlite, postgres
// @long postgres
/** Bodies that no sender would send: each source refuses or ignores them, and keeps what it refused. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { WebhookSource } from "../schemas/webhook.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { hmacOf, webhookSenders } from "../testing/webhook-senders.ts";

let app: TestApp;
let senders: Awaited<ReturnType<typeof webhookSenders>>;
beforeAll(async () => {
  app = await testApp();
  senders = await webhookSenders(app);
});
afterAll(() => app?.[Symbol.asyncDispose]());

const secret = "a-secret-of-senders";
const seconds = () => Math.floor(Date.now() / 1_000);
const unsigned = () => ({});
const signed: Record<WebhookSource, (text: string) => Record<string, string>> = {
  plain: unsigned,
  alertmanager: unsigned,
  grafana: unsigned,
  "uptime-kuma": unsigned,
  netlify: unsigned,
  heroku: unsigned,
  cloudflare: unsigned,
  hmac: (text) => ({ "x-signature": hmacOf("sha256", secret, text) }),
  github: (text) => ({ "x-hub-signature-256": `sha256=${hmacOf("sha256", secret, text)}` }),
  sentry: (text) => ({ "sentry-hook-signature": hmacOf("sha256", secret, text) }),
  vercel: (text) => ({ "x-vercel-signature": hmacOf("sha1", secret, text) }),
  stripe: (text) => ({
    "stripe-signature": `t=${seconds()},v1=${hmacOf("sha256", secret, `${seconds()}.${text}`)}`,
  }),
  "standard-webhooks": (text) => ({
    "webhook-id": "m1",
    "webhook-timestamp": String(seconds()),
    "webhook-signature": `v1,${hmacOf("sha256", secret, `m1.${seconds()}.${text}`)}`,
  }),
};

test.each(Object.keys(signed) as WebhookSource[])("%s", async (source) => {
  const hasSecret = signed[source] !== unsigned;
  const { send, requests } = await senders.create(source, {
    ...(hasSecret && { secret: source === "standard-webhooks" ? btoa(secret) : secret }),
    ...(["plain", "hmac", "standard-webhooks"].includes(source) && { mapping: { name: "{{type}}" } }),
  });
  expect(await send("{", signed[source]("{"))).toEqual([400, "body-malformed"]);
  expect(await requests()).toMatchObject([{ outcome: "rejected", body: '"{"' }]);
  for (const body of ["null", "1", '"x"', "[]", "[null,1,[]]", '{"alerts":[null,1,[]]}']) {
    const [status] = await send(body, signed[source](body));
    expect([200, 201, 400, 422], body).toContain(status as number);
  }
});
