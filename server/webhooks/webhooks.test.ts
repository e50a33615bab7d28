// @engines sqlite, postgres
// @long postgres
/** Webhooks through HTTP, signed by the packages that senders publish. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { sign } from "@octokit/webhooks-methods";
import { Webhook as StandardWebhook } from "standardwebhooks";
import Stripe from "stripe";
import { limits } from "../core/limits.ts";
import type { Problem } from "../core/problems.ts";
import type { AuditEntry } from "../schemas/audit.ts";
import type { RejectedEventList } from "../schemas/rejected-event.ts";
import type {
  NewWebhook,
  Webhook,
  WebhookPreview,
  WebhookPreviewResponse,
  WebhookRequest,
} from "../schemas/webhook.ts";
import { rawRequest } from "../testing/raw-request.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";

const stripe = new Stripe("sk_test_unused");
const json = { "content-type": "application/json" };

let app: TestApp;
let session: Record<string, string>;
beforeAll(async () => {
  app = await testApp();
  session = { cookie: await app.signIn(), origin: app.address, ...json };
});
afterAll(() => app?.[Symbol.asyncDispose]());

async function call<Result>(method: string, path: string, body?: unknown, status = 200): Promise<Result> {
  const response = await app.request(`/api/webhooks${path}`, {
    method,
    headers: session,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  expect(`${response.status} ${text}`).toStartWith(`${status} `);
  return JSON.parse(text) as Result;
}

let names = 0;
async function create(change: Partial<NewWebhook> = {}): Promise<{ webhook: Webhook; url: string }> {
  const body = {
    name: `Webhook ${++names}`,
    source: "plain",
    channel: `c${names}`,
    ...(!["stripe", "github"].includes(change.source!) && { mapping: { name: "{{type}}", id: "{{id}}" } }),
    ...change,
  };
  return call("POST", "", body, 201);
}

const send = (url: string, body: string | object, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, {
    method: "POST",
    headers: { ...json, ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

async function outcome(response: Response): Promise<[number, string]> {
  const body = (await response.json()) as { outcome?: string; type?: string };
  return [response.status, body.outcome ?? body.type!.replace("/problems/", "")];
}

const requestsOf = async ({ id }: Webhook): Promise<WebhookRequest[]> =>
  (await call<{ requests: WebhookRequest[] }>("GET", `/${id}/requests`)).requests;

async function rejectedIn(channel: string) {
  const response = await app.request("/api/events/rejected?limit=200");
  const { rejected } = (await response.json()) as RejectedEventList;
  return rejected.filter(({ body }) => body.includes(`"${channel}"`));
}

test("a plain webhook records what its mapping makes, once for each delivery", async () => {
  const { webhook, url } = await create({
    mapping: {
      when: 'type != "ping"',
      name: "Order {{type}}",
      userId: "{{customer.id}}",
      notify: "total > 100",
      id: "{{id}}",
      tags: { total: "{{total}}", source: "{{@x-shop}}" },
    },
  });
  const order = { id: "o1", type: "paid", customer: { id: "u1" }, total: 120 };
  expect(await outcome(await send(url, order, { "x-shop": "eu" }))).toEqual([201, "recorded"]);
  expect(await outcome(await send(url, order))).toEqual([200, "duplicate"]);
  expect(await outcome(await send(url, { type: "ping" }))).toEqual([200, "ignored"]);
  expect(await app.list(`?channel=${webhook.channel}`)).toMatchObject([
    { name: "Order paid", userId: "u1", notify: true, tags: { total: "120", source: "eu" } },
  ]);
  expect((await requestsOf(webhook)).map((request) => request.outcome)).toEqual([
    "ignored",
    "duplicate",
    "recorded",
  ]);
});

test("forms are bodies too", async () => {
  const { webhook, url } = await create({
    mapping: { name: "{{event}}", tags: { all: "{{item}}", one: "{{item[1]}}" } },
  });
  const form = { "content-type": "application/x-www-form-urlencoded" };
  expect(await outcome(await send(url, "event=Sold&item=a&item=b%26", form))).toEqual([201, "recorded"]);
  const payload = new URLSearchParams({ payload: '{"event":"Packed"}' }).toString();
  expect(await outcome(await send(url, payload, form))).toEqual([201, "recorded"]);
  expect(await app.list(`?channel=${webhook.channel}`)).toMatchObject([
    { name: "Packed" },
    { name: "Sold", tags: { all: '["a","b&"]', one: "b&" } },
  ]);
});

describe("signatures", () => {
  const body = JSON.stringify({
    id: "evt_1",
    type: "invoice.paid",
    data: { object: { id: "in_1", customer: "cus_1" } },
  });
  const nowSeconds = () => Math.floor(Date.now() / 1_000);
  const secrets = {
    stripe: "whsec_stripe_secret",
    github: "It's a secret to everybody".replaceAll(" ", "_"),
    "standard-webhooks": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    hmac: "shared-secret",
  } as const;
  /** Signs as the sender does, with this secret. */
  const signers: Record<
    keyof typeof secrets,
    (secret: string) => Promise<Record<string, string>> | Record<string, string>
  > = {
    stripe: async (secret) => ({
      "stripe-signature": await stripe.webhooks.generateTestHeaderStringAsync({ payload: body, secret }),
    }),
    github: async (secret) => ({
      "x-hub-signature-256": await sign(secret, body),
      "x-github-event": "ping",
      "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
    }),
    "standard-webhooks": (secret) => {
      const now = new Date();
      return {
        "webhook-id": "msg_1",
        "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
        "webhook-signature": `v1,bm9uZQ== ${new StandardWebhook(secret).sign("msg_1", now, body)}`,
      };
    },
    hmac: (secret) => ({ "x-hook": createHmac("sha256", secret).update(body).digest("base64") }),
  };
  const others = { ...secrets, "standard-webhooks": "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" };

  for (const source of Object.keys(secrets) as (keyof typeof secrets)[]) {
    test(`${source}: only what is signed with the secret is recorded, and once`, async () => {
      const { webhook, url } = await create({
        source,
        ...(source === "hmac" && { signatureHeader: "X-Hook" }),
      });
      const headers = await signers[source](secrets[source]);
      // Senders need the address before they show their secret.
      expect(await outcome(await send(url, body, headers))).toEqual([403, "webhook-signature-invalid"]);
      await call("PATCH", `/${webhook.id}`, { secret: secrets[source] });
      const wrong = source === "standard-webhooks" ? others[source] : `${secrets[source]}x`;
      expect(await outcome(await send(url, body, await signers[source](wrong)))).toEqual([
        403,
        "webhook-signature-invalid",
      ]);
      expect(await outcome(await send(url, body))).toEqual([403, "webhook-signature-invalid"]);
      expect(await outcome(await send(url, `${body} `, headers))).toEqual([403, "webhook-signature-invalid"]);
      expect(await app.list(`?channel=${webhook.channel}`)).toEqual([]);
      expect(await outcome(await send(url, body, headers))).toEqual([201, "recorded"]);
      expect(await outcome(await send(url, body, headers))).toEqual([200, "duplicate"]);
      expect(await app.list(`?channel=${webhook.channel}`)).toHaveLength(1);
    });
  }

  test("a timestamp that is too old or too new is refused", async () => {
    const secret = secrets.stripe;
    const { url } = await create({ source: "stripe", secret });
    const at = async (timestamp: number) => ({
      "stripe-signature": await stripe.webhooks.generateTestHeaderStringAsync({
        payload: body,
        secret,
        timestamp,
      }),
    });
    const tolerance = limits.webhookToleranceSeconds;
    for (const seconds of [-tolerance - 60, tolerance + 60]) {
      expect(await outcome(await send(url, body, await at(nowSeconds() + seconds)))).toEqual([
        403,
        "webhook-signature-invalid",
      ]);
    }
    expect(await outcome(await send(url, body, await at(nowSeconds() - tolerance + 60)))).toEqual([
      201,
      "recorded",
    ]);
  });
});

describe("what can't become an event", () => {
  test("is kept with the reason, once for each delivery, and recorded when the mapping is mended", async () => {
    const { webhook, url } = await create({ mapping: { name: "{{event.name}}", id: "{{id}}" } });
    const body = { id: "d1", title: "Sold" };
    const first = await send(url, body);
    expect(first.status).toBe(422);
    expect(await first.json()).toMatchObject({ errors: [{ pointer: "/name" }] });
    expect((await send(url, body)).status).toBe(422);
    expect(await rejectedIn(webhook.channel)).toHaveLength(1);
    const [kept, ...more] = await requestsOf(webhook);
    expect(more).toEqual([]);
    expect(kept).toMatchObject({ outcome: "rejected", eventId: null, body: JSON.stringify(body) });
    expect(kept!.detail).toContain(`The webhook "${webhook.name}" made an event that is not valid.`);

    const resend = `/${webhook.id}/requests/${kept!.id}/resend`;
    await call("POST", resend, undefined, 422);
    await call("PATCH", `/${webhook.id}`, { mapping: { name: "{{title}}", id: "{{id}}" } });
    const { id } = await call<{ id: string }>("POST", resend);
    // The sender, and the page of rejected events, may try again too.
    expect(await outcome(await send(url, body))).toEqual([200, "duplicate"]);
    expect(await call("POST", resend)).toMatchObject({ outcome: "duplicate", id });
    expect(await app.list(`?channel=${webhook.channel}`)).toMatchObject([{ id, name: "Sold" }]);
  });

  test("is kept if it isn't JSON, with characters that the database can't store as text", async () => {
    const { webhook, url } = await create();
    expect(await outcome(await send(url, `{"${webhook.channel}"\0`))).toEqual([400, "body-malformed"]);
    expect(await outcome(await send(url, { id: "a", type: "nul \0 and \ud800" }))).toEqual([201, "recorded"]);
    const [second, first] = await requestsOf(webhook);
    expect(first).toMatchObject({ outcome: "rejected", body: JSON.stringify(`{"${webhook.channel}"\0`) });
    expect(second).toMatchObject({ outcome: "recorded" });
    expect(await rejectedIn(webhook.channel)).toHaveLength(1);
  });

  test("has an id also if the sender tells no deliveries apart, so it is recorded once", async () => {
    const { webhook, url } = await create({ mapping: { name: "{{missing}}" } });
    expect((await send(url, {})).status).toBe(422);
    const [kept] = await requestsOf(webhook);
    await call("PATCH", `/${webhook.id}`, { mapping: { name: "Fixed" } });
    const { id } = await call<{ id: string }>("POST", `/${webhook.id}/requests/${kept!.id}/resend`);
    expect(JSON.parse((await rejectedIn(webhook.channel))[0]!.body)).toMatchObject({ id });
  });
});

test("bodies are limited in size, nesting and number of values", async () => {
  const { url } = await create();
  expect(await outcome(await send(url, `"${"x".repeat(limits.webhookBytes)}"`))).toEqual([
    413,
    "body-too-large",
  ]);
  expect(await outcome(await send(url, `${"[".repeat(5_000)}${"]".repeat(5_000)}`))).toEqual([
    422,
    "body-invalid",
  ]);
  const many = Array.from({ length: limits.webhookValues + 1 }, () => 0);
  expect(await outcome(await send(url, many))).toEqual([422, "body-invalid"]);
  const form = { "content-type": "application/x-www-form-urlencoded" };
  expect(await outcome(await send(url, "a=&".repeat(limits.webhookValues + 1), form))).toEqual([
    422,
    "body-invalid",
  ]);
  expect(await outcome(await send(url, { type: "many", list: many.slice(100) }))).toEqual([201, "recorded"]);
  expect(await outcome(await send(url, "x", { "content-type": "multipart/form-data; boundary=x" }))).toEqual([
    415,
    "content-type-unsupported",
  ]);
  expect(await outcome(await send(url, "x", { "content-encoding": "gzip" }))).toEqual([
    415,
    "content-type-unsupported",
  ]);
});

test("a body that is announced as huge is refused at once, without waiting for room", async () => {
  const { url } = await create();
  const { host, pathname } = new URL(url);
  using raw = await rawRequest(
    app.address,
    `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 100000000000\r\n\r\n{`,
  );
  expect(await raw.status()).toBe(413);
});

test("only the last requests are kept, without credentials, and large bodies not at all", async () => {
  const { webhook, url } = await create();
  for (let count = 0; count <= limits.webhookRequests; count++)
    await send(url, { id: `${count}`, type: "t" });
  await send(
    url,
    { type: "large", text: "x".repeat(limits.webhookRequestCharacters) },
    {
      authorization: "Bearer confidential",
      cookie: "confidential=1",
      "x-gitlab-token": "confidential",
      "x-shop": "eu",
    },
  );
  const requests = await requestsOf(webhook);
  expect(requests).toHaveLength(limits.webhookRequests);
  expect(requests[0]).toMatchObject({ outcome: "recorded", body: null, headers: { "x-shop": "eu" } });
  expect(JSON.stringify(requests)).not.toContain("confidential");
});

test("requests without the sender's signature push out none with it", async () => {
  const secret = "secret-of-the-sender";
  const { webhook, url } = await create({ source: "hmac", secret });
  const body = '{"type":"Signed"}';
  const signed = { "x-signature": createHmac("sha256", secret).update(body).digest("hex") };
  expect(await outcome(await send(url, body, signed))).toEqual([201, "recorded"]);
  for (let count = 0; count <= limits.webhookRequests; count++)
    expect((await send(url, "{}")).status).toBe(403);
  expect((await requestsOf(webhook)).map((request) => request.outcome)).toEqual(["rejected", "recorded"]);
});

describe("the address", () => {
  test("is shown to those who manage webhooks, and ends when it is replaced or the webhook is deleted", async () => {
    const { webhook, url } = await create();
    const token = url.split("/").at(-1)!;
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(JSON.stringify(await call("GET", ""))).not.toContain(token);
    expect(await call<object>("GET", `/${webhook.id}/url`)).toEqual({ ok: true, url });
    await app.addMember("member@example.com", "member");
    const others = await app.request(`/api/webhooks/${webhook.id}/url?project=default`, {
      headers: { cookie: await app.signIn("member@example.com") },
    });
    expect(others.status).toBe(403);
    const rotated = await call<{ url: string }>("POST", `/${webhook.id}/rotate`);
    expect(await call<object>("GET", `/${webhook.id}/url`)).toEqual({ ok: true, url: rotated.url });
    expect(await outcome(await send(url, { type: "t" }))).toEqual([404, "webhook-unknown"]);
    expect(await outcome(await send(rotated.url, { type: "t" }))).toEqual([201, "recorded"]);
    await call("DELETE", `/${webhook.id}`);
    expect(await outcome(await send(rotated.url, { type: "t" }))).toEqual([404, "webhook-unknown"]);
    await call("GET", `/${webhook.id}`, undefined, 404);
    expect(await app.list(`?channel=${webhook.channel}`)).toHaveLength(1);
  });

  test("that was made before addresses were kept can only be replaced", async () => {
    const { webhook, url } = await create();
    const { control } = app.running.store;
    await control.updateTable("webhooks").set({ token: null }).where("id", "=", webhook.id).execute();
    expect((await call<{ webhook: Webhook }>("GET", `/${webhook.id}`)).webhook.hasUrl).toBe(false);
    const refusal = await call<Problem>("GET", `/${webhook.id}/url`, undefined, 409);
    expect(refusal.type).toBe("/problems/webhook-address-unknown");
    expect(await outcome(await send(url, { type: "t" }))).toEqual([201, "recorded"]);
    await call("POST", `/${webhook.id}/rotate`);
    await call("GET", `/${webhook.id}/url`);
  });

  test("and the secret are sealed in the database", async () => {
    const { webhook, url } = await create({ source: "hmac", secret: "confidential-secret" });
    const row = await app.running.store.control
      .selectFrom("webhooks")
      .selectAll()
      .where("id", "=", webhook.id)
      .executeTakeFirstOrThrow();
    expect(JSON.stringify(row)).not.toContain(url.split("/").at(-1)!);
    expect(JSON.stringify(row)).not.toContain("confidential-secret");
    expect(webhook).toMatchObject({ hasSecret: true });
  });
});

test("names are unique, mappings are checked, and what changes is in the audit log", async () => {
  const { webhook } = await create();
  await call("POST", "", { name: webhook.name, source: "github", channel: "c" }, 409);
  const faults = await call<{ errors: object[] }>(
    "POST",
    "",
    { name: "x", source: "plain", channel: "c", mapping: { name: "{{", tags: { t: "{{a}" } } },
    422,
  );
  expect(faults.errors).toMatchObject([{ pointer: "/mapping/name" }, { pointer: "/mapping/tags/t" }]);
  await call("POST", "", { name: "x", source: "plain", channel: "c" }, 422);
  await call("PATCH", `/${webhook.id}`, { channel: "renamed", secret: "confidential-secret" });
  await call("POST", `/${webhook.id}/rotate`);
  await call("DELETE", `/${webhook.id}`);
  const response = await app.request("/api/audit?action=webhook&limit=4");
  const { entries } = (await response.json()) as { entries: AuditEntry[] };
  expect(entries.map(({ action }) => action)).toEqual([
    "webhook.deleted",
    "webhook.rotated",
    "webhook.changed",
    "webhook.created",
  ]);
  expect(entries[1]).toMatchObject({ target: webhook.name, actor: { name: app.owner } });
  expect(JSON.stringify(entries)).not.toContain("confidential");
});

test("a preview shows the event, mistakes at their fields, and what kept requests would become", async () => {
  const preview = (change: Partial<WebhookPreview>) =>
    call<WebhookPreviewResponse>("POST", "/preview", {
      source: "plain",
      channel: "c",
      mapping: { name: "{{type}}" },
      ...change,
    });
  expect(await preview({ body: '{"type":"Sold"}' })).toMatchObject({
    outcome: "recorded",
    event: { channel: "c", name: "Sold" },
  });
  expect(await preview({ body: "{", mapping: { name: "{{type}}" } })).toMatchObject({
    outcome: "rejected",
    errors: [{ pointer: "/body" }],
  });
  expect(await preview({ body: "{}" })).toMatchObject({ errors: [{ pointer: "/mapping/name" }] });
  expect(await preview({ body: "{}", mapping: { name: "x", when: "(" } })).toMatchObject({
    errors: [{ pointer: "/mapping/when" }],
  });
  expect(await preview({ body: "{}", mapping: { name: "x", when: "type" } })).toMatchObject({
    outcome: "ignored",
    errors: [],
  });
  expect(
    await preview({
      body: '{"zen":"Less"}',
      source: "github",
      mapping: null,
      headers: { "X-GitHub-Event": "ping" },
    }),
  ).toMatchObject({
    event: { name: "Webhook connected", description: "Less" },
  });
  const { webhook, url } = await create();
  await send(url, { type: "Kept" });
  const [kept] = await requestsOf(webhook);
  expect(await preview({ request: kept!.id })).toMatchObject({ event: { name: "Kept" } });
  expect(await app.list(`?channel=${webhook.channel}`)).toHaveLength(1);
});

test("an erased user is no longer in kept requests", async () => {
  const { webhook, url } = await create({ mapping: { name: "n", userId: "{{u}}" } });
  await send(url, { u: "erased@example.com" });
  await send(url, { u: "other@example.com" });
  // They can't be parsed, and are kept as they are.
  await send(url, '{"u":"erased@example.com"');
  await send(url, `payload=${encodeURIComponent('{"u":"erased@example.com"')}`, {
    "content-type": "application/x-www-form-urlencoded",
  });
  expect(await requestsOf(webhook)).toHaveLength(4);
  const response = await app.request("/api/users/erased%40example.com", { method: "DELETE" });
  expect(response.status).toBe(202);
  await until(async () => (await requestsOf(webhook)).length === 1);
  expect(JSON.stringify(await requestsOf(webhook))).not.toMatch(/erased(?:@|%40)example/);
});
