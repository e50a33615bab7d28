// @engines clickhouse
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { ProblemError } from "../../core/problems.ts";
import type { Event } from "../../event/event.ts";
import { ArrivalClock } from "../../event/id.ts";
import { parseSearch } from "../../event/search.ts";
import { createProject } from "../../projects/projects.ts";
import { acceptedEvent } from "../../testing/accepted-event.ts";
import { makeStorage, removeStorage, type TestStorage, testWatch } from "../../testing/engine.ts";
import { until } from "../../testing/until.ts";
import { openPostgresStore } from "../postgres/index.ts";
import { matchOf } from "../postgres/match.ts";
import type { Store } from "../store.ts";
import { Conditions } from "./condition.ts";
import { connect } from "./connection.ts";
import { openClickHouse } from "./index.ts";

const day = Date.UTC(2026, 0, 31);
const options = { events: 10, ageMs: 60_000, keepMs: 60_000, announceMs: 0 };

/** Between Tidings and ClickHouse. `before` is called with each statement. */
let proxy: ReturnType<typeof startProxy>;
let before: (statement: string) => void | Promise<void>;
let losesAnswer: (statement: string) => boolean;
let isAway: boolean;
let storage: TestStorage;
let clickHouseUrl: string;
let store: Store;
let clock: ArrivalClock;
let projectId: number;
const errors: string[] = [];

function startProxy(origin: () => string) {
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname, search, searchParams } = new URL(request.url);
      const body = await request.text();
      const statement = searchParams.get("query") ?? body;
      if (isAway) return new Response(null, { status: 502 });
      await before(statement);
      const response = await fetch(`${origin()}${pathname}${search}`, {
        method: request.method,
        body: body || null,
      });
      const answer = await response.text();
      if (losesAnswer(statement)) return new Response(null, { status: 502 });
      return new Response(answer, { status: response.status, headers: response.headers });
    },
  });
}

beforeAll(() => {
  proxy = startProxy(() => new URL(storage.clickhouseUrl!).origin);
});
afterAll(() => proxy.stop(true));

beforeEach(async () => {
  before = () => {};
  losesAnswer = () => false;
  isAway = false;
  errors.length = 0;
  storage = await makeStorage("clickhouse");
  clickHouseUrl = `http://default@127.0.0.1:${proxy.port}${new URL(storage.clickhouseUrl!).pathname}`;
  store = await open();
  clock = new ArrivalClock(null);
  projectId = (await createProject(store.control, "Test", null)).id;
  return async () => {
    await store.close();
    await removeStorage(storage);
  };
});

function open(url: string | null = clickHouseUrl, databaseUrl = storage.databaseUrl!): Promise<Store> {
  const watch = { ...testWatch, onError: (error: unknown) => void errors.push((error as Error).message) };
  const openOlder = url === null ? null : openClickHouse(url, options);
  return openPostgresStore({ url: databaseUrl, connections: 3 }, watch, undefined, undefined, openOlder);
}

async function append(count: number, event: Partial<Event> = {}): Promise<string[]> {
  const events = Array.from({ length: count }, () =>
    acceptedEvent({
      projectId,
      arrival: clock.next(),
      event: { channelId: "c", ...event },
      hasClientId: event.id !== undefined,
    }),
  );
  await store.events.appendAll(events);
  return events.map(({ event }) => event.id);
}

/** @param inMs - how much later */
const ship = (inMs = 0) => store.events.indexBlocks(async () => {}, Date.now() + inMs);

/** The same, as soon as it is known that ClickHouse is back. */
const shipAgain = (inMs = 0) =>
  until(() =>
    ship(inMs).then(
      () => true,
      () => false,
    ),
  );

async function listed(query: { limit?: number } = {}): Promise<string[]> {
  const { events } = await store.events.page({ projectId, filter: {}, order: "desc" }, query.limit ?? 1_000);
  return events.map((json) => (JSON.parse(json) as Event).id).reverse();
}

const codeOf = (error: unknown) => (error as ProblemError).code;

/** Runs a statement in ClickHouse. */
async function run(sql: string): Promise<string> {
  const { origin, pathname } = new URL(storage.clickhouseUrl!);
  const response = await fetch(`${origin}?database=${pathname.slice(1)}`, { method: "POST", body: sql });
  expect(response.status).toBe(200);
  return response.text();
}

const inClickHouse = async () => Number(await run("SELECT count() FROM events"));

async function inPostgres(): Promise<number> {
  const { rows } = await import("kysely").then(({ sql }) =>
    sql<{ events: number }>`SELECT count(*)::integer AS events FROM events`.execute(store.control),
  );
  return rows[0]!.events;
}

test("full ranges move at once, others when they are old enough, and rows are deleted later", async () => {
  const ids = await append(25);
  await ship();
  expect([await inClickHouse(), await inPostgres()]).toEqual([20, 25]);
  expect(await listed()).toEqual(ids);
  await ship(options.ageMs + 1_000);
  expect([await inClickHouse(), await inPostgres()]).toEqual([25, 5]);
  await ship(3 * options.keepMs);
  expect([await inClickHouse(), await inPostgres()]).toEqual([25, 0]);
  expect(await listed()).toEqual(ids);
  expect(await store.events.find(projectId, ids[3]!)).toContain(ids[3]!);
});

test("rows are deleted while other ranges still move", async () => {
  const ids = await append(10);
  await ship();
  ids.push(...(await append(30)));
  const kept: number[] = [];
  const pause = async () => void kept.push(await inPostgres());
  await store.events.indexBlocks(pause, Date.now() + 2 * options.keepMs);
  // After each range that moved: with the first of them, the rows of the one before were deleted.
  expect(kept).toEqual([30, 30, 30]);
  expect(await listed()).toEqual(ids);
});

test("a block whose answer was lost is sent again, and stored once", async () => {
  const ids = await append(10);
  let sends = 0;
  losesAnswer = (statement) => statement.startsWith("INSERT INTO events") && ++sends === 1;
  await ship().catch(() => {});
  expect(await listed()).toEqual(ids);
  await ship();
  expect([sends, await inClickHouse()]).toEqual([2, 10]);
  expect(await listed()).toEqual(ids);
});

test("an event that is removed while its block is on its way stays removed", async () => {
  const ids = await append(10);
  before = async (statement) => {
    if (!statement.startsWith("INSERT INTO events")) return;
    before = () => {};
    await store.events.remove({ projectId, id: ids[4]! }, 1);
  };
  await ship();
  const rest = ids.filter((id) => id !== ids[4]);
  expect(await listed()).toEqual(rest);
  await ship(3 * options.keepMs);
  expect(await listed()).toEqual(rest);
  expect([await inClickHouse(), await inPostgres()]).toEqual([9, 0]);
});

test("a removal counts once, wherever the events are", async () => {
  const ids = await append(30, { userId: "u" });
  await ship();
  await ship(3 * options.keepMs);
  const more = await append(5, { userId: "u" });
  const channel = () =>
    store.control.selectFrom("channels").select(["events", "lastEventAt"]).executeTakeFirst();
  expect((await channel())!.events).toBe(35);
  const [one, two] = await Promise.all([1, 2].map(() => store.events.remove({ projectId, id: ids[0]! }, 1)));
  expect([...one!.ids, ...two!.ids]).toEqual([ids[0]!]);
  expect((await channel())!.events).toBe(34);
  expect(await store.events.countRemovable({ projectId, userIds: ["u"] })).toBe(34);
  const removed = await store.events.remove({ projectId, userIds: ["u"] }, 1_000);
  expect(new Set(removed.ids)).toEqual(new Set([...ids.slice(1), ...more]));
  expect((await channel())!.events).toBe(0);
  expect([await inClickHouse(), await listed()]).toEqual([0, []]);
});

test("an event that is sent again is a duplicate after it moved, with the same JSON", async () => {
  const id = "019c0000-0000-7000-8000-000000000001";
  await append(10);
  const event = acceptedEvent({
    projectId,
    arrival: clock.next(),
    event: { id, name: "First" },
    hasClientId: true,
    createdAtMs: day,
  });
  expect(await store.events.append(event)).toEqual({ kind: "created" });
  await ship(options.ageMs + 1_000);
  await ship(3 * options.keepMs);
  expect(await inPostgres()).toBe(0);
  const again = acceptedEvent({
    projectId,
    arrival: clock.next(),
    event: { id, name: "Second" },
    hasClientId: true,
  });
  expect(await store.events.append(again)).toEqual({ kind: "duplicate", json: event.json });
  expect((await listed()).filter((each) => each === id)).toEqual([id]);
});

test("without ClickHouse, events are recorded, the newest are shown, and others are unavailable", async () => {
  const old = await append(10);
  await ship();
  const ids = await append(3);
  isAway = true;
  expect(await listed()).toEqual([...old, ...ids]);
  isAway = false;
  await shipAgain(3 * options.keepMs);
  isAway = true;
  expect(await listed({ limit: 2 })).toEqual(ids.slice(1));
  expect(await listed().catch(codeOf)).toEqual("older-events-unavailable" as never);
  await append(10);
  expect(await ship().catch(codeOf)).toBe("older-events-unavailable" as never);
  isAway = false;
  await shipAgain();
  expect((await listed()).length).toBe(23);
});

test("blocks that PostgreSQL knows nothing of are deleted before the next one is sent", async () => {
  const ids = await append(10);
  await ship();
  await store.close();
  // As after PostgreSQL was restored from a backup.
  await run("INSERT INTO events SELECT * REPLACE (block + 5 AS block) FROM events");
  store = await open();
  const more = await append(60);
  await ship();
  expect(await inClickHouse()).toBe(70);
  expect(await listed()).toEqual([...ids, ...more]);
});

test("rows stay in PostgreSQL if ClickHouse has lost some of their block", async () => {
  await append(10);
  await ship();
  await run("TRUNCATE TABLE events");
  await ship(3 * options.keepMs);
  expect(await inPostgres()).toBe(10);
  expect(errors).toEqual([expect.stringContaining("ClickHouse has 0 of 10 events")]);
});

test("searches use the index of computed tokens", async () => {
  await append(10);
  await ship();
  const clickHouse = connect(storage.clickhouseUrl!, testWatch);
  const conditions = new Conditions(projectId);
  const search = parseSearch('(user:"u 1" or user:"" or notify:true) -plan=pro café');
  const sql = conditions.sql(matchOf(projectId, { search: search! }).condition);
  const statement = `EXPLAIN indexes = 1 SELECT name FROM events WHERE ${sql}`;
  expect(JSON.stringify(await clickHouse.read(statement, conditions.parameters))).toContain("tokens_index");
  await clickHouse.close();
});

test("the databases must belong together", async () => {
  await append(10);
  await ship();
  expect(open(null)).rejects.toThrow("Set CLICKHOUSE_URL");
  const other = await makeStorage("clickhouse");
  expect(open(clickHouseUrl, other.databaseUrl!)).rejects.toThrow("another database of Tidings");
  expect(open(other.clickhouseUrl!)).rejects.toThrow("is empty");
  await removeStorage(other);
});
