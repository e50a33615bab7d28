// @engines sqlite, postgres, clickhouse

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { limits } from "../core/limits.ts";
import type { DeletedEvents, Event } from "../event/event.ts";
import { openStream } from "../testing/event-stream.ts";
import { rawRequest } from "../testing/raw-request.ts";
import { testProcess } from "../testing/server-process.ts";
import { openTestStore, type TestApp, testApp } from "../testing/test-app.ts";
import { until, untilJobDone } from "../testing/until.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const names = (events: { name: string }[]) => events.map(({ name }) => name);

test("a stream starts with ready and sends events as listings return them", async () => {
  using stream = await openStream(app);
  expect(stream.response.headers.get("content-type")).toBe("text/event-stream");
  expect(stream.response.headers.get("cache-control")).toContain("no-cache");
  expect(await stream.next()).toMatchObject({
    type: "ready",
    id: expect.stringMatching(/^\d+-\d+$/),
    data: "{}",
  });
  const { event } = (await (
    await app.post({ channel: "a", name: "hello\u2028", tags: { line: "a\nb" } })
  ).json()) as { event: Event };
  const message = await stream.next();
  expect(message).toMatchObject({ type: "event", id: expect.stringMatching(/^\d+-\d+$/) });
  expect(JSON.parse(message!.data)).toEqual(event);
});

test("earlier events are not sent", async () => {
  using stream = await openStream(app);
  await stream.next("ready");
  const id = Bun.randomUUIDv7();
  await app.post({ channel: "a", name: "once", id });
  await app.post({ channel: "a", name: "twice", id });
  await app.post({ channel: "a", name: "after" });
  expect(names(await stream.events(2))).toEqual(["once", "after"]);
});

test("events are sent in order of arrival, also those of one commit and backdated ones", async () => {
  using stream = await openStream(app);
  await stream.next("ready");
  const sent = Array.from({ length: 200 }, (_, n) => ({
    channel: "a",
    name: `${n}`,
    ...(n % 3 === 0 && { createdAt: "2026-01-01T00:00:00Z" }),
  }));
  await Promise.all(sent.map((event) => app.post(event)));
  const seen: { ms: number; sequence: number; name: string }[] = [];
  while (seen.length < 200) {
    const { id, data } = (await stream.next("event"))!;
    const [ms, sequence] = id!.split("-").map(Number);
    seen.push({ ms: ms!, sequence: sequence!, name: JSON.parse(data).name });
  }
  expect(seen).toEqual(seen.toSorted((a, b) => a.ms - b.ms || a.sequence - b.sequence));
  expect(names(seen).toSorted()).toEqual(names(sent).toSorted());
});

describe("a stream supports the filters of listings", () => {
  const wanted = {
    channel: "pay",
    name: "paid",
    userId: "u1",
    notify: true,
    tags: { plan: "pro", "a b": "ä" },
  };
  const others = [
    { ...wanted, channel: "other" },
    { ...wanted, name: "Paid" },
    { ...wanted, userId: "u2" },
    { ...wanted, notify: false },
    { ...wanted, tags: { plan: "Pro", "a b": "ä" } },
    { ...wanted, tags: {} },
  ];
  const queries = [
    "channel=pay&name=paid&userId=u1&notify=true&tag.plan=pro&tag.a%20b=%C3%A4",
    "tag.plan=pro",
    "channel=pay",
    "userId=u1",
    "notify=true",
    "name=paid",
  ];
  for (const query of queries) {
    test(query, async () => {
      using stream = await openStream(app, `?${query}`);
      await stream.next("ready");
      const from = Date.now();
      await Promise.all(others.map((event) => app.post(event)));
      const ending = await app.post({ ...wanted, description: "the last one" });
      const last = ((await ending.json()) as { event: Event }).event;
      const expected = await app.list(`?order=asc&from=${from}&${query}`);
      expect(expected.at(-1)).toEqual(last);
      const ids = (await stream.events(expected.length)).map(({ id }) => id);
      expect(ids.toSorted()).toEqual(expected.map(({ id }) => id).toSorted());
    });
  }

  test("and rejects unknown parameters", async () => {
    for (const query of [
      "?limit=5",
      "?order=asc",
      "?chanel=a",
      "?lastEventId=yesterday",
      "?lastEventId=5-9999999",
    ]) {
      expect((await app.request(`/api/events/stream${query}`)).status).toBe(400);
    }
    expect(
      (await app.request("/api/events/stream", { headers: { "last-event-id": "1' OR 1" } })).status,
    ).toBe(400);
  });
});

describe("a stream resumes after the last received event", () => {
  test("with all later events, including backdated ones", async () => {
    const first = await openStream(app);
    await first.next("ready");
    await app.post({ channel: "a", name: "seen" });
    const { id } = (await first.next("event"))!;
    first.close();
    await app.post({ channel: "a", name: "missed 1" });
    await app.post({ channel: "a", name: "missed 2", createdAt: "2026-01-01T00:00:00Z" });
    await app.post({ channel: "b", name: "missed 3" });
    using byHeader = await openStream(app, "", { "last-event-id": id! });
    using byQuery = await openStream(app, `?lastEventId=${id}`);
    await app.post({ channel: "a", name: "live" });
    for (const again of [byHeader, byQuery]) {
      expect(names(await again.events(4))).toEqual(["missed 1", "missed 2", "missed 3", "live"]);
    }
    using filtered = await openStream(app, "?channel=b", { "last-event-id": id! });
    expect(names(await filtered.events(1))).toEqual(["missed 3"]);
  });

  test("or from its start if it received none", async () => {
    const first = await openStream(app);
    const { id } = (await first.next("ready"))!;
    first.close();
    await app.post({ channel: "a", name: "missed" });
    using again = await openStream(app, "", { "last-event-id": id! });
    expect(names(await again.events(1))).toEqual(["missed"]);
  });

  test("also after a restart of the server", async () => {
    await using own = await testApp();
    const first = await openStream(own);
    await first.next("ready");
    await own.post({ channel: "a", name: "before" });
    const { id } = (await first.next("event"))!;
    await own.post({ channel: "a", name: "missed" });
    await own.post({ channel: "a", name: "missed, backdated", createdAt: "2026-01-01T00:00:00Z" });
    await own.restart();
    expect(await first.next("nothing")).toBeNull();
    await own.post({ channel: "a", name: "after the restart" });
    using again = await openStream(own, "", { "last-event-id": id! });
    expect(names(await again.events(3))).toEqual(["missed", "missed, backdated", "after the restart"]);
  });

  test("without gaps or duplicates while others write, however often it is cut off", async () => {
    await using own = await testApp();
    const writers = 8;
    const each = 100;
    const start = await openStream(own);
    let last = (await start.next("ready"))!.id!;
    start.close();
    const sent = Promise.all(
      Array.from({ length: writers }, async (_, writer) => {
        for (let n = 0; n < each; n++) {
          const response = await own.post({
            channel: "a",
            name: `${writer} ${n}`,
            ...(n % 4 === 0 && { createdAt: 1_767_225_600_000 + n }),
          });
          expect(response.status).toBe(201);
        }
      }),
    );
    const seen: string[] = [];
    let connections = 0;
    while (seen.length < writers * each) {
      const stream = await openStream(own, "", { "last-event-id": last });
      connections++;
      // After a few messages, the connection is cut.
      for (let n = 0; n < 40 && seen.length < writers * each; n++) {
        const message = (await stream.next())!;
        last = message.id ?? last;
        if (message.type === "event") seen.push(JSON.parse(message.data).name);
      }
      stream.close();
    }
    await sent;
    const all = names(await own.list());
    expect(seen.toSorted()).toEqual(all.toSorted());
    expect(connections).toBeGreaterThan(10);
  });

  test("and is told to read the listing again if it missed too much", async () => {
    await using own = await testApp();
    const first = await openStream(own);
    const { id } = (await first.next("ready"))!;
    first.close();
    for (let n = 0; n < 6; n++)
      await own.post(Array.from({ length: 1_000 }, (_, i) => ({ channel: "a", name: `${i}` })));
    let last: string | null = id;
    let events = 0;
    let isReset = false;
    // A client that catches up may be disconnected for its backlog; it continues from there.
    for (let attempt = 0; attempt < 20 && !isReset; attempt++) {
      using stream = await openStream(own, "", { "last-event-id": last! });
      for (let message = await stream.next(); message; message = await stream.next()) {
        if (message.id) last = message.id;
        if (message.type === "event") events++;
        if (message.type === "reset" || events === 6_000) {
          isReset = true;
          break;
        }
      }
    }
    expect(isReset).toBe(true);
    await own.post({ channel: "a", name: "after" });
    using after = await openStream(own, "", { "last-event-id": last! });
    expect(names(await after.events(1))).toEqual(["after"]);
  });
});

describe("a stream reports deleted events:", () => {
  type Stream = Awaited<ReturnType<typeof openStream>>;
  async function nextDeleted(stream: Stream): Promise<DeletedEvents> {
    return JSON.parse((await stream.next("deleted"))!.data);
  }
  async function recorded(on: TestApp, event: object): Promise<string> {
    const { event: created } = (await (await on.post(event)).json()) as { event: Event };
    return created.id;
  }

  test("one event by its id, not to other projects", async () => {
    await using own = await testApp();
    const other = await own.another("Other", "other@example.com");
    const id = await recorded(own, { channel: "a", name: "by mistake" });
    using stream = await openStream(own);
    using filtered = await openStream(own, "?channel=b");
    using foreign = await openStream(own, "", {}, other.secret);
    for (const each of [stream, filtered, foreign]) await each.next("ready");
    expect((await own.request(`/api/events/${id}`, { method: "DELETE" })).status).toBe(200);
    expect((await own.request(`/api/events/${id}`, { method: "DELETE" })).status).toBe(404);
    for (const each of [stream, filtered]) {
      expect(await each.next()).toEqual({ type: "deleted", id: null, data: JSON.stringify({ ids: [id] }) });
    }
    await own.post({ channel: "a", name: "after" }, other.secret);
    expect((await foreign.next())?.type).toBe("event");
  });

  test("a channel in one message at the start of its deletion, and one at the end", async () => {
    await using own = await testApp();
    await own.post(Array.from({ length: 120 }, (_, n) => ({ channel: "doomed", name: `${n}` })));
    using stream = await openStream(own);
    await stream.next("ready");
    await untilJobDone(own, await own.request("/api/channels/doomed", { method: "DELETE" }));
    await own.post({ channel: "doomed", name: "anew" });
    const types = [];
    for (let message = await stream.next(); ; message = await stream.next()) {
      types.push(message!.type);
      if (message!.type === "event") break;
      expect(JSON.parse(message!.data)).toEqual({ channels: ["doomed"] });
    }
    expect(types).toEqual(["deleted", "deleted", "event"]);
  });

  test("an erased user's by id only", async () => {
    await using own = await testApp();
    await own.post(Array.from({ length: 120 }, (_, n) => ({ channel: "a", name: `${n}`, userId: "u1" })));
    const ids = (await own.list("?userId=u1")).map(({ id }) => id);
    using stream = await openStream(own);
    await stream.next("ready");
    await untilJobDone(own, await own.request("/api/users/u1", { method: "DELETE" }));
    const reported: string[] = [];
    while (reported.length < ids.length) {
      const deleted = await nextDeleted(stream);
      reported.push(...("ids" in deleted ? deleted.ids : []));
    }
    expect(reported.toSorted()).toEqual(ids.toSorted());
  });

  test("expired ones by channel and time", async () => {
    await using own = await testApp();
    const dayMs = 86_400_000;
    const createdAt = new Date(Date.now() - 10 * dayMs).toISOString();
    await own.post({ channel: "old", name: "expired", createdAt });
    await own.post({ channel: "old", name: "kept" });
    using stream = await openStream(own);
    await stream.next("ready");
    const response = await own.request("/api/projects/default", {
      method: "PATCH",
      headers: { cookie: await own.signIn(), origin: own.address, "content-type": "application/json" },
      body: JSON.stringify({ retentionDays: 7 }),
    });
    expect(response.status).toBe(200);
    const deleted = await nextDeleted(stream);
    expect(deleted).toEqual({ channels: ["old"], before: expect.any(String) });
    const { before } = deleted as { before: string };
    expect(Math.abs(Date.parse(before) - (Date.now() - 7 * dayMs))).toBeLessThan(60_000);
    expect(names(await own.list())).toEqual(["kept"]);
  });

  test("also when resuming, before later events", async () => {
    await using own = await testApp();
    const first = await openStream(own);
    await first.next("ready");
    const id = await recorded(own, { channel: "a", name: "seen" });
    const last = (await first.next("event"))!.id!;
    first.close();
    await own.request(`/api/events/${id}`, { method: "DELETE" });
    const later = await recorded(own, { channel: "a", name: "later" });
    using again = await openStream(own, "", { "last-event-id": last });
    expect((await again.next())?.type).toBe("ready");
    expect(await again.next()).toMatchObject({ type: "deleted", data: JSON.stringify({ ids: [id] }) });
    const message = (await again.next())!;
    expect(JSON.parse(message.data)).toMatchObject({ id: later });
    // A client that has seen later events knows of it.
    using knowing = await openStream(own, "", { "last-event-id": message.id! });
    await own.post({ channel: "a", name: "last" });
    expect([(await knowing.next())?.type, (await knowing.next())?.type]).toEqual(["ready", "event"]);
  });
});

test("a session gets its notifications, a key doesn't", async () => {
  const cookie = await app.signIn();
  using member = await openStream(app, "", { cookie });
  using key = await openStream(app);
  await member.next("ready");
  await key.next("ready");
  await app.post({ channel: "a", name: "look here", notify: true });
  const { data } = (await member.next("notification"))!;
  expect(JSON.parse(data)).toMatchObject({
    notification: { project: "default", event: { name: "look here" }, readAt: null },
    unread: expect.any(Number),
  });
  await app.post({ channel: "a", name: "quiet" });
  expect(await key.next()).toMatchObject({ type: "event" });
  expect(await key.next()).toMatchObject({ type: "event", data: expect.stringContaining("quiet") });
});

test("revoking a key ends its stream at once, and no other", async () => {
  const cookie = await app.signIn();
  const headers = { cookie, origin: app.address, "content-type": "application/json" };
  const created = await app.request("/api/keys", { method: "POST", headers, body: '{"name":"viewer"}' });
  const { key, secret } = (await created.json()) as { key: { id: string }; secret: string };
  using cut = await openStream(app, "", {}, secret);
  using other = await openStream(app);
  await cut.next("ready");
  await other.next("ready");
  await app.request(`/api/keys/${key.id}`, { method: "DELETE", headers });
  await app.post({ channel: "a", name: "after" });
  expect(await cut.next()).toBeNull();
  expect(names(await other.events(1))).toEqual(["after"]);
});

test("signing out ends the session's streams, and no others", async () => {
  const [leaving, staying] = [await app.signIn(), await app.signIn()];
  using cut = await openStream(app, "", { cookie: leaving });
  using other = await openStream(app, "", { cookie: staying });
  await cut.next("ready");
  await other.next("ready");
  const headers = { cookie: leaving, origin: app.address, "content-type": "application/json" };
  const signedOut = await app.request("/api/auth/sign-out", { method: "POST", headers, body: "{}" });
  expect(signedOut.status).toBe(200);
  expect(await cut.next()).toBeNull();
  await app.post({ channel: "a", name: "after" });
  expect(names(await other.events(1))).toEqual(["after"]);
});

test("streams also end when another process ends their session", async () => {
  const cookie = await app.signIn();
  using cut = await openStream(app, "", { cookie });
  await cut.next("ready");
  const store = await openTestStore(app.config);
  await store.control.deleteFrom("sessions").execute();
  await store.close();
  expect(await cut.next("nothing")).toBeNull();
});

test("HEAD opens no stream", async () => {
  const response = await app.request("/api/events/stream", { method: "HEAD" });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  expect(await response.text()).toBe("");
});

test("a slow client is disconnected, and resumes without a gap", async () => {
  await using own = await testApp();
  // It reads nothing for a while, so first the kernel's buffers fill, then the server's.
  const first = await rawStream(own);
  const count = 4_000;
  const description = "x".repeat(4_000);
  for (let n = 0; n < count; n += 200) {
    await Promise.all(
      Array.from({ length: 200 }, (_, i) => own.post({ channel: "a", name: `${n + i}`, description })),
    );
  }
  first.resume();
  await until(() => first.isClosed || first.endsWith("\r\n0\r\n\r\n"));
  first[Symbol.dispose]();
  // Removes the transfer encoding's chunks and an incomplete message.
  const whole = first.text.replace(/\r\n[0-9a-f]+\r\n/g, "");
  const received = whole.slice(0, whole.lastIndexOf("\n\n"));
  const seen = [...received.matchAll(/"name":"(\d+)"/g)].map(([, name]) => name!);
  expect(seen.length).toBeLessThan(count);
  let last = [...received.matchAll(/\nid: (\d+-\d+)\ndata: /g)].at(-1)![1]!;
  for (let attempt = 0; attempt < 100 && seen.length < count; attempt++) {
    using stream = await openStream(own, "", { "last-event-id": last });
    while (seen.length < count) {
      const message = await stream.next();
      if (!message) break;
      if (message.id) last = message.id;
      if (message.type === "event") seen.push(JSON.parse(message.data).name);
    }
  }
  expect(seen.toSorted((a, b) => Number(a) - Number(b))).toEqual(
    Array.from({ length: count }, (_, n) => `${n}`),
  );
});

/** A stream over a raw socket that reads nothing after `ready`. */
async function rawStream(on: Pick<TestApp, "address" | "key">, headers = `x-api-key: ${on.key}`) {
  const stream = await rawRequest(
    on.address,
    `GET /api/events/stream HTTP/1.1\r\nhost: a\r\n${headers}\r\n\r\n`,
  );
  await until(() => stream.text.includes("event: ready") || stream.text.includes("\r\n\r\n{"));
  stream.pause();
  return stream;
}

test.skipIf(process.platform !== "linux")(
  "connections of clients that read nothing are destroyed, and their memory is freed",
  async () => {
    await using own = await testProcess();
    const streams = await Promise.all(Array.from({ length: 20 }, () => rawStream(own)));
    const established = () => establishedAt(Number(new URL(own.address).port));
    expect(established()).toBeGreaterThanOrEqual(streams.length);
    const tags = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`key ${n}`, "v".repeat(1_000)]));
    for (let n = 0; n < 100; n++) await own.post({ channel: "a", name: "n", tags });
    await until(() => established() < streams.length);
    // The client still gets what is in the kernel's buffers.
    await until(() => established() <= 2);
    for (const stream of streams) stream[Symbol.dispose]();
  },
);

/** Established connections to a listening port. */
function establishedAt(port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  // proc_net_tcp(5): the second column is the local address, the fourth the state; 01 is established.
  return readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, address, , state]) => address?.endsWith(local) && state === "01").length;
}

describe("the number of open live streams is limited", () => {
  test("for a key, and streams that ended make room", async () => {
    await using own = await testApp();
    const streams = await Promise.all(Array.from({ length: limits.streamsPerKey }, () => rawStream(own)));
    const rejected = await own.request("/api/events/stream");
    expect([rejected.status, rejected.headers.get("retry-after"), await rejected.json()]).toMatchObject([
      429,
      "30",
      { type: "/problems/streams-exceeded", detail: expect.stringContaining("1,000") },
    ]);
    const other = await own.another("Other", "other@example.com");
    using _ = await openStream(own, "", {}, other.secret);
    streams[0]![Symbol.dispose]();
    await until(async () => {
      const response = await own.request("/api/events/stream");
      await response.body!.cancel();
      return response.status === 200;
    });
    for (const stream of streams) stream[Symbol.dispose]();
  });

  test("for an account, across its sessions", async () => {
    await using own = await testApp();
    const cookies = [await own.signIn(), await own.signIn()];
    const streams = await Promise.all(
      Array.from({ length: limits.streamsPerAccount }, (_, n) => rawStream(own, `cookie: ${cookies[n % 2]}`)),
    );
    const rejected = await own.request("/api/events/stream", { headers: { cookie: cookies[0]! } });
    expect(await rejected.json()).toMatchObject({ status: 429, detail: expect.stringContaining("account") });
    using _ = await openStream(own);
    for (const stream of streams) stream[Symbol.dispose]();
  });
});

describe("an id later than all arrivals", () => {
  for (const id of [`${Date.now() + 86_400_000}-0`, "999999999999999-5"]) {
    test(`such as ${id.slice(0, 3)}…, gets a reset, and the stream continues from now`, async () => {
      await app.post({ channel: "a", name: "before" });
      using stream = await openStream(app, "", { "last-event-id": id });
      const ready = await stream.next();
      const reset = await stream.next();
      expect([ready!.type, reset!.type]).toEqual(["ready", "reset"]);
      await app.post({ channel: "a", name: "after" });
      expect(names(await stream.events(1))).toEqual(["after"]);
      using again = await openStream(app, "", { "last-event-id": reset!.id! });
      expect(names(await again.events(1))).toEqual(["after"]);
    });
  }

  test("also in an empty store", async () => {
    await using own = await testApp();
    using stream = await openStream(own, "", { "last-event-id": `${Date.now()}-0` });
    expect([(await stream.next())!.type, (await stream.next())!.type]).toEqual(["ready", "reset"]);
    await own.post({ channel: "a", name: "first" });
    expect(names(await stream.events(1))).toEqual(["first"]);
  });
});
