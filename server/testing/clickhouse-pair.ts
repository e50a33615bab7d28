import { afterAll, beforeAll, beforeEach, expect } from "bun:test";
import pg from "pg";
import type { Event } from "../event/event.ts";
import type { ServerStatus } from "../schemas/server-status.ts";
import { startClickHouse } from "./clickhouse.ts";
import { type ClickHouseApp, clickHouseApp } from "./clickhouse-app.ts";
import { clickHouseProxy } from "./clickhouse-proxy.ts";
import { makeStorage, removeStorage, type TestStorage } from "./engine.ts";
import { until } from "./until.ts";

/** A server of ClickHouse behind a proxy, with an empty database for each test. */
export type Member = Awaited<ReturnType<typeof startMember>>;

async function startMember() {
  const server = await startClickHouse();
  let address = await server.database();
  const proxy = clickHouseProxy(() => new URL(address).origin);
  let isKilled = false;
  const member = {
    proxy,
    /** The database, without the proxy. */
    get address() {
      return address;
    },
    /** The address for the setting. */
    get url() {
      return proxy.url(address);
    },
    async kill(): Promise<void> {
      isKilled = true;
      await server.kill();
    },
    async revive(): Promise<void> {
      await server.start();
      isKilled = false;
    },
    /** Makes it one that answers, with another database. */
    async renew(): Promise<void> {
      if (isKilled) await member.revive();
      proxy.answer = () => undefined;
      address = await server.database();
    },
    async run(sql: string): Promise<string> {
      const { origin, pathname } = new URL(address);
      const response = await fetch(`${origin}?database=${pathname.slice(1)}`, { method: "POST", body: sql });
      const text = await response.text();
      expect(response.status, text).toBe(200);
      return text.trim();
    },
    /** The number of events there. */
    events: async () => Number(await member.run("SELECT count() FROM events")),
    /** Its database as it was at first. */
    async empty(): Promise<void> {
      const { origin, pathname } = new URL(address);
      for (const verb of ["DROP", "CREATE"])
        await fetch(origin, { method: "POST", body: `${verb} DATABASE ${pathname.slice(1)}` });
    },
    async remove(): Promise<void> {
      proxy[Symbol.dispose]();
      await server.remove();
    },
  };
  return member;
}

/** The real server on PostgreSQL with several servers of ClickHouse. */
export type PairApp = Awaited<ReturnType<typeof pairApp>>;

async function pairApp(members: readonly Member[]) {
  const storage: TestStorage = await makeStorage("postgres");
  let cookie: string | null = null;
  let app: ClickHouseApp = await start(members);
  let isRunning = true;

  /** Starts the server with some addresses. */
  async function start(some: readonly Member[], key?: string): Promise<ClickHouseApp> {
    storage.clickhouseUrl = some.map(({ url }) => url).join(",");
    return clickHouseApp(storage, { TIDINGS_METRICS_TOKEN: metricsToken }, key);
  }

  async function body<Body>(path: string): Promise<Body> {
    const response = await app.request(path);
    const text = await response.text();
    expect(response.status, text).toBe(200);
    return JSON.parse(text) as Body;
  }

  const pair = {
    storage,
    request: (...call: Parameters<ClickHouseApp["request"]>) => app.request(...call),
    /** Moves all events, and leaves them in PostgreSQL. */
    move: () => app.move(),
    start: (...some: Member[]) => start(some, app.key),
    async stop(): Promise<void> {
      if (isRunning) await app[Symbol.asyncDispose]();
      isRunning = false;
    },
    async restartWith(...some: Member[]): Promise<void> {
      await pair.stop();
      app = await start(some, app.key);
      isRunning = true;
    },
    async inPostgres(sql: string): Promise<object[]> {
      const client = new pg.Client({ connectionString: storage.databaseUrl! });
      await client.connect();
      try {
        return (await client.query<object>(sql)).rows;
      } finally {
        await client.end();
      }
    },
    /** Records events and returns their names. */
    async record(count: number, prefix: string): Promise<string[]> {
      const batch = Array.from({ length: count }, (_, n) => ({
        channel: "c",
        name: `${prefix} ${n}`,
        userId: `u${n % 3}`,
        tags: { b: `${n}`, 1: "é" },
      }));
      const response = await app.request("/api/events", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(batch),
      });
      expect(response.status).toBe(201);
      return batch.map(({ name }) => name);
    },
    /** Moves all events, and deletes them in PostgreSQL. */
    async moveAll(): Promise<void> {
      await app.moveAll();
      expect(await pair.inPostgres("SELECT FROM shipped_ranges WHERE gone_at IS NULL")).toEqual([]);
    },
    async names(query = ""): Promise<string[]> {
      return (await app.list(query)).map(({ name }) => name).sort();
    },
    async remove(name: string): Promise<void> {
      const event = (await app.list()).find((each) => each.name === name)!;
      expect((await app.request(`/api/events/${event.id}`, { method: "DELETE" })).status).toBe(200);
    },
    async status(): Promise<NonNullable<ServerStatus["olderEvents"]>> {
      cookie ??= await app.signIn();
      const response = await app.request("/api/status", { headers: { cookie } });
      return ((await response.json()) as ServerStatus).olderEvents!;
    },
    /** Waits until all servers have all events, by what the server does by itself. */
    async untilAllHaveAll(): Promise<void> {
      await until(async () =>
        (await pair.status()).servers.every(({ failure, isCurrent }) => !failure && isCurrent),
      );
    },
    /** Expects all kinds of reads to find these events. */
    async expectReads(expected: readonly string[]): Promise<void> {
      const sorted = [...expected].sort();
      expect(await pair.names()).toEqual(sorted);
      expect(await pair.names("?q=user:u0 OR user:u1 OR user:u2")).toEqual(sorted);
      const counted = await body<{ count: number }>("/api/events/count?q=user:u0 OR user:u1 OR user:u2");
      expect(counted.count).toBe(expected.length);
      await body("/api/stats?metric=users&from=2026-01-01T00:00:00Z");
      const [oldest] = (await body<{ events: Event[] }>("/api/events?order=asc&limit=1")).events;
      expect(expected).toContain(oldest!.name);
      await body(`/api/events/${oldest!.id}`);
    },
    async end(): Promise<void> {
      await pair.stop();
      await removeStorage({ ...storage, clickhouseUrl: null });
    },
  };
  return pair;
}

export const metricsToken = "a-token-of-sixteen-characters";

/** Starts two servers of ClickHouse for the tests of a file, and for each test the real server on new databases there. */
export function beforeEachPair(
  onPair: (pair: { first: Member; second: Member; app: PairApp }) => void,
): void {
  let members: [Member, Member];
  beforeAll(async () => {
    members = await Promise.all([startMember(), startMember()]);
  });
  afterAll(() => Promise.all(members.map((member) => member.remove())));
  beforeEach(async () => {
    await Promise.all(members.map((member) => member.renew()));
    const app = await pairApp(members);
    onPair({ first: members[0], second: members[1], app });
    return () => app.end();
  });
}
