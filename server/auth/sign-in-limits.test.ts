// @engines sqlite, postgres
// @long postgres
import { expect, test } from "bun:test";
import type { Config } from "../config/config.ts";
import { limits } from "../core/limits.ts";
import { serve } from "../serve.ts";

import { effort, engine, removeStorage } from "../testing/engine.ts";
import { preparedConfig, testPassword, testPasswords } from "../testing/test-app.ts";

import { until } from "../testing/until.ts";
import { createLink } from "./account-links.ts";
import type { PasswordHashing } from "./passwords.ts";
import type { SignInTiers } from "./sign-in-limits.ts";

const owner = "owner@example.com";
const other = "nobody@example.com";
const wrong = "not the password";

type Attempt = { email?: string; password?: string; address?: string; cookie?: string };

/** A server behind a proxy, which names the client's address. */
async function start(
  change: Partial<Config> = {},
  signInTiers?: SignInTiers,
  passwords: PasswordHashing = testPasswords,
) {
  const { config } = await preparedConfig({ trustedProxies: ["127.0.0.0/8"], ...change });
  const startNode = () => serve(config, { passwords, ...(signInTiers && { signInTiers }) });
  const nodes = [await startNode()];
  const send = (
    body: string | URLSearchParams,
    type: string,
    { address = "203.0.113.7", cookie }: Attempt = {},
    node = 0,
  ) =>
    fetch(`${nodes[node]!.address}/api/auth/sign-in/email`, {
      method: "POST",
      headers: {
        "content-type": type,
        origin: nodes[node]!.address,
        "x-forwarded-for": `198.51.100.1, ${address}`,
        ...(cookie && { cookie }),
      },
      body,
    });
  return {
    send,
    control: nodes[0]!.store.control,
    reset: (token: string) =>
      fetch(`${nodes[0]!.address}/api/auth/reset-password`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ token, newPassword: "a new long password" }),
      }),
    async addNode(): Promise<void> {
      nodes.push(await startNode());
    },
    signIn: ({ email = owner, password = wrong, ...from }: Attempt, node = 0) =>
      send(JSON.stringify({ email, password }), "application/json", from, node),
    async [Symbol.asyncDispose](): Promise<void> {
      for (const node of nodes) await node.stop();
      await removeStorage(config);
    },
  };
}

const statuses = (responses: Response[]) => {
  const counts: Record<number, number> = {};
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};
const deviceOf = (response: Response) =>
  response.headers
    .getSetCookie()
    .find((cookie) => cookie.includes("tidings.device="))!
    .split(";")[0]!;
const many = <Value>(count: number, make: (n: number) => Promise<Value>) =>
  Promise.all(Array.from({ length: count }, (_, n) => make(n)));

test("1,000 wrong passwords: five are checked, the right one works after the wait, nobody else is disturbed", async () => {
  const tiers: SignInTiers = {
    perClient: [{ attempts: 5, seconds: 2 }],
    perAccount: { attempts: 1_000, seconds: 600 },
  };
  await using app = await start({}, tiers);
  const startMs = performance.now();
  const guesses = await many(effort(100, 1_000), () => app.signIn({}));
  const rejected = guesses.filter(({ status }) => status === 429);
  // A busy machine takes longer than two seconds for them.
  const windows = Math.ceil((performance.now() - startMs) / 2_000);
  expect(guesses.length - rejected.length).toBeLessThanOrEqual(5 * windows);
  for (const { headers } of rejected) expect(Number(headers.get("retry-after"))).toBeWithin(1, 3);
  expect(await rejected[0]!.json()).toMatchObject({ ok: false, type: "/problems/too-many-requests" });
  // Somebody else at the same address, and the owner at another one.
  expect((await app.signIn({ email: other })).status).toBe(401);
  expect((await app.signIn({ password: testPassword, address: "203.0.113.8" })).status).toBe(200);

  await until(async () => (await app.signIn({ password: testPassword })).status === 200);
});

test("the wait grows", async () => {
  const perClient = [
    { attempts: 2, seconds: 1 },
    { attempts: 3, seconds: 600 },
  ];
  await using app = await start({}, { perClient, perAccount: { attempts: 100, seconds: 600 } });
  expect(statuses(await many(3, () => app.signIn({})))).toEqual({ 401: 2, 429: 1 });
  await until(async () => (await app.signIn({})).status === 401);
  const waits: number[] = [];
  await until(async () => {
    waits.push(Number((await app.signIn({ password: testPassword })).headers.get("retry-after")));
    return waits.at(-1)! > 500;
  });
});

test("a right password forgets the wrong ones", async () => {
  await using app = await start();
  for (let round = 0; round < 3; round++) {
    expect(statuses(await many(4, () => app.signIn({})))).toEqual({ 401: 4 });
    expect((await app.signIn({ password: testPassword })).status).toBe(200);
  }
});

test("guesses from many addresses are limited too, and the owner's browser is exempt", async () => {
  await using app = await start();
  const cookie = deviceOf(await app.signIn({ password: testPassword }));
  const guesses = await many(20, (n) => app.signIn({ address: `192.0.2.${n}` }));
  expect(statuses(guesses)).toEqual({ 401: 16, 429: 4 });
  const from = { address: "203.0.113.9", password: testPassword };
  expect((await app.signIn(from)).status).toBe(429);
  expect((await app.signIn({ ...from, cookie })).status).toBe(200);
  expect((await app.signIn({ ...from, cookie: `${cookie}x` })).status).toBe(429);
  expect((await app.signIn({ ...from, cookie: "tidings.device=a.b" })).status).toBe(429);
  // The browser has a limit of its own, and its cookie is no way into another account.
  expect(statuses(await many(6, () => app.signIn({ cookie })))).toEqual({ 401: 5, 429: 1 });
  expect(statuses(await many(6, () => app.signIn({ cookie, email: other })))).toEqual({ 401: 5, 429: 1 });
});

test("a flood of sign-ins from one network keeps nobody else out", async () => {
  const { promise: go, resolve } = Promise.withResolvers<void>();
  let hashed = 0;
  let hashedBefore = -1;
  const slow: PasswordHashing = {
    async hash(password) {
      await go;
      hashed++;
      return testPasswords.hash(password);
    },
    async verify(stored) {
      hashedBefore = hashed;
      return testPasswords.verify(stored);
    },
  };
  await using app = await start({}, undefined, slow);
  let overloaded = 0;
  const flood = many(limits.passwordsWaiting + 10, async (n) => {
    const { status } = await app.signIn({ email: `${n}@example.com`, address: `198.51.100.${n}` });
    if (status === 503) overloaded++;
  });
  // One is in progress, and the queue is full.
  await until(() => overloaded === 9);
  const signedIn = app.signIn({ password: testPassword });
  await until(() => overloaded === 10);
  resolve();
  expect((await signedIn).status).toBe(200);
  expect(hashedBefore).toBeLessThanOrEqual(2);
  await flood;
});

test("a flood of new passwords with one link keeps nobody else out", async () => {
  const { promise: go, resolve } = Promise.withResolvers<void>();
  const slow: PasswordHashing = {
    async hash(password) {
      await go;
      return testPasswords.hash(password);
    },
    verify: testPasswords.verify,
  };
  await using app = await start({}, undefined, slow);
  const { id, credentialEpoch: epoch } = await app.control
    .selectFrom("accounts")
    .select(["id", "credentialEpoch"])
    .executeTakeFirstOrThrow();
  const token = await createLink(app.control, "reset-password", { accountId: id, epoch, email: null });
  let overloaded = 0;
  const flood = many(limits.passwordsWaiting + 10, async () => {
    const { status } = await app.reset(token);
    if (status === 503) overloaded++;
    return status;
  });
  // One is in progress, and the queue is full.
  await until(() => overloaded === 9);
  const signedIn = app.signIn({ password: testPassword });
  await until(() => overloaded === 10);
  resolve();
  // It may come after the first new password.
  expect((await signedIn).status).not.toBe(503);
  expect((await flood).filter((status) => status === 200)).toHaveLength(1);
});

test("a form is no way around the limits", async () => {
  await using app = await start();
  const form = new URLSearchParams({ email: owner, password: testPassword });
  expect((await app.send(form, "application/x-www-form-urlencoded")).status).toBe(415);
});

test("an unknown account takes as much work as a known one", async () => {
  const { config } = await preparedConfig();
  let hashed = 0;
  const counting: PasswordHashing = {
    hash(password) {
      hashed++;
      return testPasswords.hash(password);
    },
    verify(stored) {
      hashed++;
      return testPasswords.verify(stored);
    },
  };
  const running = await serve(config, { passwords: counting });
  try {
    for (const email of [owner, other]) {
      hashed = 0;
      await fetch(`${running.address}/api/auth/sign-in/email`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: running.address },
        body: JSON.stringify({ email, password: wrong }),
      });
      expect([email, hashed]).toEqual([email, 1]);
    }
  } finally {
    await running.stop();
    await removeStorage(config);
  }
});

test("an unknown account is limited like any other", async () => {
  await using app = await start();
  const answers = await Promise.all(
    [owner, other].map(async (email) => {
      const responses = await many(7, () => app.signIn({ email }));
      const bodies = await Promise.all(responses.map((response) => response.text()));
      return bodies.map((body) => body.replace(/\d+ seconds|"requestId":"[^"]+"/g, "")).toSorted();
    }),
  );
  expect(answers[0]).toEqual(answers[1]!);
});

test("an address may try 20 accounts in a minute; other addresses behind the same proxy have their own limit", async () => {
  await using app = await start();
  const guess = (n: number, address: string) => app.signIn({ email: `${n}@example.com`, address });
  expect(statuses(await many(23, (n) => guess(n, "203.0.113.7")))).toEqual({ 401: 20, 429: 3 });
  expect((await guess(50, "203.0.113.8")).status).toBe(401);
  // A customer of an IPv6 provider has a network of 64 bits or more.
  const ofNetwork = await many(23, (n) => guess(n + 100, `2001:db8:1:2::${n}`));
  expect(statuses(ofNetwork)).toEqual({ 401: 20, 429: 3 });
  expect((await guess(200, "2001:db8:1:3::1")).status).toBe(401);
});

test.if(engine === "postgres")("two nodes count together", async () => {
  await using app = await start();
  await app.addNode();
  expect(statuses(await many(10, (n) => app.signIn({}, n % 2)))).toEqual({ 401: 5, 429: 5 });
});
