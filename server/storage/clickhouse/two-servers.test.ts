// @engines clickhouse
/** Two servers of ClickHouse: what one does while the other is away, and how that one gets what it missed. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import pg from "pg";
import type { Event } from "../../event/event.ts";
import type { ServerStatus } from "../../schemas/server-status.ts";
import { startClickHouse, type TestClickHouse } from "../../testing/clickhouse.ts";
import { type ClickHouseApp, clickHouseApp } from "../../testing/clickhouse-app.ts";
import { clickHouseProxy, wrongPassword } from "../../testing/clickhouse-proxy.ts";
import { makeStorage, removeStorage, type TestStorage } from "../../testing/engine.ts";
import { until } from "../../testing/until.ts";

/** A server behind a proxy, with an own database for each test. */
type Member = {
  server: TestClickHouse;
  proxy: ReturnType<typeof clickHouseProxy>;
  /** The address of the database, without the proxy. */
  address: string;
  url: string;
  isKilled: boolean;
};

let first: Member;
let second: Member;
let storage: TestStorage;
let app: ClickHouseApp;
let cookie: string | null;

async function startMember(): Promise<Member> {
  const server = await startClickHouse();
  const address = await server.database();
  const proxy = clickHouseProxy(() => new URL(address).origin);
  return { server, proxy, address, url: proxy.url(address), isKilled: false };
}

beforeAll(async () => {
  [first, second] = await Promise.all([startMember(), startMember()]);
});
afterAll(async () => {
  for (const { server, proxy } of [first, second]) {
    proxy[Symbol.dispose]();
    await server.remove();
  }
});

beforeEach(async () => {
  for (const member of [first, second]) {
    if (member.isKilled) await revive(member);
    member.proxy.answer = () => undefined;
    await renew(member);
  }
  storage = await makeStorage("postgres");
  cookie = null;
  app = await startApp([first, second]);
  return async () => {
    await app[Symbol.asyncDispose]();
    await removeStorage({ ...storage, clickhouseUrl: null });
  };
});

async function renew(member: Member): Promise<void> {
  member.address = await member.server.database();
  member.url = member.proxy.url(member.address);
}

/** Starts the server with some addresses. */
async function startApp(members: readonly Member[], key?: string): Promise<ClickHouseApp> {
  storage.clickhouseUrl = members.map(({ url }) => url).join(",");
  return clickHouseApp(storage, {}, key);
}

async function restartWith(...members: Member[]): Promise<void> {
  await app[Symbol.asyncDispose]();
  app = await startApp(members, app.key);
}

async function kill(member: Member): Promise<void> {
  member.isKilled = true;
  await member.server.kill();
}

async function revive(member: Member): Promise<void> {
  await member.server.start();
  member.isKilled = false;
}

async function run(member: Member, sql: string): Promise<string> {
  const { origin, pathname } = new URL(member.address);
  const response = await fetch(`${origin}?database=${pathname.slice(1)}`, { method: "POST", body: sql });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return text.trim();
}

const eventsOn = async (member: Member) => Number(await run(member, "SELECT count() FROM events"));

async function inPostgres<Row extends object>(sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: storage.databaseUrl! });
  await client.connect();
  return client
    .query<Row>(sql)
    .then(
      ({ rows }) => rows,
      (error) => {
        throw error;
      },
    )
    .finally(() => client.end());
}

async function record(count: number, prefix: string): Promise<string[]> {
  const batch = Array.from({ length: count }, (_, n) => ({
    channel: "c",
    name: `${prefix} ${n}`,
    userId: `u${n % 3}`,
    tags: { b: `${n}`, 1: "é" },
  }));
  const response = await app.post(batch);
  expect(response.status).toBe(201);
  return batch.map(({ name }) => name);
}

async function names(query = ""): Promise<string[]> {
  return (await app.list(query)).map(({ name }) => name).sort();
}

async function remove(name: string): Promise<void> {
  const event = (await app.list()).find((each) => each.name === name)!;
  expect((await app.request(`/api/events/${event.id}`, { method: "DELETE" })).status).toBe(200);
}

/** Moves all events, also if the server is doing that by itself, and deletes them in PostgreSQL. */
async function moveAll(): Promise<void> {
  await app.moveAll();
  expect(await inPostgres("SELECT FROM shipped_ranges WHERE gone_at IS NULL")).toEqual([]);
}

async function status(): Promise<NonNullable<ServerStatus["olderEvents"]>> {
  cookie ??= await app.signIn();
  const response = await app.request("/api/status", { headers: { cookie } });
  return ((await response.json()) as ServerStatus).olderEvents!;
}

/** Waits until both servers have all events, by what the server does by itself. */
async function untilBothHaveAll(): Promise<void> {
  await until(async () => (await status()).servers.every(({ failure, isCurrent }) => !failure && isCurrent));
}

/** Expects all kinds of reads to find these events. */
async function expectReads(expected: readonly string[]): Promise<void> {
  const sorted = [...expected].sort();
  expect(await names()).toEqual(sorted);
  expect(await names("?q=user:u0 OR user:u1 OR user:u2")).toEqual(sorted);
  const body = async <Body>(path: string) => {
    const response = await app.request(path);
    const text = await response.text();
    expect(response.status, text).toBe(200);
    return JSON.parse(text) as Body;
  };
  const { count } = await body<{ count: number }>("/api/events/count?q=user:u0 OR user:u1 OR user:u2");
  expect(count).toBe(expected.length);
  await body("/api/stats?metric=users&from=2026-01-01T00:00:00Z");
  const [oldest] = (await body<{ events: Event[] }>("/api/events?order=asc&limit=1")).events;
  expect(expected).toContain(oldest!.name);
  await body(`/api/events/${oldest!.id}`);
}

test("each block is on both servers, and reads ask the first", async () => {
  const all = await record(10, "a");
  await moveAll();
  expect([await eventsOn(first), await eventsOn(second)]).toEqual([10, 10]);
  const asked = { first: 0, second: 0 };
  for (const [name, member] of [
    ["first", first],
    ["second", second],
  ] as const)
    member.proxy.answer = (statement) => {
      if (/FROM events/.test(statement)) asked[name]++;
      return undefined;
    };
  await expectReads(all);
  expect(asked.first).toBeGreaterThan(4);
  expect(asked.second).toBe(0);
});

for (const victim of ["first", "second"] as const) {
  test(`while the ${victim} is away, the other answers, and then it gets what it missed`, async () => {
    const [gone, other] = victim === "first" ? [first, second] : [second, first];
    const before = await record(10, "before");
    await moveAll();
    await kill(gone);
    await expectReads(before);
    const meanwhile = await record(10, "meanwhile");
    await moveAll();
    await remove("before 3");
    await remove("meanwhile 3");
    const all = [...before, ...meanwhile].filter((name) => !name.endsWith(" 3"));
    await expectReads(all);
    expect(await eventsOn(other)).toBe(18);
    const told = (await status()).servers.find(({ isCurrent }) => !isCurrent)!;
    expect(told).toMatchObject({
      failure: expect.any(String),
      lacks: { blocks: 1, events: 10, removals: 2 },
    });
    expect((await status()).failure).toBeNull();
    await revive(gone);
    await untilBothHaveAll();
    expect(await eventsOn(gone)).toBe(18);
    await kill(other);
    await expectReads(all);
    const after = await record(5, "after");
    await moveAll();
    await expectReads([...all, ...after]);
    await revive(other);
    await untilBothHaveAll();
    expect([await eventsOn(first), await eventsOn(second)]).toEqual([23, 23]);
  });
}

test("a block that is still in PostgreSQL is sent from there when the only server that has it is away", async () => {
  const before = await record(10, "before");
  await moveAll();
  await kill(second);
  const meanwhile = await record(10, "meanwhile");
  await app.move();
  await kill(first);
  await revive(second);
  await until(async () => (await names().catch(() => [])).length === 20);
  await expectReads([...before, ...meanwhile]);
  await revive(first);
  await untilBothHaveAll();
});

test("while both are away, newer events are recorded and read", async () => {
  await record(5, "old");
  await moveAll();
  await Promise.all([kill(first), kill(second)]);
  await record(3, "new");
  expect((await names("?limit=1"))[0]).toStartWith("new");
  const response = await app.request("/api/events?limit=100");
  expect([response.status, await response.text()]).toEqual([503, expect.stringContaining("availableFrom")]);
  expect((await status()).failure).not.toBeNull();
  await Promise.all([revive(first), revive(second)]);
  await untilBothHaveAll();
  expect((await names()).length).toBe(8);
});

test("an answer that fails on its way comes from the other server", async () => {
  const all = await record(10, "a");
  await moveAll();
  let refused = 0;
  first.proxy.answer = (statement) => {
    if (!/FROM events/.test(statement)) return undefined;
    refused++;
    return new Response(null, { status: 502 });
  };
  await expectReads(all);
  expect(refused).toBeGreaterThan(4);
});

test("a new server is filled from the one that has all, and is not read before", async () => {
  await restartWith(first);
  const all: string[] = [];
  for (let block = 0; block < 4; block++) {
    all.push(...(await record(10, `block ${block}`)));
    await moveAll();
  }
  await remove("block 1 3");
  all.splice(all.indexOf("block 1 3"), 1);
  const hold = Promise.withResolvers<undefined>();
  let inserted = 0;
  second.proxy.answer = (statement) => {
    if (!statement.startsWith("INSERT INTO events") || ++inserted < 3) return undefined;
    return hold.promise;
  };
  await restartWith(second, first);
  await until(() => inserted === 3);
  const { servers, failure } = await status();
  expect(failure).toBeNull();
  expect(servers.map(({ isCurrent, lacks }) => [isCurrent, lacks.blocks])).toEqual([
    [false, 2],
    [true, 0],
  ]);
  await expectReads(all);
  // It is on its way to the new server.
  await remove("block 2 5");
  all.splice(all.indexOf("block 2 5"), 1);
  const more = await record(3, "more");
  second.proxy.answer = () => undefined;
  hold.resolve(undefined);
  await untilBothHaveAll();
  await kill(first);
  await expectReads([...all, ...more]);
});

test("what is removed while a block is copied does not come back", async () => {
  await restartWith(first);
  const all = await record(10, "a");
  await moveAll();
  let isRemoved = false;
  second.proxy.answer = async (statement) => {
    if (statement.startsWith("INSERT INTO events") && !isRemoved) {
      isRemoved = true;
      await remove("a 4");
    }
    return undefined;
  };
  await restartWith(first, second);
  await untilBothHaveAll();
  expect(isRemoved).toBe(true);
  await kill(first);
  await expectReads(all.filter((name) => name !== "a 4"));
});

test("an emptied server is recognised, and filled again", async () => {
  const all = await record(10, "a");
  await moveAll();
  await kill(first);
  await revive(first);
  const database = new URL(first.address).pathname.slice(1);
  await fetch(new URL(first.address).origin, { method: "POST", body: `DROP DATABASE ${database}` });
  await fetch(new URL(first.address).origin, { method: "POST", body: `CREATE DATABASE ${database}` });
  for (let n = 0; n < 5; n++) await expectReads(all);
  await untilBothHaveAll();
  expect(await eventsOn(first)).toBe(10);
  await kill(second);
  await expectReads(all);
});

test("a server that left and missed removals that are forgotten begins empty", async () => {
  const all = await record(10, "a");
  await moveAll();
  await restartWith(first);
  await app.move();
  await remove("a 4");
  await inPostgres("UPDATE clickhouse_servers SET left_at = left_at - 1 WHERE left_at IS NOT NULL");
  await app.move();
  await inPostgres("UPDATE shipped_removals SET applied_at = 0");
  await app.move();
  expect(await inPostgres("SELECT FROM shipped_removals")).toEqual([]);
  const rest = all.filter((name) => name !== "a 4");
  await restartWith(second, first);
  await untilBothHaveAll();
  expect(await eventsOn(second)).toBe(9);
  await kill(first);
  await expectReads(rest);
});

test("a server that left and comes back gets the removals that it missed", async () => {
  const all = await record(10, "a");
  await moveAll();
  await restartWith(first);
  await app.move();
  expect(await inPostgres("SELECT FROM clickhouse_servers WHERE left_at IS NOT NULL")).toHaveLength(1);
  await remove("a 4");
  const more = await record(10, "more");
  await moveAll();
  await restartWith(second, first);
  await untilBothHaveAll();
  expect(await eventsOn(second)).toBe(19);
  await kill(first);
  await expectReads([...all.filter((name) => name !== "a 4"), ...more]);
});

test("a start needs one server that can be used", async () => {
  const all = await record(10, "a");
  await moveAll();
  second.proxy.answer = wrongPassword;
  await restartWith(second, first);
  await expectReads(all);
  expect((await status()).servers[0]!.failure).toContain("password is incorrect");
  first.proxy.answer = wrongPassword;
  await expect(startApp([first, second], app.key)).rejects.toThrow(/ClickHouse refuses CLICKHOUSE_URL/);
  first.proxy.answer = () => undefined;
  second.proxy.answer = () => undefined;
  await untilBothHaveAll();
  await kill(first);
  await restartWith(first, second);
  await expectReads(all);
  await revive(first);
});

test("a copy of a server is not taken for a second one", async () => {
  await record(10, "a");
  await moveAll();
  await restartWith(first);
  await renew(second);
  await run(
    second,
    `CREATE TABLE tidings_schema (version UInt32, owner String) ENGINE = MergeTree ORDER BY version`,
  );
  await run(
    second,
    `CREATE TABLE tidings_server (id String, at DateTime64(6)) ENGINE = MergeTree ORDER BY at`,
  );
  const owner = await run(first, "SELECT owner FROM tidings_schema");
  const id = await run(first, "SELECT id FROM tidings_server");
  await run(second, `INSERT INTO tidings_schema VALUES (1, '${owner}')`);
  await run(second, `INSERT INTO tidings_server VALUES ('${id}', now64(6))`);
  await restartWith(first, second);
  await until(async () => (await status()).servers[1]!.failure !== null);
  expect((await status()).servers.map(({ failure }) => failure)).toEqual([
    null,
    expect.stringContaining("same database as another"),
  ]);
});
