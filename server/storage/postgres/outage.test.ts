// @engines postgres
// @long
/**
 * A database that is down, slow, out of connections or read-only: what clients get, and that the server recovers by
 * itself.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { startDelayedLink } from "../../testing/delayed-link.ts";
import { makeTables } from "../../testing/engine.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";
import { postgresProxy } from "../../testing/postgres-proxy.ts";
import { startServer } from "../../testing/server-process.ts";
import { prepare, testConfig, testPassword } from "../../testing/test-app.ts";
import { until } from "../../testing/until.ts";

/** A caller hears of it within this time, which is less than a request may take. */
const answerMs = 9_500;

let postgres: TestPostgres;
let url: string;
let database: string;
let directory: string;
let key: string;
let server: Awaited<ReturnType<typeof startServer>>;
let cookie: string;

beforeAll(async () => {
  postgres = await startPostgres({ durable: true });
  ({ url } = await postgres.database(makeTables));
  database = new URL(url).pathname.slice(1);
  directory = mkdtempSync(join(tmpdir(), "tidings-outage-"));
  const config = await testConfig({ dataDirectory: directory, databaseUrl: url });
  ({ secret: key } = await prepare(config));
  server = await startServer({ TIDINGS_DATA: directory, DATABASE_URL: url, DATABASE_CONNECTIONS: "4" });
  cookie = await signIn();
});
afterAll(async () => {
  await server?.end("SIGTERM");
  await postgres?.remove();
  rmSync(directory, { recursive: true, force: true });
});

const get = (path: string, headers: Record<string, string> = { cookie }) =>
  fetch(server.address + path, { headers });

async function signIn(): Promise<string> {
  const response = await fetch(`${server.address}/api/auth/sign-in/email`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: server.address },
    body: JSON.stringify({ email: "owner@example.com", password: testPassword }),
  });
  if (!response.ok) throw new Error(`Signing in answered ${response.status}: ${await response.text()}`);
  return response.headers.getSetCookie()[0]!.split(";")[0]!;
}

async function asAdmin<Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: postgres.adminUrl(database) });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Ends all of the server's connections, as a restart of the database does. */
const disconnect = (client: pg.Client) =>
  client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'tidings'");

/** Expects /readyz to say in time that the server is not ready, and why. */
async function expectNotReady(why: string): Promise<void> {
  // Its last result is cached for a quarter of a second.
  await until(async () => (await get("/readyz")).status !== 200);
  const startMs = performance.now();
  const response = await get("/readyz");
  expect(performance.now() - startMs).toBeLessThan(2_500);
  expect([response.status, ((await response.json()) as { detail: string }).detail]).toEqual([
    503,
    expect.stringContaining(why),
  ]);
}

/** Expects everything that needs the database to return 503 with Retry-After, in time. */
async function expectUnavailable(paths = ["/api/me", "/api/keys", "/api/projects", "/api/auth/get-session"]) {
  const startMs = performance.now();
  const answers = await Promise.all([
    ...paths.map((path) => get(path)),
    get("/api/channels", { "x-api-key": key }),
  ]);
  expect(performance.now() - startMs).toBeLessThan(answerMs);
  for (const response of answers) {
    expect([response.url, response.status]).toEqual([response.url, 503]);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await response.json()).toMatchObject({ ok: false, type: "/problems/storage-unavailable" });
  }
  expect((await get("/healthz")).status).toBe(200);
}

async function untilWell(withinMs = 8_000): Promise<void> {
  const until = Date.now() + withinMs;
  for (;;) {
    const statuses = await Promise.all([
      get("/api/me"),
      get("/readyz"),
      get("/api/channels", { "x-api-key": key }),
    ]);
    if (statuses.every(({ status }) => status === 200)) return;
    if (Date.now() > until) throw new Error(`Still ${statuses.map(({ status }) => status).join(", ")}`);
    await Bun.sleep(100);
  }
}

/** The path of each route that only reads, with its parameters filled in. */
async function readPaths(): Promise<string[]> {
  const { paths } = (await (await get("/openapi.json")).json()) as { paths: Record<string, object> };
  const read = Object.keys(paths).filter((path) => "get" in paths[path]!);
  const query: Record<string, string> = {
    "/api/search/alternatives": "?q=user=u1",
    "/api/search/complete": "?q=pay",
    "/api/stats": "?split=name&users=true",
    "/api/users": "?limit=1000",
  };
  return [
    ...read.map((path) => path.replace(/\{\w+\}/g, Bun.randomUUIDv7()) + (query[path] ?? "")),
    "/api/events?q=pay*&limit=50",
    "/api/auth/get-session",
  ];
}

/**
 * Sends requests to every read route while `work` runs. Returns those without a response, or with one that does not say
 * what is wrong.
 */
async function failuresWhile(work: () => Promise<void>): Promise<string[]> {
  const failures = new Set<string>();
  const paths = await readPaths();
  let isOver = false;
  const as: Record<string, string>[] = [{ cookie }, { "x-api-key": key }];
  const readers = Array.from({ length: 6 }, async (_, reader) => {
    for (let at = reader * 7; !isOver; at++) {
      const path = paths[at % paths.length]!;
      const headers = as[reader % as.length]!;
      try {
        const signal = AbortSignal.timeout(path.endsWith("/stream") ? 50 : answerMs);
        const response = await fetch(server.address + path, { headers, signal });
        if (response.status >= 500 && response.status !== 503) failures.add(`${path} ${response.status}`);
        // A listing that has begun is disconnected.
        await response.text().catch(() => "");
      } catch (error) {
        if (!path.endsWith("/stream")) failures.add(`${path} ${(error as Error).message}`);
      }
    }
  });
  await work();
  isOver = true;
  await Promise.all(readers);
  return [...failures];
}

describe("the server stays up and recovers by itself", () => {
  test("if the database is killed and started again", async () => {
    await untilWell();
    await postgres.stop("immediate");
    // The cached API key has expired by then.
    await Bun.sleep(1_100);
    await expectUnavailable();
    await expectNotReady("does not respond");
    await postgres.start();
    await untilWell();
  });

  test("if every connection is ended", async () => {
    await asAdmin(disconnect);
    await untilWell();
  });

  test("if no connection is left", async () => {
    await asAdmin(async (client) => {
      await client.query("ALTER ROLE tidings CONNECTION LIMIT 0");
      await disconnect(client);
    });
    await Bun.sleep(1_100);
    await expectUnavailable();
    await asAdmin((client) => client.query("ALTER ROLE tidings CONNECTION LIMIT -1"));
    await untilWell();
  });

  test("if statements do not end", async () => {
    await asAdmin(async (client) => {
      await client.query("BEGIN");
      await client.query(
        "LOCK TABLE tidings.events, tidings.sessions, tidings.keys, tidings.members IN ACCESS EXCLUSIVE MODE",
      );
      await Bun.sleep(1_100);
      await expectNotReady("did not respond within 2 seconds");
      await expectUnavailable();
      await client.query("ROLLBACK");
    });
    await untilWell();
  });

  test("if it is a standby for a while", async () => {
    const set = (value: "on" | "off") =>
      asAdmin(async (client) => {
        await client.query(`ALTER ROLE tidings SET default_transaction_read_only = ${value}`);
        await disconnect(client);
      });
    await using _ = { [Symbol.asyncDispose]: () => set("off") };
    await set("on");
    const make = () =>
      fetch(`${server.address}/api/keys`, {
        method: "POST",
        headers: { cookie, origin: server.address, "content-type": "application/json" },
        body: JSON.stringify({ name: "n" }),
      });
    let answer = await make();
    // The first requests can get connections that are being closed.
    for (let n = 0; n < 5; n++) answer = await make();
    expect(answer.status).toBe(503);
    await expect(signIn()).rejects.toThrow("Signing in answered 503");
    await expectNotReady("read-only or a standby");
    await set("off");
    await untilWell();
    expect((await make()).status).toBe(201);
  });

  test("if every read route meets a killed database, and one that does not answer", async () => {
    const failures = await failuresWhile(async () => {
      await Bun.sleep(300);
      await postgres.stop("immediate");
      await Bun.sleep(1_500);
      await postgres.start();
      await untilWell();
      await asAdmin(async (client) => {
        const { rows } = await client.query<{ tables: string }>(
          "SELECT string_agg(format('%I.%I', schemaname, tablename), ', ') AS tables FROM pg_tables WHERE schemaname = 'tidings'",
        );
        await client.query("BEGIN");
        await client.query(`LOCK TABLE ${rows[0]!.tables} IN ACCESS EXCLUSIVE MODE`);
        await Bun.sleep(4_000);
        await client.query("ROLLBACK");
      });
      await untilWell(15_000);
    });
    expect(failures).toEqual([]);
  });
});

test("an outage logs two lines, however many requests fail", async () => {
  const own = await startServer({ TIDINGS_DATA: directory, DATABASE_URL: url, TIDINGS_LOG: "warn" });
  const lines = () =>
    own.stdout
      .split("\n")
      .filter((line) => line.endsWith("}"))
      .map((line) => JSON.parse(line) as { level: number; msg: string })
      .filter(({ level }) => level >= 40);
  await postgres.stop("immediate");
  const statuses = await Promise.all(
    Array.from(
      { length: 50 },
      async () => (await fetch(`${own.address}/api/channels`, { headers: { "x-api-key": key } })).status,
    ),
  );
  expect(statuses).toEqual(new Array(50).fill(503));
  await postgres.start();
  await until(() => lines().length > 1);
  expect(lines()).toMatchObject([
    { level: 50, msg: expect.stringContaining("outage started") },
    { level: 40, msg: expect.stringContaining("is over"), failedRequests: 50, seconds: expect.any(Number) },
  ]);
  expect((await own.end("SIGTERM")).code).toBe(0);
  await untilWell();
});

test("after an outage, the connection that listens comes back over a slow network", async () => {
  const { port } = new URL(url);
  const link = await startDelayedLink({ host: "127.0.0.1", port: Number(port) }, "127.0.0.1", 200);
  const slowUrl = Object.assign(new URL(url), { port: link.port }).href;
  const own = await startServer({ TIDINGS_DATA: directory, DATABASE_URL: slowUrl });
  await postgres.stop("immediate");
  // Longer than a connection may be silent (feed.ts).
  await Bun.sleep(10_500);
  await postgres.start();
  await until(() =>
    asAdmin(async (client) => {
      const { rowCount } = await client.query(
        `SELECT FROM pg_stat_activity
         WHERE application_name LIKE 'tidings %' || $1 AND (query LIKE 'LISTEN%' OR query = 'SELECT')`,
        [` ${own.pid}`],
      );
      return rowCount === 1;
    }),
  );
  const { code, stderr } = await own.end("SIGTERM");
  expect([code, stderr]).toEqual([0, ""]);
  link.close();
  await untilWell();
});

test("a server whose database goes down at any step of its start waits and says so", async () => {
  // The statements of a start, once the tables exist.
  const steps = ["tidings_migrations", "ORDER BY arrival DESC", '"settings"', "LISTEN", '"accounts"'];
  for (const step of steps) {
    using proxy = await postgresProxy(url);
    let isFirst = true;
    proxy.onStatement = (statement) => {
      if (!isFirst || !statement.includes(step)) return;
      isFirst = false;
      proxy.disconnect();
      setTimeout(proxy.reconnect, 300);
    };
    const own = await startServer({ TIDINGS_DATA: directory, DATABASE_URL: proxy.url, TIDINGS_LOG: "warn" });
    expect([step, isFirst]).toEqual([step, false]);
    await until(async () => (await fetch(`${own.address}/readyz`)).status === 200);
    expect((await own.end("SIGTERM")).code).toBe(0);
    if (step !== "LISTEN") expect(own.stdout).toContain("waiting for the database");
  }
});

test("a server that starts before its database waits for it and says so", async () => {
  await postgres.stop("fast");
  const { promise: isWaiting, resolve } = Promise.withResolvers<void>();
  const starting = startServer(
    { TIDINGS_DATA: directory, DATABASE_URL: url, PORT: "0", TIDINGS_LOG: "warn" },
    (stdout) => stdout.includes("ECONNREFUSED") && resolve(),
  );
  await isWaiting;
  await postgres.start();
  const other = await starting;
  expect((await fetch(`${other.address}/readyz`)).status).toBe(200);
  expect(other.stdout).toContain("waiting for the database: connect ECONNREFUSED");
  expect(other.stdout).not.toContain(new URL(url).password);
  expect((await other.end("SIGTERM")).code).toBe(0);
  await untilWell();
});
