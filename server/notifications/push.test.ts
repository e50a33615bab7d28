import { afterAll, beforeAll, expect, test } from "bun:test";
import { createECDH } from "node:crypto";
import { decryptPush, type PushService, pushService } from "../testing/push-service.ts";
import type { Outcome } from "./kinds/kind.ts";
import { generateVapid } from "./open-kinds.ts";
import { type PushMessage, sendPush } from "./push.ts";

const vapid = { ...generateVapid(), subject: "mailto:owner@example.com" };
const policy = { allowPrivate: true };
const message: PushMessage = {
  title: "💰 Payment received",
  body: "payments · 用户 42 · مرحبا",
  url: "/p/default/events/019aa0e1-7b7c-7000-8000-000000000001",
  tag: "019aa0e1-7b7c-7000-8000-000000000001",
};

let service: PushService;
beforeAll(() => {
  service = pushService();
});
afterAll(async () => {
  await service.close();
});

function send(change: Partial<PushMessage> = {}, subscription = service.subscribe(vapid.publicKey)) {
  return sendPush(subscription, { ...message, ...change }, vapid, policy);
}

test("the tests' push service decrypts the example of RFC 8291, appendix A", () => {
  const browser = createECDH("prime256v1");
  browser.setPrivateKey("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94", "base64url");
  const body =
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN";
  const auth = Buffer.from("BTBZMqHH6r4Tts7J_aSIgg", "base64url");
  expect(decryptPush(Buffer.from(body, "base64url"), browser, auth).toString()).toBe(
    "When I grow up, I want to be a watermelon",
  );
});

test("a message arrives unchanged, valid for a day and urgent", async () => {
  const subscription = service.subscribe(vapid.publicKey);
  expect(await send({}, subscription)).toEqual({
    kind: "delivered",
    detail: "The push service answered 201.",
  });
  const push = await service.next();
  expect(push).toMatchObject({ subscription, payload: message, ttl: 86_400, urgency: "high" });
  expect(push.topic).toMatch(/^[\w-]{32}$/);
});

test("equal tags have equal topics, others don't", async () => {
  await send();
  await send();
  await send({ tag: "another" });
  const [first, second, third] = [await service.next(), await service.next(), await service.next()];
  expect(second.topic).toBe(first.topic);
  expect(third.topic).not.toBe(first.topic);
});

for (const [what, character] of [
  ["ASCII", "x"],
  ["quotes, which JSON escapes", '"'],
  ["emoji, two UTF-16 units each", "🐦"],
  ["Chinese, three bytes each", "鸟"],
] as const) {
  test(`a body of ${what} is shortened at a character`, async () => {
    expect(await send({ body: character.repeat(9_000) })).toMatchObject({ kind: "delivered" });
    const { payload, bytes } = await service.next();
    const { body, ...rest } = payload as PushMessage;
    expect(rest).toEqual({ title: message.title, url: message.url, tag: message.tag });
    expect(body).toMatch(new RegExp(`^${character}+…$`, "u"));
    expect(body.isWellFormed()).toBe(true);
    expect(bytes).toBeLessThanOrEqual(4_096);
    expect(bytes).toBeGreaterThan(4_096 - 5);
  });
}

test("the longest possible title leaves room for a body", async () => {
  expect(await send({ title: "🐦".repeat(265), body: "y".repeat(9_000) })).toMatchObject({
    kind: "delivered",
  });
  const { title, body } = (await service.next()).payload as PushMessage;
  expect(title).toBe("🐦".repeat(265));
  expect(body.length).toBeGreaterThan(2_000);
});

test("an unsubscribed or unknown browser is gone", async () => {
  const subscription = service.subscribe();
  service.unsubscribe(subscription);
  expect(await send({}, subscription)).toEqual({
    kind: "gone",
    detail: "The push service answered 410: this browser is no longer subscribed.",
  });
  const unknown = { ...subscription, endpoint: `${service.origin}/push/unknown` };
  expect(await send({}, unknown)).toMatchObject({ kind: "gone" });
});

test("429 is retried after the requested time", async () => {
  service.answerNext(429, { "retry-after": "30" });
  expect(await send()).toEqual({
    kind: "retry",
    detail: "The push service answered 429 and asks to wait 30 seconds.",
    retryAfterMs: 30_000,
    cause: "rate-limit",
  });
});

test("Retry-After can be a date", async () => {
  service.answerNext(503, { "retry-after": new Date(Date.now() + 90_000).toUTCString() });
  const outcome = await send();
  if (outcome.kind !== "retry") throw new Error(outcome.kind);
  expect(outcome.retryAfterMs).toBeGreaterThan(80_000);
  expect(outcome.retryAfterMs).toBeLessThanOrEqual(90_000);
});

for (const status of [408, 500, 502, 503]) {
  test(`${status} is retried`, async () => {
    service.answerNext(status, { "retry-after": "soon" });
    const detail = `The push service answered ${status}.`;
    const cause = status === 500 ? {} : { cause: "unavailable" };
    expect(await send()).toEqual({ kind: "retry", detail, ...cause } as Outcome);
  });
}

for (const status of [302, 400, 401, 403, 413]) {
  test(`${status} fails permanently, with the reason`, async () => {
    service.answerNext(status, { location: "http://127.0.0.1:1/" });
    expect(await send()).toEqual({
      kind: "failed",
      detail: `The push service answered ${status}: On purpose.`,
    });
  });
}

test("a key that the browser was not subscribed with is rejected", async () => {
  expect(await send({}, service.subscribe(generateVapid().publicKey))).toEqual({
    kind: "failed",
    detail: "The push service answered 403: The key is not the one that was subscribed with.",
  });
});

test("a signature by another key is rejected", async () => {
  const forged = { ...vapid, privateKey: generateVapid().privateKey };
  expect(await sendPush(service.subscribe(), message, forged, policy)).toEqual({
    kind: "failed",
    detail: "The push service answered 403: The signature is not the key's.",
  });
});

test("a message that is encrypted for another browser is rejected", async () => {
  const subscription = { ...service.subscribe(), keys: service.subscribe().keys };
  expect(await send({}, subscription)).toMatchObject({
    kind: "failed",
    detail: expect.stringContaining("not encrypted for this browser"),
  });
});

test("invalid keys fail permanently", async () => {
  const subscription = { ...service.subscribe(), keys: { p256dh: "AAAA", auth: "BBBB" } };
  expect(await send({}, subscription)).toMatchObject({
    kind: "failed",
    detail: expect.stringContaining("can't be encrypted for this browser"),
  });
  const offCurve = Buffer.alloc(65, 7).fill(4, 0, 1).toString("base64url");
  const keys = { p256dh: offCurve, auth: Buffer.alloc(16).toString("base64url") };
  expect(await send({}, { ...service.subscribe(), keys })).toMatchObject({ kind: "failed" });
});

test("an endpoint on a private address fails permanently, unless the policy allows it", async () => {
  const subscription = service.subscribe();
  for (const endpoint of [subscription.endpoint, "https://127.0.0.1/push", "https://localhost/push"]) {
    const outcome = await sendPush({ ...subscription, endpoint }, message, vapid, { allowPrivate: false });
    expect(outcome).toMatchObject({
      kind: "failed",
      detail: expect.stringMatching(/not allowed|are allowed/),
    });
  }
});

test("an unreachable push service is retried", async () => {
  const stopped = pushService();
  const subscription = stopped.subscribe();
  await stopped.close();
  expect(await send({}, subscription)).toEqual({
    kind: "retry",
    detail: `${new URL(subscription.endpoint).host} refused the connection.`,
    cause: "unavailable",
  });
});
