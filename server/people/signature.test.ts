import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import type { Key } from "../schemas/key.ts";
import type { RejectedEventList } from "../schemas/rejected-event.ts";
import type { User } from "../schemas/user.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
let session: { cookie: string; origin: string };
beforeAll(async () => {
  app = await testApp();
  session = { cookie: await app.signIn(), origin: app.address };
});
afterAll(() => app[Symbol.asyncDispose]());

async function call<Result>(path: string, body?: unknown, method = "POST"): Promise<Result> {
  const response = await app.request(`${path}?project=default`, {
    method,
    headers: { ...session, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  expect(response.status).toBeLessThan(300);
  return (await response.json()) as Result;
}
const newKey = (more = {}) =>
  call<{ key: Key; secret: string }>("/api/keys", { name: "Pages", kind: "publishable", ...more });
const newSecret = async ({ id }: Key) =>
  (await call<{ identitySecret: string }>(`/api/keys/${id}/identity-secret`)).identitySecret;
const sign = (userId: string, secret: string) => createHmac("sha256", secret).update(userId).digest("hex");

async function send(path: string, body: unknown, key: string, headers = {}) {
  const response = await app.request(
    path,
    {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    },
    key,
  );
  return { status: response.status, body: (await response.json()) as { type: string; detail: string } };
}
const idsOf = async (userId: string) => {
  const response = await app.request(`/api/users/${userId}`);
  if (response.status === 404) return [];
  return ((await response.json()) as { user: User }).user.ids.map((id) => id.userId);
};

describe("a publishable key", () => {
  test("joins IDs with a signature of exactly this user's ID, and says what is missing", async () => {
    const { key, secret } = await newKey();
    const joining = { userId: "ann", anonymousId: "visitor-1" };
    const without = await send("/api/identify", joining, secret);
    expect(without).toMatchObject({ status: 403, body: { type: "/problems/signature-invalid" } });
    expect(without.body.detail).toContain("has no secret for signatures");
    const identitySecret = await newSecret(key);
    expect((await send("/api/identify", joining, secret)).body.detail).toContain("needs a signature");
    for (const signature of [
      sign("bob", identitySecret),
      sign("ann", "another"),
      "0".repeat(64),
      sign("ann ", identitySecret),
    ])
      expect((await send("/api/identify", { ...joining, signature }, secret)).body.detail).toContain(
        "doesn't fit the user ID",
      );
    expect((await send("/api/identify", { ...joining, signature: "x" }, secret)).status).toBe(422);
    expect(await idsOf("ann")).toEqual([]);
    const signature = sign("ann", identitySecret);
    const joined = await send("/api/identify", { ...joining, signature }, secret);
    expect(joined).toEqual({ status: 200, body: { ok: true, userId: "ann" } as never });
    expect(
      (await send("/api/alias", { userId: "ann", previousId: "visitor-2", signature }, secret)).status,
    ).toBe(200);
    expect(await idsOf("visitor-1")).toEqual(["ann", "visitor-1", "visitor-2"]);
  });

  test("isn't told who is a known user", async () => {
    const { key, secret } = await newKey();
    const signature = sign("mallory", await newSecret(key));
    for (const userId of ["bob", "mallory"])
      await call("/api/identify", { userId, anonymousId: `${userId} 1` });
    const answers = [];
    for (const previousId of ["bob", "bob 1", "nobody"])
      answers.push(await send("/api/alias", { userId: "mallory", previousId, signature }, secret));
    answers.push(await send("/api/identify", { userId: "mallory", anonymousId: "bob 1", signature }, secret));
    const told = { status: 200, body: { ok: true, userId: "mallory" } as never };
    expect(answers).toEqual([told, told, told, told]);
    expect(await idsOf("bob")).toEqual(["bob", "bob 1"]);
    const { rejected } = await call<RejectedEventList>("/api/events/rejected", undefined, "GET");
    expect(rejected.map(({ problem }) => problem.detail)).toContainEqual(
      expect.stringContaining("identified before"),
    );
  });

  test("sets no properties, and merges nobody, with whatever signature", async () => {
    const { key, secret } = await newKey();
    const signature = sign("ann", await newSecret(key));
    const properties = { plan: "pro" };
    const set = await send("/api/identify", { userId: "ann", signature, properties }, secret);
    expect(set).toMatchObject({ status: 403, body: { type: "/problems/key-insufficient" } });
    expect((await send("/api/users/ann/merge", { userId: "visitor-3" }, secret)).status).toBe(403);
    expect((await send("/api/users/visitor-1/split", {}, secret)).status).toBe(403);
  });

  test("needs a new signature after its secret was replaced, at once, and keeps it when it is rotated", async () => {
    const { key, secret } = await newKey();
    const old = sign("cleo", await newSecret(key));
    const identitySecret = await newSecret(key);
    const joining = { userId: "cleo", anonymousId: "visitor-4" };
    expect((await send("/api/identify", { ...joining, signature: old }, secret)).status).toBe(403);
    const rotated = await call<{ key: Key; secret: string }>(`/api/keys/${key.id}/rotate`, {});
    expect(rotated.key).toMatchObject({ hasIdentitySecret: true, identify: "signed" });
    const signature = sign("cleo", identitySecret);
    expect((await send("/api/identify", { ...joining, signature }, rotated.secret)).status).toBe(200);
  });

  test("works only on its pages, and within its rate", async () => {
    const { key, secret } = await newKey({ origins: ["https://shop.example"], eventsPerSecond: 1 });
    const body = { userId: "dan", signature: sign("dan", await newSecret(key)) };
    const on = (origin: string) => send("/api/identify", body, secret, { origin });
    expect((await on("https://evil.example")).body.type).toBe("/problems/key-origin-forbidden");
    const statuses: number[] = [];
    for (let n = 0; n < 12; n++) statuses.push((await on("https://shop.example")).status);
    expect(statuses[0]).toBe(200);
    expect(statuses.at(-1)).toBe(429);
  });

  test("may join without a signature if its setting says so", async () => {
    const { key, secret } = await newKey({ identify: "unsigned" });
    const joining = { userId: "eva", anonymousId: "visitor-5" };
    expect((await send("/api/identify", joining, secret)).status).toBe(200);
    await call(`/api/keys/${key.id}`, { identify: "signed" }, "PATCH");
    expect((await send("/api/identify", { ...joining, anonymousId: "visitor-6" }, secret)).status).toBe(403);
  });

  test("joins what other services' libraries send, with a signature in the message", async () => {
    const { key, secret } = await newKey();
    const identitySecret = await newSecret(key);
    const segment = (signature: string | undefined) => ({
      writeKey: secret,
      batch: [
        {
          type: "identify",
          userId: "finn",
          anonymousId: "visitor-7",
          traits: { plan: "pro" },
          context: signature === undefined ? {} : { userSignature: signature },
        },
      ],
    });
    const postHog = (signature: string | undefined) => ({
      api_key: secret,
      batch: [
        {
          event: "$identify",
          distinct_id: "gus",
          properties: { $anon_distinct_id: "visitor-8", $user_signature: signature },
        },
      ],
    });
    for (const signature of [undefined, "f".repeat(64)]) {
      expect((await send("/v1/batch", segment(signature), secret)).status).toBe(200);
      expect((await send("/batch/", postHog(signature), secret)).status).toBe(200);
    }
    expect([await idsOf("finn"), await idsOf("gus")]).toEqual([[], []]);
    await send("/v1/batch", segment(sign("finn", identitySecret)), secret);
    await send("/batch/", postHog(sign("gus", identitySecret)), secret);
    expect([await idsOf("finn"), await idsOf("gus")]).toEqual([
      ["finn", "visitor-7"],
      ["gus", "visitor-8"],
    ]);
    // A wrong signature is a mistake of the application, so it is kept with the reason.
    const rejected = await app.request("/api/events/rejected?project=default", { headers: session });
    expect((await rejected.text()).match(/The signature doesn't fit/g)?.length).toBeGreaterThanOrEqual(2);
  });
});

test("a secret key needs no signature, and has no secret for them", async () => {
  const { key } = await call<{ key: Key }>("/api/keys", { name: "Server" });
  expect(key).toMatchObject({ identify: null, hasIdentitySecret: false });
  const response = await app.request(`/api/keys/${key.id}/identity-secret?project=default`, {
    method: "POST",
    headers: session,
  });
  expect(response.status).toBe(422);
});
