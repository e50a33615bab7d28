// @engines clickhouse
/** Each failure of either database, and what callers then get. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Problem } from "../../core/problems.ts";
import type { Event } from "../../event/event.ts";
import { startClickHouse, type TestClickHouse } from "../../testing/clickhouse.ts";
import { type ClickHouseApp, clickHouseApp } from "../../testing/clickhouse-app.ts";
import { clickHouseProxy, noAnswer, wrongPassword } from "../../testing/clickhouse-proxy.ts";
import { canMount, smallDisk } from "../../testing/disks.ts";
import { makeStorage, removeStorage, type TestStorage } from "../../testing/engine.ts";
import { openStream } from "../../testing/event-stream.ts";
import { type PostgresProxy, postgresProxy } from "../../testing/postgres-proxy.ts";
import { until } from "../../testing/until.ts";

/** A reader hears within this time that older events can't be read. */
const answerMs = 20_000;

let clickHouse: TestClickHouse;
let origin: string;
let proxy: ReturnType<typeof clickHouseProxy>;
let database: PostgresProxy;
let storage: TestStorage;
let app: ClickHouseApp;

beforeAll(async () => {
  clickHouse = await startClickHouse();
  proxy = clickHouseProxy(() => origin);
});
afterAll(async () => {
  proxy[Symbol.dispose]();
  await clickHouse?.remove();
});

/** Ten events that are only in ClickHouse, then three that are only in PostgreSQL. */
const oldNames = Array.from({ length: 10 }, (_, n) => `old ${n}`);
const newNames = Array.from({ length: 3 }, (_, n) => `new ${n}`);

beforeEach(async () => {
  proxy.answer = () => undefined;
  const address = await clickHouse.database();
  origin = new URL(address).origin;
  const postgres = await makeStorage("postgres");
  database = await postgresProxy(postgres.databaseUrl!);
  storage = { ...postgres, databaseUrl: database.url, clickhouseUrl: proxy.url(address) };
  app = await clickHouseApp(storage);
  await record(oldNames);
  await app.moveAll();
  await record(newNames);
  return async () => {
    proxy.answer = () => undefined;
    database.reconnect();
    await app[Symbol.asyncDispose]();
    database[Symbol.dispose]();
    await removeStorage(postgres);
  };
});

async function record(names: readonly string[]): Promise<void> {
  for (const name of names) expect((await app.post({ channel: "c", name, userId: "u" })).status).toBe(201);
}

type Page = { events: Event[]; nextCursor: string | null } & Problem;
type Answer = { status: number; body: Page; retryAfter: string | null };

async function get(path: string): Promise<Answer> {
  const response = await app.request(path, { signal: AbortSignal.timeout(answerMs) });
  const body = (await response.json()) as Page;
  return { status: response.status, body, retryAfter: response.headers.get("retry-after") };
}

const namesOf = ({ body }: Answer) => body.events.map(({ name }) => name).reverse();

/** Expects the problem of older events, and returns it. */
function expectUnavailable({ status, body, retryAfter }: Answer): Problem {
  expect([status, body.type, body.title]).toEqual([
    503,
    "/problems/older-events-unavailable",
    "Older events unavailable",
  ]);
  expect(body.detail).toContain("Older events are in ClickHouse");
  expect(Number(retryAfter)).toBeGreaterThan(0);
  return body;
}

/** Expects all that must go on while ClickHouse can't be read. */
async function expectGoesOn(): Promise<void> {
  using stream = await openStream(app);
  const name = `meanwhile ${crypto.randomUUID()}`;
  const posted = await app.post({ channel: "c", name, notify: true });
  expect(posted.status).toBe(201);
  const { event } = (await posted.json()) as { event: Event };
  expect((await stream.events(1))[0]!.name).toBe(name);
  expect((await get(`/api/events/${event.id}`)).status).toBe(200);
  expect(namesOf(await get("/api/events?limit=1"))).toEqual([name]);
  const cookie = await app.signIn();
  const call = async (path: string) => {
    const response = await app.request(path, { headers: { cookie } });
    return { status: response.status, text: await response.text() };
  };
  // What matches a rule notifies, and the sidebar and the channels are there.
  await until(async () => (await call("/api/notifications?limit=1")).text.includes(name));
  expect((await call("/api/sidebar?project=default")).status).toBe(200);
  expect((await get("/api/channels")).status).toBe(200);
  expect((await get("/readyz")).status).toBe(200);
}

/** Expects that older events can't be read, which the answer says, and all newer ones can. */
async function expectOnlyNewest(): Promise<void> {
  const { availableFrom } = expectUnavailable(await get("/api/events?limit=100"));
  const newest = namesOf(await get(`/api/events?limit=100&from=${availableFrom}`));
  expect(newest.slice(0, 3)).toEqual(newNames);
  expectUnavailable(await get("/api/events"));
  expectUnavailable(await get("/api/events?limit=100&order=asc"));
  expectUnavailable(await get("/api/events?limit=100&q=old"));
  for (const question of ["q=user:u", "metric=users", "metric=sum&tag=n"]) {
    const stats = (query: string) => get(`/api/stats?${question}&${query}`);
    expect((await stats(`from=${availableFrom}`)).status).toBe(200);
    expectUnavailable(await stats("from=2026-01-01T00:00:00Z"));
  }
}

async function expectAllThere(): Promise<void> {
  await until(async () => (await get("/api/events?limit=100")).status === 200);
  const names = namesOf(await get("/api/events?limit=100"));
  expect(names.slice(0, 13)).toEqual([...oldNames, ...newNames]);
  expect(new Set(names).size).toBe(names.length);
  expect(namesOf(await get("/api/events"))).toEqual(names);
}

test("while ClickHouse is away, events are recorded, shown and notify, also after a restart", async () => {
  await clickHouse.kill();
  await expectGoesOn();
  await expectOnlyNewest();
  await app.restart();
  await expectGoesOn();
  await expectOnlyNewest();
  await clickHouse.start();
  await expectAllThere();
  await app.moveAll();
  await expectAllThere();
});

test("what moved, and is still in PostgreSQL, is read there while ClickHouse is away", async () => {
  await app.move();
  await clickHouse.kill();
  await expectOnlyNewest();
  await clickHouse.start();
  await expectAllThere();
});

test("a statement that fails after its answer began is no answer", async () => {
  const tag = "abcdefghijklmnop";
  const error =
    "Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED) (version 26.7.2.1)\n";
  const end = `\r\n__exception__\r\n${tag}\r\n${error}${error.length} ${tag}\r\n__exception__\r\n`;
  proxy.answer = (statement) =>
    statement.includes("FORMAT Native")
      ? new Response(end, { headers: { "x-clickhouse-exception-tag": tag } })
      : undefined;
  const sum = () => get("/api/stats?metric=sum&tag=n&from=2026-01-01T00:00:00Z");
  expect(expectUnavailable(await sum()).detail).toContain("has too much to do");
  proxy.answer = () => undefined;
  expect((await sum()).status).toBe(200);
});

test("too many users for the memory of ClickHouse are told, and the newest are counted", async () => {
  proxy.answer = (statement) =>
    statement.includes("sipHash64")
      ? new Response("Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)\n", {
          status: 500,
          headers: { "x-clickhouse-exception-code": "241" },
        })
      : undefined;
  const users = await get("/api/stats?metric=users&from=2026-01-01T00:00:00Z");
  const { detail, availableFrom } = expectUnavailable(users);
  expect(detail).toContain("has too much to do");
  expect((await get(`/api/stats?metric=users&from=${availableFrom}`)).status).toBe(200);
  expectUnavailable(await get("/api/retention?by=week&from=2026-01-01T00:00:00Z"));
  proxy.answer = () => undefined;
});

test("an event that is sent again waits for ClickHouse, and holds up no other", async () => {
  const [first] = (await get("/api/events?order=asc&limit=1")).body.events;
  const again = { id: first!.id, channel: "c", name: "again" };
  await clickHouse.kill();
  const [repeated, other] = await Promise.all([app.post(again), app.post({ channel: "c", name: "other" })]);
  expect(other!.status).toBe(201);
  expect(repeated!.status).toBe(503);
  await clickHouse.start();
  await until(async () => (await app.post(again)).status === 200);
  expect(namesOf(await get("/api/events"))).toEqual([...oldNames, ...newNames, "other"]);
});

test("a removed event doesn't arrive again before ClickHouse has deleted it", async () => {
  const { store } = app;
  const { id: projectId } = await store.control.selectFrom("projects").select("id").executeTakeFirstOrThrow();
  const arrived = async () => {
    const events = await store.events.arrivedAfter(projectId, { ms: 0, sequence: 0 }, 2);
    return events.map(({ json }) => (JSON.parse(json) as Event).name);
  };
  expect(await arrived()).toEqual(oldNames.slice(0, 2));
  proxy.answer = (statement) => (statement.startsWith("DELETE") ? wrongPassword() : undefined);
  const oldest = (await get("/api/events?order=asc&limit=3")).body.events;
  for (const { id } of oldest.slice(0, 2)) {
    const response = await app.request(`/api/events/${id}`, { method: "DELETE" });
    expect(response.status).toBe(503);
  }
  expect(await arrived()).toEqual(oldNames.slice(2, 4));
  proxy.answer = () => undefined;
  await app.move();
  expect(await arrived()).toEqual(oldNames.slice(2, 4));
  expect(namesOf(await get("/api/events"))).toEqual([...oldNames.slice(2), ...newNames]);
});

test("a ClickHouse that hangs holds up nothing else", async () => {
  proxy.answer = noAnswer;
  // As many as can wait for it at a time.
  const waiting = Array.from({ length: 10 }, () => get("/api/events?limit=100"));
  await expectGoesOn();
  for (const answer of await Promise.all(waiting)) expectUnavailable(answer);
  await expectOnlyNewest();
  proxy.answer = () => undefined;
  await expectAllThere();
});

test("a password that was changed is told at a start, and ends no recording while a node runs", async () => {
  proxy.answer = wrongPassword;
  await expectOnlyNewest();
  await expectGoesOn();
  await expect(clickHouseApp(storage, {}, app.key)).rejects.toThrow(
    /ClickHouse refuses CLICKHOUSE_URL: .*password is incorrect/,
  );
  proxy.answer = () => undefined;
  await expectAllThere();
});

test("a database that doesn't exist is told at a start", async () => {
  const clickhouseUrl = storage.clickhouseUrl!.replace(/[^/]+$/, "missing");
  await expect(clickHouseApp({ ...storage, clickhouseUrl }, {}, app.key)).rejects.toThrow(
    /ClickHouse refuses CLICKHOUSE_URL: .*missing/,
  );
});

test("while PostgreSQL is away, nothing is answered from ClickHouse alone", async () => {
  database.disconnect();
  const { status, body } = await get("/api/events?limit=100");
  expect([status, body.type]).toEqual([503, "/problems/storage-unavailable"]);
  expect((await app.post({ channel: "c", name: "lost" })).status).toBe(503);
  database.reconnect();
  await expectAllThere();
  expect((await get("/api/events")).body.events.length).toBe(13);
});

describe.skipIf(!canMount)("a disk of ClickHouse", () => {
  test("that is full is read, and events stay in PostgreSQL until it has space", async () => {
    using disk = smallDisk(96);
    const full = await startClickHouse(disk.directory);
    const address = await full.database();
    const own = { ...(await makeStorage("postgres")), clickhouseUrl: address };
    {
      await using small = await clickHouseApp(own);
      const { status } = small.store.older!;
      const text = () => Array.from({ length: 900 }, () => crypto.randomUUID()).join(" ");
      const recordLong = async () => {
        const batch = Array.from({ length: 20 }, (_, n) => ({
          channel: "c",
          name: `${n}`,
          description: text().slice(0, 9_000),
        }));
        expect((await small.post(batch)).status).toBe(201);
      };
      await recordLong();
      await small.move();
      disk.fill();
      await recordLong();
      await expect(small.move()).rejects.toThrow("older-events-unavailable");
      await until(async () => (await status()).shipping.failure !== null);
      expect((await status()).waiting.events).toBe(20);
      expect((await small.list()).length).toBe(40);
      disk.free();
      await until(async () =>
        small.move().then(
          () => true,
          () => false,
        ),
      );
      expect(await status()).toMatchObject({ waiting: { events: 0 }, shipping: { failure: null } });
      expect((await small.list()).length).toBe(40);
    }
    await removeStorage({ ...own, clickhouseUrl: null });
    await full.remove();
  });
});
