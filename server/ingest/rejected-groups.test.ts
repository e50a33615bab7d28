// @engines sqlite, postgres, clickhouse
// @long postgres
import { afterAll, beforeAll, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { RejectedGroupList, RejectedReplay, RejectedReplayResponse } from "../schemas/rejected-event.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const amount = 'The tag "amount" must be a string, not a number.';
const paid = (amount: unknown) => ({ channel: "payments", name: "Payment received", tags: { amount } });

/** A key of a new project. */
async function newProject(): Promise<string> {
  const name = `p${Math.random().toString(36).slice(2)}`;
  return (await app.another(name, `${name}@example.com`)).secret;
}

async function send<Result>(
  method: string,
  path: string,
  body: unknown,
  key: string,
  status = 200,
): Promise<Result> {
  const response = await app.request(
    `/api/events/rejected${path}`,
    {
      method,
      ...(body !== undefined && {
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      }),
    },
    key,
  );
  expect(response.status).toBe(status);
  return (await response.json()) as Result;
}

const groupsOf = (key: string) => send<RejectedGroupList>("GET", "/groups", undefined, key);
const replay = (body: Partial<RejectedReplay>, key: string) =>
  send<RejectedReplayResponse>("POST", "/replay", body, key);
const discard = (body: object, key: string) => send<{ discarded: number }>("POST", "/discard", body, key);

const dayOf = (ms: number) => Math.floor(ms / 86_400_000);

const strings = { fixes: [{ type: "tags-to-strings" as const }] };

test("rejected events are counted by reason and key, the largest group first", async () => {
  const key = await newProject();
  await app.post([paid(1), { channel: "payments" }, paid(2.5)], key);
  await app.post(paid(3), key);
  const { groups, total, retentionDays } = await groupsOf(key);
  expect([total, retentionDays]).toEqual([4, 7]);
  expect(groups).toEqual([
    {
      reason: amount,
      key: { id: expect.any(String), name: "test", ending: key.slice(-4) },
      count: 3,
      fixable: 3,
      newest: expect.any(String),
      firstAt: expect.any(String),
      lastAt: expect.any(String),
    },
    expect.objectContaining({ reason: expect.stringContaining('"name" is missing'), count: 1 }),
  ]);
  const query = `?reason=${encodeURIComponent(amount)}&key=${groups[0]!.key!.id}`;
  const listed = await send<{ rejected: { id: string }[] }>("GET", query, undefined, key);
  expect(listed.rejected).toHaveLength(3);
  expect(listed.rejected[0]!.id).toBe(groups[0]!.newest);
  expect(await send("GET", "?key=none", undefined, key)).toMatchObject({ rejected: [] });
});

test("what is no JSON, or isn't kept in full, can't be fixed together", async () => {
  const key = await newProject();
  const post = (body: string) =>
    app.request(
      "/api/events",
      { method: "POST", headers: { "content-type": "application/json" }, body },
      key,
    );
  await post('{"channel":');
  await post("[}");
  const long = (length: number) => post(JSON.stringify({ ...paid(1), description: "x".repeat(length) }));
  await long(limits.rejectedBodyCharacters);
  await long(20);
  const { groups } = await groupsOf(key);
  const fixable = Object.fromEntries(groups.map(({ reason, count, fixable }) => [reason, [count, fixable]]));
  expect(fixable["The body is not valid JSON."]).toEqual([2, 0]);
  expect(fixable[amount]).toEqual([1, 1]);
  const [cut] = groups.filter(({ reason }) => reason.includes("description"));
  expect([cut!.count, cut!.fixable]).toEqual([1, 0]);
});

test("a group is fixed and resent; what is still invalid stays as it was sent", async () => {
  const key = await newProject();
  await app.post([paid(1), paid(2), { ...paid(3), name: 7 }, paid([4]), { channel: "payments" }], key);
  const dry = await replay({ ...strings, dryRun: true }, key);
  expect([dry.resent, dry.failed, dry.next]).toEqual([2, 3, null]);
  expect(await app.list("", key)).toEqual([]);
  expect(await replay({ ...strings, reason: amount }, key)).toMatchObject({ resent: 2, failed: 0 });
  expect((await app.list("?order=asc", key)).map(({ tags }) => tags)).toEqual([
    { amount: "1" },
    { amount: "2" },
  ]);
  const rest = await replay(strings, key);
  expect([rest.resent, rest.failed]).toEqual([0, 3]);
  expect(rest.failures.map(({ detail }) => detail)).toEqual([
    expect.stringContaining('"name" must be a string'),
    expect.stringContaining("must be a string, not an array"),
    expect.stringContaining('"name" is missing'),
  ]);
  expect((await groupsOf(key)).total).toBe(3);
});

test("events can keep the time at which they were rejected", async () => {
  const key = await newProject();
  await app.post([paid(1), { ...paid(2), createdAt: "2026-01-31T09:30:00Z" }], key);
  const [group] = (await groupsOf(key)).groups;
  await replay({ ...strings, keepTime: true }, key);
  expect((await app.list("", key)).map(({ createdAt }) => createdAt).toSorted()).toEqual([
    "2026-01-31T09:30:00.000Z",
    group!.firstAt,
  ]);
});

test("several requests at the same time record each event once", async () => {
  const key = await newProject();
  const count = limits.rejectedAtOnce + 30;
  await app.post(
    Array.from({ length: count }, (_, n) => paid(n)),
    key,
  );
  async function replayAll(): Promise<number> {
    let resent = 0;
    for (let after: string | undefined; ; ) {
      const step = await replay({ ...strings, ...(after !== undefined && { after }) }, key);
      resent += step.resent;
      if (step.next === null) return resent;
      after = step.next;
    }
  }
  const resent = await Promise.all([replayAll(), replayAll(), replayAll()]);
  expect(resent.reduce((sum, each) => sum + each)).toBe(count);
  const values = (await app.list("", key)).map(({ tags }) => Number(tags.amount));
  expect(values.toSorted((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, n) => n));
  expect((await groupsOf(key)).groups).toEqual([]);
});

test("events that were rejected later are left, and so are those of other projects", async () => {
  const [key, other] = [await newProject(), await newProject()];
  for (const each of [key, other]) await app.post([paid(1), paid(2)], each);
  const upTo = (await groupsOf(key)).groups[0]!.newest;
  await app.post(paid(3), key);
  expect(await replay({ ...strings, upTo }, key)).toMatchObject({ resent: 2 });
  expect(await discard({ upTo }, key)).toMatchObject({ discarded: 0 });
  const discards = await Promise.all(Array.from({ length: 3 }, () => discard({ reason: amount }, key)));
  expect(discards.map(({ discarded }) => discarded).toSorted()).toEqual([0, 0, 1]);
  expect([(await groupsOf(key)).total, (await groupsOf(other)).total]).toEqual([0, 2]);
  const audit = await app.request("/api/audit?action=rejected", {}, key);
  expect(await audit.json()).toMatchObject({
    entries: [{ action: "rejected.discarded", detail: { count: 1 } }],
  });
});

test("a quota that is used up ends it, and nothing is lost", async () => {
  const { slug, secret } = await app.another("Small", "small@example.com");
  const headers = { cookie: await app.signIn("small@example.com"), origin: app.address };
  await app.post([paid(1), paid(2), paid(3)], secret);
  const response = await app.request(`/api/projects/${slug}`, {
    method: "PATCH",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ eventsPerDay: 2 }),
  });
  expect(response.status).toBe(200);
  const day = dayOf(Date.now());
  const first = await replay(strings, secret);
  if (dayOf(Date.now()) !== day) return;
  expect([first.resent, first.failed]).toEqual([2, 0]);
  expect(first.next).not.toBeNull();
  // A new day has a new quota.
  if (dayOf(Date.now()) !== day) return;
  await send("POST", "/replay", { ...strings, after: first.next }, secret, 429);
  expect((await groupsOf(secret)).total).toBe(1);
  expect(await app.list("", secret)).toHaveLength(2);
});

test("unknown fixes and ids are refused", async () => {
  for (const body of [{ fixes: [{ type: "guess" }] }, { after: "x" }, { upTo: "-1" }, { color: "red" }])
    await send("POST", "/replay", body, app.key, 422);
  await send("POST", "/discard", { after: "1" }, app.key, 422);
});
