// @engines sqlite, postgres
// @long postgres
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { Notification, NotificationGroupList } from "../schemas/notification.ts";
import { jsonCalls } from "../testing/json-calls.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { untilFannedOut } from "../testing/until.ts";

let app: TestApp;
let session: Record<string, string>;
beforeAll(async () => {
  app = await testApp();
  session = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
});
afterAll(() => app[Symbol.asyncDispose]());
beforeEach(() => app.running.store.control.deleteFrom("deliveries").execute());

const call = jsonCalls(
  () => app,
  () => session,
);

/** Records events that notify, in this order: `channel/name`. */
async function record(...events: string[]): Promise<void> {
  for (const event of events) {
    const [channel, name] = event.split("/");
    await app.post({ channel, name, notify: true });
  }
  await untilFannedOut(app);
}

const groupsOf = (query = "") => call<NotificationGroupList>("GET", `/api/notifications/groups${query}`);
const markRead = (body: object, status = 200) => call("POST", "/api/notifications/read", body, status);
const summary = ({ groups }: NotificationGroupList) =>
  groups.map(({ latest, count, unread }) => `${latest.event?.channelId}/${latest.title} ${count} ${unread}`);

test("notifications of one channel and name are one group, the one with the newest first", async () => {
  await record(
    "payments/Received",
    "orders/Placed",
    "payments/Received",
    "orders/Received",
    "payments/Failed",
  );
  await record("payments/Received");
  const list = await groupsOf();
  expect(summary(list)).toEqual([
    "payments/Received 3 3",
    "payments/Failed 1 1",
    "orders/Received 1 1",
    "orders/Placed 1 1",
  ]);
  expect([list.unread, list.nextCursor]).toEqual([6, null]);
  const { notifications } = await call<{ notifications: Notification[] }>(
    "GET",
    `/api/notifications?group=${list.groups[0]!.latest.id}`,
  );
  expect(notifications.map(({ title, event }) => `${event!.channelId}/${title}`)).toEqual(
    Array(3).fill("payments/Received"),
  );
  expect(notifications[0]).toEqual(list.groups[0]!.latest);
});

test("pages have each group once, also while notifications arrive", async () => {
  await record("a/1", "a/2", "a/3", "a/4", "a/5");
  const first = await groupsOf("?limit=2");
  expect(summary(first)).toEqual(["a/5 1 1", "a/4 1 1"]);
  await record("a/5", "a/6", "a/2");
  const second = await groupsOf(`?limit=2&cursor=${first.nextCursor}`);
  // What arrived moved "2" to the front, where a reload shows it.
  expect(summary(second)).toEqual(["a/3 1 1", "a/1 1 1"]);
  expect(second.nextCursor).toBeNull();
  expect(summary(await groupsOf("?limit=3"))).toEqual(["a/2 2 2", "a/6 1 1", "a/5 2 2"]);
});

test("groups are found and counted, however the newest notifications are distributed", async () => {
  const { control } = app.running.store;
  const accountId = (await control.selectFrom("accounts").select("id").executeTakeFirstOrThrow()).id;
  // 400 of one group on top of many small ones, some of which have newer notifications too.
  const names = [
    ...Array.from({ length: 300 }, (_, n) => `n${n % 40}`),
    ...Array.from({ length: 400 }, () => "burst"),
    ...Array.from({ length: 9 }, (_, n) => `n${n % 3}`),
  ];
  await control
    .insertInto("deliveries")
    .values(
      names.map((name, n) => ({
        projectId: 1,
        accountId,
        groupKey: `event c\n${name}`,
        channel: "c",
        notification: JSON.stringify({ type: "silence", atMs: 60_000, sinceMs: 0, rule: { name, q: "" } }),
        kind: "dashboard",
        label: "Dashboard",
        state: "delivered" as const,
        createdAt: n,
        readAt: n % 2 === 0 ? n : null,
      })),
    )
    .execute();
  const expected = [...new Set(names.toReversed())].map((name) => {
    const places = names.flatMap((each, n) => (each === name ? [n] : []));
    return `${name} ${places.length} ${places.filter((n) => n % 2 === 1).length}`;
  });
  for (const limit of [1, 2, 50]) {
    const seen: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page = await groupsOf(`?limit=${limit}${cursor && `&cursor=${cursor}`}`);
      expect(page.groups.length).toBeLessThanOrEqual(limit);
      seen.push(
        ...page.groups.map(
          ({ latest, count, unread }) => `${latest.title.split(": ")[1]} ${count} ${unread}`,
        ),
      );
      cursor = page.nextCursor;
    }
    expect([limit, seen]).toEqual([limit, expected]);
  }
});

test("a channel and a project are filters", async () => {
  await record("payments/A", "orders/A", "payments/A");
  expect(summary(await groupsOf("?channel=payments"))).toEqual(["payments/A 2 2"]);
  expect(summary(await groupsOf("?project=default&channel=orders"))).toEqual(["orders/A 1 1"]);
  expect(await groupsOf("?project=another")).toMatchObject({ groups: [], unread: 3 });
  await call("GET", "/api/notifications/groups?chanel=a", undefined, 400);
  const { notifications } = await call<{ notifications: Notification[] }>(
    "GET",
    "/api/notifications?channel=orders",
  );
  expect(notifications).toHaveLength(1);
});

test("a group is read at once, but not what came later", async () => {
  await record("a/1", "a/2", "a/1");
  const shown = (await groupsOf()).groups[0]!.latest.id;
  await record("a/1");
  expect(await markRead({ group: shown })).toMatchObject({ unread: 2 });
  expect(summary(await groupsOf())).toEqual(["a/1 3 1", "a/2 1 1"]);
  await record("b/1", "b/2");
  expect(await markRead({ channel: "b" })).toMatchObject({ unread: 2 });
  expect(summary(await groupsOf())).toEqual(["b/2 1 0", "b/1 1 0", "a/1 3 1", "a/2 1 1"]);
  expect(await markRead({})).toMatchObject({ unread: 0 });
  await markRead({ group: "999999" }, 404);
  await markRead({ group: "x" }, 422);
  await call("GET", "/api/notifications?group=999999", undefined, 404);
});

test("a rule for bursts is one group: its first event and its summary", async () => {
  const { control } = app.running.store;
  const accountId = (await control.selectFrom("accounts").select("id").executeTakeFirstOrThrow()).id;
  const response = await app.request("/api/rules", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      name: "Failures",
      q: "channel:failures",
      when: { type: "burst", minutes: 5 },
      to: { everyone: true, members: [], destinations: [] },
    }),
  });
  expect(response.status).toBe(201);
  const { id } = ((await response.json()) as { rule: { id: string } }).rule;
  await app.post({ channel: "failures", name: "Disk full" });
  await untilFannedOut(app);
  const rule = { name: "Failures", q: "channel:failures" };
  const now = Date.now();
  await control
    .insertInto("deliveries")
    .values({
      projectId: 1,
      accountId,
      ruleId: id,
      groupKey: `rule ${id}`,
      notification: JSON.stringify({
        type: "summary",
        atMs: now,
        count: 7,
        fromMs: now - 300_000,
        firstId: "",
        rule,
      }),
      kind: "dashboard",
      label: "Dashboard",
      state: "delivered",
      createdAt: now,
    })
    .execute();
  const { groups } = await groupsOf();
  expect(groups).toMatchObject([
    { latest: { type: "summary", title: "Failures: 7 more in 5 minutes" }, count: 2 },
  ]);
});

test("another account's notifications can't be read or marked", async () => {
  await record("a/1");
  const { id } = (await groupsOf()).groups[0]!.latest;
  await app.addMember("other@example.com", "member");
  const own = session;
  session = { ...session, cookie: await app.signIn("other@example.com") };
  expect(await groupsOf()).toMatchObject({ groups: [] });
  await markRead({ group: id }, 404);
  await call("GET", `/api/notifications?group=${id}`, undefined, 404);
  session = own;
  expect(await groupsOf()).toMatchObject({ groups: [{ unread: 1 }] });
});
