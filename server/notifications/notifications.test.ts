// @engines sqlite, postgres
// @long postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";
import type { Destination } from "../schemas/account-destination.ts";
import type { Delivery } from "../schemas/delivery.ts";
import type { Notification } from "../schemas/notification.ts";
import { openStream } from "../testing/event-stream.ts";
import { jsonCalls } from "../testing/json-calls.ts";
import { pushService } from "../testing/push-service.ts";
import { smtpInbox } from "../testing/smtp-inbox.ts";
import { openTestStore, type TestApp, testApp } from "../testing/test-app.ts";
import { until, untilFannedOut } from "../testing/until.ts";
import type { PushSubscription } from "./push.ts";

const service = pushService();
let inbox: Awaited<ReturnType<typeof smtpInbox>>;
let app: TestApp;
let session: Record<string, string>;
beforeAll(async () => {
  inbox = await smtpInbox();
  app = await testApp({ smtpUrl: inbox.url, emailFrom: "Tidings <tidings@example.com>" });
  session = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await inbox.close();
  await service.close();
});

const call = jsonCalls(
  () => app,
  () => session,
);

type Inbox = { notifications: Notification[]; unread: number; nextCursor: string | null };
type Sent = { deliveries: Delivery[]; silence: string | null };
const readInbox = (query = "") => call<Inbox>("GET", `/api/notifications${query}`);
const destinations = async () =>
  (await call<{ destinations: Destination[] }>("GET", "/api/destinations")).destinations;

/** Records an event, and waits until its deliveries are made. */
async function record(event: object, key?: string): Promise<Event> {
  const body = (await (await app.post(event, key)).json()) as { event: Event };
  await untilFannedOut(app);
  return body.event;
}

async function subscribe(label: string) {
  const { vapidPublicKey } = await call<{ vapidPublicKey: string }>("GET", "/api/me");
  const subscription = service.subscribe(vapidPublicKey);
  const { destination } = await call<{ destination: Destination }>(
    "POST",
    "/api/destinations",
    { kind: "browser", label, subscription },
    201,
  );
  return { subscription, destination };
}
const remove = ({ id }: Destination) => call("DELETE", `/api/destinations/${id}`);

async function switchEmail(enabled: boolean): Promise<void> {
  const email = (await destinations()).find(({ kind }) => kind === "email")!;
  await call("PATCH", `/api/destinations/${email.id}`, { enabled });
}

/** An event's deliveries, once none of them is waiting. */
async function settledDeliveries(event: Event): Promise<Sent> {
  const read = () => call<Sent>("GET", `/api/events/${event.id}/deliveries`);
  await until(async () => (await read()).deliveries.every(({ state }) => state !== "waiting"));
  return read();
}

test("an event with notify reaches the dashboard, the browser and the mailbox, and shows how", async () => {
  const { destination } = await subscribe("Firefox on a laptop");
  await switchEmail(true);
  const event = await record({
    channel: "payments",
    name: "Payment received",
    icon: "💰",
    userId: "u1",
    notify: true,
    tags: { plan: "pro" },
    description: "All of it",
  });

  const { payload } = await service.next();
  expect(payload).toMatchObject({
    title: "💰 Payment received",
    url: `/p/default/events/${event.id}`,
    tag: event.id,
  });
  expect((payload as { body: string }).body).toContain("payments · u1 · plan: pro");
  const email = await inbox.next();
  expect(email.to).toEqual([app.owner]);
  expect(email.from).toBe("tidings@example.com");
  expect(email.subject).toContain("Payment received");
  expect(email.text).toContain(`/p/default/events/${event.id}`);

  const { notifications, unread } = await readInbox();
  expect(unread).toBe(1);
  expect(notifications).toEqual([
    {
      id: expect.any(String),
      project: "default",
      event,
      type: "event",
      title: "Payment received",
      url: `/p/default/events/${event.id}`,
      createdAt: expect.any(String),
      readAt: null,
    },
  ]);

  const { deliveries, silence } = await settledDeliveries(event);
  expect(silence).toBeNull();
  expect(deliveries.map(({ kind, label, state, attempts }) => ({ kind, label, state, attempts }))).toEqual(
    expect.arrayContaining([
      { kind: "dashboard", label: "Dashboard", state: "delivered", attempts: 0 },
      { kind: "browser", label: "Firefox on a laptop", state: "delivered", attempts: 1 },
      { kind: "email", label: app.owner, state: "delivered", attempts: 1 },
    ]),
  );
  for (const { deliveredAt, nextAttemptAt, account } of deliveries) {
    expect([deliveredAt, nextAttemptAt, account]).toEqual([expect.any(String), null, "owner"]);
  }
  await switchEmail(false);
  await remove(destination);
});

describe("nobody is notified, with the reason,", () => {
  const hourAgo = () => Date.now() - 3_600_000;
  const cases: [name: string, event: () => object, why: string][] = [
    ["of an event without the flag", () => ({ notify: false }), 'without "notify"'],
    ["of an event that is silent on it", () => ({}), 'without "notify"'],
    [
      "of an event more than an hour old",
      () => ({ notify: true, createdAt: hourAgo() - 1_000 }),
      "more than an hour old",
    ],
  ];
  for (const [name, change, why] of cases) {
    test(name, async () => {
      const { destination } = await subscribe("browser");
      const before = await readInbox();
      const pushes = service.received.length;
      const event = await record({ channel: "a", name: "quiet", ...change() });
      const { deliveries, silence } = await call<Sent>("GET", `/api/events/${event.id}/deliveries`);
      expect(deliveries).toEqual([]);
      expect(silence).toContain(why);
      await Bun.sleep(50);
      expect(await readInbox()).toEqual(before);
      expect(service.received).toHaveLength(pushes);
      await remove(destination);
    });
  }

  test("twice of an event that is sent twice", async () => {
    const before = (await readInbox()).unread;
    const id = Bun.randomUUIDv7();
    for (let n = 0; n < 3; n++) await record({ channel: "a", name: "once", notify: true, id });
    expect((await readInbox()).unread).toBe(before + 1);
  });

  test("unlike of an event less than an hour old", async () => {
    const before = (await readInbox()).unread;
    await record({ channel: "a", name: "a little late", notify: true, createdAt: hourAgo() + 60_000 });
    expect((await readInbox()).unread).toBe(before + 1);
  });
});

describe("the inbox", () => {
  test("can be read one by one or as a whole", async () => {
    for (let n = 0; n < 5; n++) await record({ channel: "a", name: `${n}`, notify: true });
    const { notifications, unread } = await readInbox();
    expect(unread).toBeGreaterThanOrEqual(5);
    const [first, second] = notifications;
    expect(await call<Inbox>("POST", "/api/notifications/read", { ids: [first!.id, second!.id] })).toEqual({
      ok: true,
      unread: unread - 2,
    } as never);
    const after = (await readInbox()).notifications;
    expect(after.slice(0, 3).map(({ readAt }) => readAt !== null)).toEqual([true, true, false]);
    for (const ids of [[], ["0"], ["x"], ["1e9"]]) await call("POST", "/api/notifications/read", { ids });
    expect((await readInbox()).unread).toBe(unread - 2);
    expect(await call<Inbox>("POST", "/api/notifications/read", {})).toMatchObject({ unread: 0 });
    expect((await readInbox()).unread).toBe(0);
  });

  test("is paginated, newest first", async () => {
    const all = (await readInbox("?limit=200")).notifications;
    const seen: Notification[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page: Inbox = await readInbox(`?limit=3${cursor && `&cursor=${cursor}`}`);
      seen.push(...page.notifications);
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(all);
    expect(seen.map(({ id }) => Number(id))).toEqual(
      seen.map(({ id }) => Number(id)).toSorted((a, b) => b - a),
    );
    for (const query of ["?limit=0", "?limit=1001", "?cursor=x", "?chanel=a"])
      await call("GET", `/api/notifications${query}`, undefined, 400);
  });

  test("counts up to 1,000, and can be read at once, however long it is", async () => {
    const [newest] = (await readInbox("?limit=1")).notifications;
    const store = await openTestStore(app.config);
    const one = await store.control
      .selectFrom("deliveries")
      .selectAll()
      .where("id", "=", Number(newest!.id))
      .executeTakeFirstOrThrow();
    const { id: _, ...unread } = { ...one, readAt: null };
    for (let created = 0; created < 1_200; created += 300)
      await store.control.insertInto("deliveries").values(Array(300).fill(unread)).execute();
    expect((await readInbox()).unread).toBe(limits.unreadCount);
    expect(await call<Inbox>("POST", "/api/notifications/read", {})).toMatchObject({ unread: 0 });
    await store.control.deleteFrom("deliveries").where("id", ">", one.id).execute();
    await store.close();
  });

  test("reports one notification to open dashboards at once, and of many those they can show", async () => {
    await call("POST", "/api/notifications/read", {});
    using stream = await openStream(app, "?channel=none", session);
    const next = async () => {
      const { data } = (await stream.next("notification"))!;
      return JSON.parse(data) as { notification: Notification; unread: number };
    };
    const event = await record({ channel: "a", name: "one", notify: true });
    let first = await next();
    // Notifications of the tests before can still be on their way.
    while (first.notification.event!.id !== event.id) first = await next();
    expect(first).toMatchObject({ notification: { event, readAt: null }, unread: 1 });
    await app.post(Array.from({ length: 200 }, (_, n) => ({ channel: "a", name: `${n}`, notify: true })));
    let messages = 0;
    for (let unread = 1; unread < 201; messages++) ({ unread } = await next());
    expect(messages).toBeLessThan(50);
  });

  test("reports what was read to open dashboards", async () => {
    await record({ channel: "a", name: "unread", notify: true });
    using stream = await openStream(app, "?channel=none", session);
    await until(async () => (await readInbox()).unread > 0);
    await call("POST", "/api/notifications/read", {});
    expect(JSON.parse((await stream.next("notifications-read"))!.data)).toEqual({ unread: 0 });
  });

  test("notifies every member of a project, and each reads it separately", async () => {
    const other = await app.another("Team", "team@example.com");
    const member = { ...session, cookie: await app.signIn("team@example.com") };
    const before = (await readInbox()).unread;
    await record({ channel: "a", name: "for the team", notify: true }, other.secret);
    expect(
      (await call<Inbox>("GET", "/api/notifications", undefined, 200, member)).notifications.map(
        ({ event }) => event!.name,
      ),
    ).toEqual(["for the team"]);
    expect((await readInbox()).unread).toBe(before);
  });
});

describe("a destination", () => {
  test("is the dashboard and the email address by default, and email is off", async () => {
    expect((await destinations()).map(({ kind, label, enabled }) => [kind, label, enabled])).toEqual([
      ["dashboard", "Dashboard", true],
      ["email", app.owner, false],
    ]);
  });

  test("that is turned off is not notified", async () => {
    const { destination } = await subscribe("off");
    await call("PATCH", `/api/destinations/${destination.id}`, { enabled: false });
    const event = await record({ channel: "a", name: "n", notify: true });
    expect((await settledDeliveries(event)).deliveries.map(({ kind }) => kind)).toEqual(["dashboard"]);
    await remove(destination);
  });

  test("that the same browser sends again is updated", async () => {
    const subscription = service.subscribe();
    for (const label of ["first", "second"])
      await call("POST", "/api/destinations", { kind: "browser", label, subscription }, 201);
    const browsers = (await destinations()).filter(({ kind }) => kind === "browser");
    expect(browsers.map(({ label }) => label)).toEqual(["second"]);
    await remove(browsers[0]!);
  });

  describe("registered by another account", () => {
    let member: Record<string, string>;
    const register = (subscription: PushSubscription, status: number) =>
      call<{ detail?: string }>(
        "POST",
        "/api/destinations",
        { kind: "browser", label: "theirs", subscription },
        status,
        member,
      );
    /** A browser of the owner with a delivery that failed once and is waiting. */
    async function withWaiting() {
      const { subscription, destination } = await subscribe("mine");
      service.answerNext(503, { "retry-after": "3600" });
      const event = await record({ channel: "a", name: "secret", notify: true });
      const delivery = async () =>
        (await call<Sent>("GET", `/api/events/${event.id}/deliveries`)).deliveries.find(
          ({ kind }) => kind === "browser",
        )!;
      while ((await delivery()).detail === null) await Bun.sleep(5);
      return { subscription, destination, delivery };
    }
    beforeAll(async () => {
      await app.another("Other", "other@example.com");
      member = { ...session, cookie: await app.signIn("other@example.com") };
    });

    test("with other keys is rejected: only the browser knows its keys", async () => {
      const { subscription, destination, delivery } = await withWaiting();
      const { keys } = service.subscribe();
      expect(await register({ ...subscription, keys }, 409)).toMatchObject({
        detail: expect.stringContaining("another account"),
      });
      expect((await destinations()).some(({ id }) => id === destination.id)).toBe(true);
      expect((await delivery()).state).toBe("waiting");
      await remove(destination);
    });

    test("from the same browser changes accounts, and waiting deliveries don't move with it", async () => {
      const { subscription, destination, delivery } = await withWaiting();
      await register(subscription, 201);
      expect((await destinations()).some(({ id }) => id === destination.id)).toBe(false);
      expect(await delivery()).toMatchObject({
        state: "cancelled",
        nextAttemptAt: null,
        detail: expect.stringContaining("another account"),
      });
      const theirs = await call<{ destinations: Destination[] }>(
        "GET",
        "/api/destinations",
        undefined,
        200,
        member,
      );
      const taken = theirs.destinations.find(({ kind }) => kind === "browser")!;
      expect(taken.id).not.toBe(destination.id);
      await call("DELETE", `/api/destinations/${taken.id}`, undefined, 200, member);
    });

    test("concurrently has one owner", async () => {
      const subscription = service.subscribe();
      const body = { kind: "browser", label: "shared", subscription };
      await Promise.all(
        [session, member, session, member].map((headers) =>
          call("POST", "/api/destinations", body, 201, headers),
        ),
      );
      const lists = await Promise.all(
        [session, member].map((headers) =>
          call<{ destinations: Destination[] }>("GET", "/api/destinations", undefined, 200, headers),
        ),
      );
      const holders = lists.map(({ destinations }) => destinations.find(({ kind }) => kind === "browser"));
      expect(holders.filter((held) => held !== undefined)).toHaveLength(1);
      const owner = holders[0] ? session : member;
      await call("DELETE", `/api/destinations/${(holders[0] ?? holders[1])!.id}`, undefined, 200, owner);
    });
  });

  test("whose browser has unsubscribed is removed, and its delivery says so", async () => {
    const { destination, subscription } = await subscribe("gone");
    service.unsubscribe(subscription);
    const event = await record({ channel: "a", name: "n", notify: true });
    const { deliveries } = await settledDeliveries(event);
    expect(deliveries.find(({ kind }) => kind === "browser")).toMatchObject({
      state: "dead",
      attempts: 1,
      detail: expect.stringContaining("410"),
    });
    await until(async () => !(await destinations()).some(({ id }) => id === destination.id));
  });

  test("can be tested with a message at once", async () => {
    const { destination, subscription } = await subscribe("tested");
    const path = `/api/destinations/${destination.id}/test`;
    expect(await call<object>("POST", path)).toMatchObject({ ok: true, delivered: true });
    expect((await service.next()).payload).toMatchObject({ title: "🔔 It works" });
    service.answerNext(500);
    expect(await call<object>("POST", path)).toMatchObject({
      delivered: false,
      detail: expect.stringContaining("500"),
    });
    service.unsubscribe(subscription);
    expect(await call<object>("POST", path)).toMatchObject({ delivered: false });
    await call("POST", path, undefined, 404);
    const email = (await destinations()).find(({ kind }) => kind === "email")!;
    expect(await call<object>("POST", `/api/destinations/${email.id}/test`)).toMatchObject({
      delivered: true,
    });
    expect((await inbox.next()).to).toEqual([app.owner]);
  });

  test("that every account has can't be removed", async () => {
    for (const { id } of await destinations())
      await call("DELETE", `/api/destinations/${id}`, undefined, 409);
  });

  test("is rejected if it is invalid, or beyond 50", async () => {
    const subscription = service.subscribe();
    const rejected = [
      {},
      { kind: "email", label: "x", subscription },
      { kind: "browser", label: " ", subscription },
      { kind: "browser", label: "x", subscription: { ...subscription, endpoint: "nowhere" } },
      { kind: "browser", label: "x", subscription: { endpoint: subscription.endpoint } },
      ...["ftp://example.com/push", "file:///etc/passwd", "javascript:alert(1)", "data:,x"].map(
        (endpoint) => ({
          kind: "browser",
          label: "x",
          subscription: { ...subscription, endpoint },
        }),
      ),
    ];
    for (const body of rejected) await call("POST", "/api/destinations", body, 422);
    const answers = await Promise.all(
      Array.from({ length: 60 }, () =>
        app.request("/api/destinations", {
          method: "POST",
          headers: session,
          body: JSON.stringify({ kind: "browser", label: "x", subscription: service.subscribe() }),
        }),
      ),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(48).fill(201), ...Array(12).fill(409)]);
    const created = (await destinations()).filter(({ kind }) => kind === "browser");
    expect(created).toHaveLength(48);
    await call("POST", "/api/destinations", { kind: "browser", label: "x", subscription }, 409);
    for (const destination of created) await remove(destination);
  });

  test("of kind email can't be turned on without a mail server", async () => {
    await using own = await testApp();
    const headers = { cookie: await own.signIn(), origin: own.address, "content-type": "application/json" };
    const { destinations } = (await (await own.request("/api/destinations", { headers })).json()) as {
      destinations: Destination[];
    };
    const email = destinations.find(({ kind }) => kind === "email")!;
    for (const [method, path] of [
      ["PATCH", ""],
      ["POST", "/test"],
    ] as const) {
      const response = await own.request(`/api/destinations/${email.id}${path}`, {
        method,
        headers,
        body: '{"enabled":true}',
      });
      expect(response.status).toBe(409);
      expect(await response.text()).toContain("SMTP_URL");
    }
  });

  test("in a private network is rejected unless that is allowed", async () => {
    await using own = await testApp({ allowPrivateAddresses: false });
    const headers = { cookie: await own.signIn(), origin: own.address, "content-type": "application/json" };
    const { keys } = service.subscribe();
    const add = (endpoint: string) =>
      own.request("/api/destinations", {
        method: "POST",
        headers,
        body: JSON.stringify({ kind: "browser", label: "inner", subscription: { endpoint, keys } }),
      });
    for (const endpoint of ["http://push.example.com/1", "https://127.0.0.1/1", "https://[::1]/1"]) {
      const response = await add(endpoint);
      expect(response.status).toBe(422);
      expect(await response.json()).toMatchObject({ errors: [{ pointer: "/subscription/endpoint" }] });
    }
    // Names are looked up only when they are called.
    const created = (await (await add("https://localhost/1")).json()) as { destination: Destination };
    const tried = await own.request(`/api/destinations/${created.destination.id}/test`, {
      method: "POST",
      headers,
    });
    expect(await tried.json()).toMatchObject({
      delivered: false,
      detail: expect.stringContaining("not a public"),
    });
  });

  test("that doesn't respond is reported before the request times out", async () => {
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    await using mailing = await testApp({ smtpUrl: `smtp://127.0.0.1:${port}`, emailFrom: "a@example.com" });
    const headers = {
      cookie: await mailing.signIn(),
      origin: mailing.address,
      "content-type": "application/json",
    };
    const subscription = { ...service.subscribe(), endpoint: `http://127.0.0.1:${port}/push` };
    await mailing.request("/api/destinations", {
      method: "POST",
      headers,
      body: JSON.stringify({ kind: "browser", label: "silent", subscription }),
    });
    const { destinations } = (await (await mailing.request("/api/destinations", { headers })).json()) as {
      destinations: Destination[];
    };
    const tests = destinations
      .filter(({ kind }) => kind !== "dashboard")
      .map(async ({ id }) => {
        const answer = await mailing.request(`/api/destinations/${id}/test`, { method: "POST", headers });
        return answer.json();
      });
    expect(tests).toHaveLength(2);
    const startedMs = performance.now();
    for (const answer of await Promise.all(tests)) {
      expect(answer).toMatchObject({
        ok: true,
        delivered: false,
        detail: expect.stringContaining(`within ${limits.destinationTestMs / 1_000} s`),
      });
    }
    expect(performance.now() - startedMs).toBeLessThan((limits.requestSeconds * 1_000) / 2);
    silent.close();
  });
});
