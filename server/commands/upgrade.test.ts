// @long
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkLeftovers } from "../doctor/check-leftovers.ts";
import { migrationsDirectories } from "../process/program-files.ts";
import { type TriedUpgrade, tryUpgrade } from "../storage/sqlite/try-upgrade.ts";
import { runTidings, startServer } from "../testing/server-process.ts";

/** A data directory of the first released schema. */
let old: string;
beforeAll(() => {
  old = mkdtempSync(join(tmpdir(), "tidings-upgrade-check-"));
  const released = join(import.meta.dir, "../testing/released/schema-1.db.gz");
  writeFileSync(join(old, "tidings.db"), Bun.gunzipSync(readFileSync(released)));
});
afterAll(() => rmSync(old, { recursive: true }));

const schemaOf = (directory: string) => {
  using database = new Database(join(directory, "tidings.db"));
  return database.query("PRAGMA user_version").values()[0]![0];
};

test("an upgrade is tried on a copy: its steps, its space, what it rebuilds, and how to go back", async () => {
  const environment = { TIDINGS_DATA: old };
  const { code, stdout, stderr } = await runTidings(["upgrade", "--check", "--json"], environment);
  expect([code, stderr]).toEqual([0, ""]);
  const tried: TriedUpgrade = JSON.parse(stdout);
  expect(tried).toMatchObject({ from: 1, bytesBefore: expect.any(Number) });
  expect(tried.steps[0]!.name).toBe("snapshot of the database");
  expect(tried.steps.map(({ name }) => name)).toContain("0003-columns.sql");
  expect(tried.extraBytes).toBeGreaterThanOrEqual(tried.snapshotBytes);
  expect(tried.snapshotBytes).toBeGreaterThan(0);
  expect(tried.rebuilds.map(({ what }) => what)).toContain("projects whose list of users is counted");
  const text = (await runTidings(["upgrade", "--check"], environment)).stdout;
  expect(text).toContain("succeeds on a copy of the database");
  expect(text).toContain('run "tidings rollback"');
  expect(schemaOf(old)).toBe(1);
  expect(readdirSync(old).filter((name) => !name.startsWith("tidings.db"))).toEqual([]);
});

test("a migration that fails is named, and nothing was changed", async () => {
  const [common, own] = migrationsDirectories("sqlite").map((directory, index) => {
    const copy = join(mkdtempSync(join(tmpdir(), "tidings-migrations-")), String(index));
    cpSync(directory, copy, { recursive: true });
    return copy;
  }) as [string, string];
  writeFileSync(
    join(common, "9000-broken.sql"),
    "CREATE TABLE half (id integer); INSERT INTO nowhere VALUES (1);",
  );
  const scratch = mkdtempSync(join(old, "scratch-"));
  try {
    const failure = await tryUpgrade(old, scratch, [common, own]).catch(({ message }: Error) => message);
    expect(failure).toContain("failed in migration 9000-broken.sql");
    // The copy is deleted, so the message doesn't say what to do with it.
    expect(failure).not.toContain(scratch);
    expect(schemaOf(old)).toBe(1);
    expect(schemaOf(scratch)).toBe(1);
  } finally {
    for (const directory of [scratch, join(common, ".."), join(own, "..")])
      rmSync(directory, { recursive: true });
  }
});

test("without --check, without a database and without need, the command says what to do", async () => {
  const run = (args: string[], dataDirectory: string) =>
    runTidings(["upgrade", ...args], { TIDINGS_DATA: dataDirectory });
  expect(await run([], old)).toMatchObject({ code: 1, stderr: expect.stringContaining("upgrade --check") });
  const empty = mkdtempSync(join(tmpdir(), "tidings-empty-"));
  expect(await run(["--check"], empty)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("There is no database in"),
  });
  const server = await startServer({ TIDINGS_DATA: empty });
  expect(await run(["--check"], empty)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("needs no upgrade"),
  });
  await server.end("SIGTERM");
  rmSync(empty, { recursive: true });
});

test("the doctor lists what upgrades and restores left, and when it may go", () => {
  const directory = mkdtempSync(join(tmpdir(), "tidings-leftovers-"));
  expect(checkLeftovers(directory)).toMatchObject({ state: "ok", detail: expect.stringContaining("none") });
  writeFileSync(join(directory, "tidings.db.before-31"), "x".repeat(2_000_000));
  expect(checkLeftovers(directory)).toMatchObject({
    state: "ok",
    detail: expect.stringContaining("tidings.db.before-31 (2 MB): the state before the upgrade to schema 31"),
  });
  const replaced = join(directory, "replaced-20260101T000000000Z");
  mkdirSync(replaced);
  expect(checkLeftovers(directory).state).toBe("ok");
  utimesSync(replaced, 0, 0);
  expect(checkLeftovers(directory)).toMatchObject({
    state: "warning",
    detail: expect.stringContaining("what a restore replaced"),
  });
  rmSync(directory, { recursive: true });
});
