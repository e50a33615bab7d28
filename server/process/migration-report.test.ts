// @engines sqlite, postgres
// @long postgres
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { pino } from "pino";
import { serve } from "../serve.ts";
import { readMigrations } from "../storage/migrations.ts";
import { controlEngine, removeStorage } from "../testing/engine.ts";
import { preparedConfig, testPasswords } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import { MigrationReport } from "./migration-report.ts";
import { migrationsDirectories } from "./program-files.ts";

const directory = mkdtempSync(join(tmpdir(), "tidings-migration-"));
afterAll(() => rmSync(directory, { recursive: true }));

/** Counts for some seconds on SQLite; on PostgreSQL it waits for the lock that the test holds. */
const slowMigration =
  controlEngine === "sqlite"
    ? "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 6000000) SELECT count(*) FROM numbers"
    : "ALTER TABLE settings ADD COLUMN added text";

async function holdLock(url: string | null): Promise<() => Promise<void>> {
  if (url === null) return async () => {};
  const client = new pg.Client({ connectionString: url, application_name: "somebody" });
  await client.connect();
  await client.query("BEGIN; LOCK TABLE settings IN ACCESS SHARE MODE");
  return () => client.end();
}

test("a slow migration is told of by /readyz, pages and the log, and /healthz answers", async () => {
  const newest = readMigrations(controlEngine).at(-1)!.number;
  const name = `${newest + 1}-slow.sql`;
  writeFileSync(join(directory, name), slowMigration);
  const { config } = await preparedConfig();
  const release = await holdLock(config.databaseUrl);
  const lines: { step?: string; msg: string }[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  let address = "";
  const starting = serve(config, {
    passwords: testPasswords,
    log,
    migrations: [...migrationsDirectories(controlEngine), directory],
    onListening: (listening) => {
      address = listening;
    },
  });
  let detail = "";
  await until(async () => {
    const response = await fetch(`${address}/readyz`);
    const { type, detail: said } = (await response.json()) as { type: string; detail: string };
    detail = said;
    return response.status === 503 && type === "/problems/migrating" && said.includes(name);
  });
  expect(detail).toMatch(
    `The database is being upgraded from schema ${newest} to ${newest + 1}: step ${controlEngine === "sqlite" ? "2 of 2" : "1 of 1"}, ${name}, `,
  );
  expect((await fetch(`${address}/healthz`)).status).toBe(200);
  const page = await fetch(`${address}/`, { headers: { accept: "text/html" } });
  expect([page.status, page.headers.get("refresh")]).toEqual([503, "2"]);
  expect(page.headers.get("x-content-type-options")).toBe("nosniff");
  expect(page.headers.get("referrer-policy")).toBe("same-origin");
  expect(await page.text()).toContain("Tidings is upgrading its database");
  const told = () => lines.filter(({ step }) => step === name).map(({ msg }) => msg);
  // On SQLite, a fast machine can have ended it before a line is due.
  if (controlEngine === "postgres") {
    await until(() => told().some((msg) => /waiting for a lock of process \d+ \(somebody\)/.test(msg)));
    expect(detail).not.toContain("somebody");
  }
  await release();
  const running = await starting;
  expect((await fetch(`${running.address}/readyz`)).status).toBe(200);
  await running.stop();
  await removeStorage(config);
});

test("on a terminal, a line of the log takes the place of the bar", async () => {
  let written = "";
  const report = new MigrationReport(
    () => {},
    true,
    (text) => {
      written += text;
    },
  );
  report.observe({ from: 1, to: 2, step: "0002-a.sql", number: 1, of: 2, share: 0.5, detail: null });
  await until(() => written.includes("\r\u001b[KUpgrading the database [######----"));
  report.hideBar();
  expect(written).toEndWith(" so far\r\u001b[K");
  report.observe(null);
  expect(written).toEndWith(" so far\r\u001b[K");
});
