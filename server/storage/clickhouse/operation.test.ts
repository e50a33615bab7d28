// @engines clickhouse
/** What operators see of ClickHouse: metrics, the status, the doctor, and the way back to PostgreSQL alone. */
import { beforeEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import type { ServerStatus } from "../../schemas/server-status.ts";
import { type ClickHouseApp, clickHouseApp } from "../../testing/clickhouse-app.ts";
import { clickHouseProxy, wrongPassword } from "../../testing/clickhouse-proxy.ts";
import { environmentOf, makeStorage, removeStorage, type TestStorage } from "../../testing/engine.ts";
import { runTidings, startServer } from "../../testing/server-process.ts";
import { until } from "../../testing/until.ts";

const token = "a-token-of-sixteen-characters";
const monitoring = readFileSync(join(import.meta.dir, "../../../docs/monitoring.md"), "utf8");

let storage: TestStorage;
let app: ClickHouseApp;

beforeEach(async () => {
  storage = await makeStorage("clickhouse");
  app = await clickHouseApp(storage, { TIDINGS_METRICS_TOKEN: token });
  return async () => {
    await app[Symbol.asyncDispose]();
    await removeStorage(storage);
  };
});

async function record(count: number, from = 0): Promise<void> {
  const batch = Array.from({ length: count }, (_, n) => ({
    channel: `c${n % 3}`,
    name: `event ${from + n}`,
    userId: `u${n % 5}`,
    tags: { n: `${n % 7}` },
  }));
  expect((await app.post(batch)).status).toBe(201);
}

async function metrics(): Promise<Map<string, number>> {
  const response = await app.request("/metrics", { headers: { authorization: `Bearer ${token}` } });
  const lines = (await response.text()).split("\n").filter((line) => line.startsWith("tidings_"));
  return new Map(lines.map((line) => [line.split(" ")[0]!, Number(line.split(" ")[1])]));
}

async function status(): Promise<NonNullable<ServerStatus["olderEvents"]>> {
  const response = await app.request("/api/status", { headers: { cookie: await app.signIn() } });
  expect(response.status).toBe(200);
  return ((await response.json()) as ServerStatus).olderEvents!;
}

async function inClickHouse(sql: string): Promise<void> {
  const { origin, pathname } = new URL(storage.clickhouseUrl!);
  const response = await fetch(origin, {
    method: "POST",
    body: sql.replaceAll("events", `${pathname.slice(1)}.events`),
  });
  expect(await response.text()).toBe("");
}

async function inPostgres(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: storage.databaseUrl! });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

const environment = () => ({ ...environmentOf(storage), TIDINGS_METRICS_TOKEN: token });
/** Its lines about ClickHouse and counters, without advice. */
async function doctor(...args: string[]) {
  const { code, stdout, stderr } = await runTidings(["doctor", ...args], environment());
  const lines = stdout
    .split("\n")
    .filter((line) => /^(?:ok {2}|WARN|FAIL) (?:clickhouse|counters):/.test(line));
  return { code, lines, stdout, stderr };
}

test("metrics and status say how far behind ClickHouse is, and whether it answers", async () => {
  await record(10);
  expect(await status()).toMatchObject({
    failure: null,
    blocks: 0,
    events: 0,
    waiting: { events: 10 },
    shipping: { failure: null, failedAttempts: 0 },
  });
  await app.moveAll();
  await record(3);
  const moved = await status();
  expect(moved).toMatchObject({ failure: null, blocks: 1, events: 10, waiting: { events: 3 } });
  expect(moved.bytes).toBeGreaterThan(0);
  expect(moved.waiting.seconds).toBeLessThan(60);
  const known = await metrics();
  const of = (name: string) => known.get(`tidings_clickhouse_${name}`);
  expect([
    of("up"),
    of("behind_events"),
    of("moved_events"),
    of("blocks"),
    of("failed_attempts_total"),
  ]).toEqual([1, 3, 10, 1, 0]);
  expect(of("bytes")).toBe(moved.bytes!);
  const documented = [...monitoring.matchAll(/^\| `(tidings_clickhouse_[a-z_]+)` +\| ClickHouse:/gm)];
  const there = [...known.keys()]
    .filter((name) => name.startsWith("tidings_clickhouse_"))
    .map((name) => name.replace(/\{.*/, ""));
  expect(there.sort()).toEqual(documented.map(([, name]) => name!).sort());
  expect(known.has("tidings_unindexed_events")).toBe(false);
});

test("a failure is in the metrics and the status, with its reason", async () => {
  const refused = await makeStorage("clickhouse");
  const address = refused.clickhouseUrl!;
  using proxy = clickHouseProxy(() => new URL(address).origin);
  refused.clickhouseUrl = proxy.url(address);
  const own = app;
  app = await clickHouseApp(refused, { TIDINGS_METRICS_TOKEN: token });
  await record(10);
  proxy.answer = wrongPassword;
  await expect(app.move()).rejects.toThrow("older-events-unavailable");
  expect(await status()).toMatchObject({
    failure: expect.stringContaining("password is incorrect"),
    bytes: null,
    waiting: { events: 10 },
    shipping: { failure: expect.stringContaining("password is incorrect") },
  });
  const known = await metrics();
  expect(known.get("tidings_clickhouse_up")).toBe(0);
  // The server tries again by itself, too.
  expect(known.get("tidings_clickhouse_failed_attempts_total")).toBeGreaterThan(0);
  proxy.answer = () => undefined;
  await app.move();
  expect(await status()).toMatchObject({ failure: null, shipping: { failure: null } });
  await app[Symbol.asyncDispose]();
  await removeStorage({ ...refused, clickhouseUrl: address });
  app = own;
});

test("the doctor compares blocks and counters with ClickHouse", async () => {
  expect((await doctor()).lines).toEqual(["ok   clickhouse: No events were moved there yet."]);
  await record(20);
  await app.moveAll();
  await record(5, 20);
  const [first] = await app.list("?order=asc&limit=1");
  expect((await app.request(`/api/events/${first!.id}`, { method: "DELETE" })).status).toBe(200);
  expect((await doctor()).lines).toEqual([
    "ok   clickhouse: It has 19 events in 1 blocks, as they were moved.",
    "ok   counters: No fault found.",
  ]);
  await inClickHouse("DELETE FROM events WHERE channel = 'c1' SETTINGS lightweight_deletes_sync = 2");
  const lacking = await doctor();
  expect(lacking.code).toBe(2);
  expect(lacking.lines).toEqual([
    expect.stringMatching(
      /^FAIL clickhouse: Events that the counters know and ClickHouse lacks: \d+, of blocks such as 1 \(/,
    ),
  ]);
  expect(lacking.stdout).toContain("Restore ClickHouse from a backup");
});

test("the doctor has blocks moved again whose events PostgreSQL still has", async () => {
  await record(20);
  await app.move();
  const before = await app.list();
  await inClickHouse("DELETE FROM events WHERE channel = 'c1' SETTINGS lightweight_deletes_sync = 2");
  expect((await doctor()).stdout).toContain("tidings doctor --fix");
  expect((await doctor("--fix")).stderr).toContain("Stop all nodes first");
  await app[Symbol.asyncDispose]();
  const fixed = await doctor("--fix");
  expect(fixed.stdout).toContain("Rebuilt: older.");
  app = await restarted();
  await app.moveAll();
  expect(await app.list()).toEqual(before);
  expect((await doctor()).lines[0]).toContain("It has 20 events in 1 blocks");
});

test("the doctor tells of a ClickHouse that can't be read, or belongs to another database", async () => {
  await record(20);
  await app.moveAll();
  await inPostgres("UPDATE settings SET value = 'other' WHERE name = 'clickhouse_owner'");
  expect((await doctor()).lines).toEqual(["FAIL clickhouse: It has events of another database of Tidings."]);
  const away = await runTidings(["doctor"], {
    ...environment(),
    CLICKHOUSE_URL: "http://127.0.0.1:9/tidings",
  });
  expect(away.stdout).toMatch(/FAIL clickhouse: It can't be read: .+\./);
  expect(away.code).toBe(2);
});

test("all events can move back while a node runs, and PostgreSQL alone then answers the same", async () => {
  await record(40);
  await app.moveAll();
  await record(20, 40);
  await app.move();
  await record(5, 60);
  const [gone] = await app.list("?order=asc&limit=1");
  expect((await app.request(`/api/events/${gone!.id}`, { method: "DELETE" })).status).toBe(200);
  const answers = async (request: (path: string) => Promise<Response>) => {
    // Times of users are looked up some seconds after a removal.
    await until(async () => !(await (await request("/api/users")).text()).includes('SeenAt":null'));
    const paths = [
      "/api/events",
      "/api/events?q=n=3",
      "/api/events?q=user:u2&limit=3",
      "/api/stats?split=name",
      "/api/users",
    ];
    const texts = await Promise.all(
      paths.map(async (path) => (await (await request(path)).text()).replace(/"(?:from|to)":"[^"]+"/g, "")),
    );
    return texts;
  };
  await until(async () => (await app.list()).length === 64);
  let before = await answers(app.request);
  const { CLICKHOUSE_URL, ...alone } = environment() as Record<string, string>;
  expect(CLICKHOUSE_URL).toBeDefined();
  await expect(startServer(alone)).rejects.toThrow("tidings leave-clickhouse");
  // Nodes that ship let go when they are asked.
  let isOver = false;
  const meanwhile = (async () => {
    for (let n = 2; !isOver; n++) {
      const [oldest] = await app.list("?order=asc&limit=1");
      await app.request(`/api/events/${oldest!.id}`, { method: "DELETE" });
      await until(async () => (await app.list()).length === 65 - n);
      before = await answers(app.request);
      await app.store.events.indexBlocks(async () => {}, Date.now() + 10 * 3_600_000).catch(() => {});
      expect(await answers(app.request)).toEqual(before);
    }
  })();
  const left = await runTidings(["leave-clickhouse"], environment());
  isOver = true;
  await meanwhile;
  expect([left.code, left.stdout]).toEqual([0, expect.stringContaining("PostgreSQL has all events")]);
  expect(await answers(app.request)).toEqual(before);
  // A node that still has the setting moves nothing, and says why.
  await expect(app.move()).rejects.toThrow("were moved back");
  expect((await status()).shipping.failure).toContain("were moved back");
  expect(await answers(app.request)).toEqual(before);
  await expect(app.restart()).rejects.toThrow("Remove CLICKHOUSE_URL");
  const server = await startServer(alone);
  const after = await answers((path) => fetch(server.address + path, { headers: { "x-api-key": app.key } }));
  expect(after).toEqual(before);
  const checked = await runTidings(["doctor"], alone);
  expect(checked.stdout).not.toContain("FAIL");
  await server.end("SIGTERM");
  app = await clickHouseApp({ ...storage, clickhouseUrl: null }, {}, app.key);
});

/** The server again, on the same data. */
async function restarted(): Promise<ClickHouseApp> {
  const { key } = app;
  return clickHouseApp(storage, { TIDINGS_METRICS_TOKEN: token }, key);
}
