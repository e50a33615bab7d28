// @engines sqlite, postgres
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { checkDatabase } from "../doctor/check-database.ts";
import { openSettings } from "../notifications/destinations.ts";
import { expectConsistent } from "../testing/consistency.ts";
import {
  engine,
  environmentOf,
  removeStorage,
  type TestStorage,
  testSecretKey,
  testSecrets,
} from "../testing/engine.ts";
import { testDatabase } from "../testing/postgres.ts";
import { runTidings, startServer } from "../testing/server-process.ts";
import { until } from "../testing/until.ts";

const released = join(import.meta.dir, "../testing/released");
/** The key of the databases, which has all scopes. */
const headers = {
  "x-api-key": "tdg_sk_OzIXnT3tLYXuSCFFtTosxXJKK3vQOn2agrOh",
  "content-type": "application/json",
};
/** What each of them has: 150 payments at odd hours and 150 logins at even ones, and one event of the server's time. */
const events = 301;

/** SQLite's file, or what pg_dump wrote of a schema, with rows as INSERT. */
const ending = engine === "sqlite" ? ".db.gz" : ".sql.gz";

const endpoint = "https://push.example/1";
const keys = { p256dh: "public", auth: "secret" };
const webhook = { url: "https://example.com/hook", secret: "whsec_" };

/** Adds a browser of the account and a destination of the project, sealed as each version did. */
const addDestinations = [
  `INSERT INTO destinations (id, account_id, kind, label, address, secret, enabled, created_at)
    SELECT 'd1', id, 'browser', 'Firefox', '${endpoint}',
      '${testSecrets.seal(JSON.stringify(keys), `destination ${endpoint}`)}', 1, 5 FROM accounts`,
  `INSERT INTO project_destinations (id, project_id, kind, name, settings, enabled, delivered_at, failing_since, failure,
      created_at)
    VALUES ('d2', 1, 'webhook', 'Orders', '${testSecrets.seal(JSON.stringify(webhook), "destination d2")}', 0, 2, 3,
      'The webhook answered 500.', 6)`,
];

async function query({ dataDirectory, databaseUrl }: TestStorage, sql: string) {
  if (databaseUrl === null) {
    using database = new Database(join(dataDirectory, "tidings.db"));
    return database.query(sql).all();
  }
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query(sql);
  await client.end();
  return rows;
}

async function restored(name: string): Promise<TestStorage & { remove: () => Promise<void> }> {
  const dataDirectory = mkdtempSync(join(tmpdir(), "tidings-upgrade-"));
  const stored = Bun.gunzipSync(readFileSync(join(released, name)));
  if (engine === "sqlite") {
    writeFileSync(join(dataDirectory, "tidings.db"), stored);
    const storage = { dataDirectory, databaseUrl: null };
    return { ...storage, remove: () => removeStorage(storage) };
  }
  const { url, drop } = await testDatabase();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(Buffer.from(stored).toString());
  await client.end();
  const remove = async () => {
    rmSync(dataDirectory, { recursive: true });
    await drop();
  };
  return { dataDirectory, databaseUrl: url, remove };
}

for (const name of readdirSync(released).filter((name) => name.endsWith(ending))) {
  test(`a database of ${name} is upgraded, after a snapshot, and works`, async () => {
    const storage = await restored(name);
    const { dataDirectory } = storage;
    for (const sql of addDestinations) await query(storage, sql);
    const environment = { ...environmentOf(storage), TIDINGS_SECRET_KEY: testSecretKey };
    // A server of the older version could be running.
    const early = await runTidings(["project", "list"], environment);
    expect([early.code, early.stderr]).toEqual([
      1,
      expect.stringContaining("The database is from an older version of Tidings (schema 1; "),
    ]);
    const server = await startServer(environment);
    const get = async (path: string) => {
      const response = await fetch(server.address + path, { headers });
      return { status: response.status, body: (await response.json()) as Record<string, unknown[]> };
    };
    expect((await get("/api/events")).body.events).toHaveLength(events);
    const q = encodeURIComponent('amount>200 name:"Payment received" channel:payments');
    // Amounts from 202 on that are even and no multiple of three.
    expect((await get(`/api/events?q=${q}&limit=1000`)).body.events).toHaveLength(33);
    expect((await get("/api/events/rejected")).body.rejected).toHaveLength(1);
    expect((await get("/api/stats?metric=sum&tag=amount&from=0&by=week")).status).toBe(200);
    await until(async () => (await get("/api/users?sort=events")).body.users!.length === 17);
    const body = JSON.stringify({ channel: "payments", name: "After the upgrade" });
    expect((await fetch(`${server.address}/api/events`, { method: "POST", headers, body })).status).toBe(201);
    expect((await server.end("SIGTERM")).code).toBe(0);
    expect(await expectConsistent(storage)).toBe(events + 1);
    const destinations = (await query(storage, "SELECT * FROM destinations ORDER BY id DESC")) as {
      id: string;
      address: string | null;
      settings: string | null;
    }[];
    expect(destinations).toMatchObject([
      { id: "d2", account_id: null, project_id: 1, name: "Orders", failure: "The webhook answered 500." },
      { id: "d1", project_id: null, kind: "browser", name: "Firefox", enabled: 1, failing_since: null },
      { kind: "email", name: "owner@example.com", address: "owner@example.com" },
      { kind: "dashboard", settings: null },
    ]);
    expect(destinations.slice(0, 2).map((row) => openSettings(row, testSecrets))).toEqual([
      webhook,
      { address: endpoint, ...keys },
    ]);
    if (engine === "postgres") return storage.remove();
    expect(checkDatabase(dataDirectory).filter(({ state }) => state !== "ok")).toEqual([]);
    const snapshot = readdirSync(dataDirectory).find((file) => /^tidings\.db\.before-\d+$/.test(file));
    expect(snapshot).toBeDefined();
    await storage.remove();
  });
}
