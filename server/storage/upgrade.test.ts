// @engines sqlite, postgres
import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { checkDatabase } from "../doctor/check-database.ts";
import { expectConsistent } from "../testing/consistency.ts";
import { engine, environmentOf, removeStorage, type TestStorage, testSecretKey } from "../testing/engine.ts";
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
    if (engine === "postgres") return storage.remove();
    expect(checkDatabase(dataDirectory).filter(({ state }) => state !== "ok")).toEqual([]);
    const snapshot = readdirSync(dataDirectory).find((file) => /^tidings\.db\.before-\d+$/.test(file));
    expect(snapshot).toBeDefined();
    await storage.remove();
  });
}
