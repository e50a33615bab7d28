import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../testing/postgres.ts";
import { runTidings, startServer } from "../../testing/server-process.ts";
import { until } from "../../testing/until.ts";
import { databaseFile, migrate, openForReading, openForWriting } from "./open.ts";

const place = mkdtempSync(join(tmpdir(), "tidings-open-"));
const directory = join(place, "deep/data");
afterEach(() => rmSync(place, { recursive: true, force: true }));

function change(sql: string): void {
  const database = new Database(databaseFile(directory));
  database.run(sql);
  database.close();
}

const migrationsDirectory = join(import.meta.dir, "migrations");
const migrationNames = readdirSync(migrationsDirectory).sort();
const newest = Number.parseInt(migrationNames.at(-1)!, 10);

test("a database is made with its directory, for its owner's eyes only", () => {
  migrate(directory);
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  const database = openForReading(databaseFile(directory));
  expect(database.query("PRAGMA user_version").get()).toEqual({ user_version: newest });
  expect(database.query("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
  expect(() => database.run("DELETE FROM events")).toThrow("readonly");
  database.close();
});

test("a database that is current is left as it is", () => {
  migrate(directory);
  change("INSERT INTO settings VALUES ('a', 'b')");
  migrate(directory);
  const database = openForReading(databaseFile(directory));
  expect(database.query("SELECT value FROM settings").all()).toEqual([{ value: "b" }]);
  database.close();
  expect(existsSync(`${databaseFile(directory)}.before-1`)).toBe(false);
});

test("events without a user that were indexed before they had a token for that are found by it", () => {
  mkdirSync(directory, { recursive: true });
  const before = openForWriting(databaseFile(directory));
  for (const name of migrationNames.slice(0, 5))
    before.run(readFileSync(join(migrationsDirectory, name), "utf8"));
  before.close();
  const row = (body: object) => `'${JSON.stringify({ ...body, notify: false, tags: {} }).slice(1, -1)}'`;
  change(`PRAGMA user_version = 5;
    INSERT INTO events VALUES (1, 7, x'01', NULL, ${row({ name: "n", channelId: "c", userId: "" })}),
                              (2, 7, x'02', NULL, ${row({ name: "n", channelId: "c", userId: "u" })});
    INSERT INTO events_index (rowid, tokens) VALUES (1, '7a 7cc 7en 7wn'), (2, '7a 7cc 7en 7wn 7uu')`);
  migrate(directory);
  const database = openForReading(databaseFile(directory));
  const found = (token: string) =>
    database.query("SELECT rowid FROM events_index WHERE events_index MATCH ?").values(token).flat();
  expect(["7o", "7cc", "7uu"].map(found)).toEqual([[1], [1, 2], [2]]);
  database.close();
});

test("a database of a newer program is refused with a sentence that says what to do, and left alone", async () => {
  migrate(directory);
  change("PRAGMA user_version = 99");
  expect(() => migrate(directory)).toThrow(
    new RegExp(
      `written by a newer version of Tidings \\(schema 99; this version supports up to ${newest}\\).*Run that version`,
    ),
  );
  const { code, stderr } = await runTidings(["key", "create", "--project", "p", "--name", "n"], {
    TIDINGS_DATA: directory,
  });
  expect(code).toBe(1);
  expect(stderr).toContain("written by a newer version of Tidings");
  const database = openForReading(databaseFile(directory));
  expect(database.query("PRAGMA user_version").get()).toEqual({ user_version: 99 });
  database.close();
});

test("a process that waited while another one migrated finds it done", async () => {
  // Both have seen an empty database, and wait for the lock that is held here.
  mkdirSync(directory, { recursive: true });
  const holder = openForWriting(databaseFile(directory));
  holder.run("BEGIN IMMEDIATE");
  const create = (name: string) => runTidings(["project", "create", name], { TIDINGS_DATA: directory });
  const ended = Promise.all([create("a"), create("b"), create("c")]);
  await Bun.sleep(1_500);
  holder.run("ROLLBACK");
  holder.close();
  expect((await ended).map(({ code, stdout, stderr }) => [code, stdout, stderr])).toEqual([
    [0, "a\n", ""],
    [0, "b\n", ""],
    [0, "c\n", ""],
  ]);
}, 30_000);

test("several processes that start on an empty directory at once make one database", async () => {
  const account = (n: number) =>
    runTidings(
      ["account", "create", "--email", `a${n}@example.com`, "--password-stdin"],
      { TIDINGS_DATA: directory },
      "long enough password",
    );
  const ended = await Promise.all(Array.from({ length: 6 }, (_, n) => account(n)));
  expect(ended.map(({ stderr, code }) => (code === 0 ? "made" : stderr))).toEqual(Array(6).fill("made"));
  const database = openForReading(databaseFile(directory));
  expect(database.query("SELECT count(*) AS n FROM accounts").get()).toEqual({ n: 6 });
  // One of them was first, and owns the one project.
  expect(database.query("SELECT role, count(*) AS n FROM members GROUP BY role ORDER BY role").all()).toEqual(
    [
      { role: "member", n: 5 },
      { role: "owner", n: 1 },
    ],
  );
  database.close();
}, 30_000);

/** A database as the version before this one left it, with a project in it. */
function makeOlder(): void {
  mkdirSync(directory, { recursive: true });
  const database = openForWriting(databaseFile(directory));
  for (const name of migrationNames.slice(0, -1)) {
    database.run(readFileSync(join(migrationsDirectory, name), "utf8"));
  }
  database.run(`PRAGMA user_version = ${newest - 1}`);
  database.run("INSERT INTO projects (slug, name, created_at) VALUES ('old', 'Old', 1)");
  database.close();
}

test("a server that migrates says that it is up, tells of it in the log, and leaves a snapshot for its owner's eyes only", async () => {
  makeOlder();
  const holder = openForWriting(databaseFile(directory));
  holder.run("BEGIN IMMEDIATE");
  const port = await freePort();
  const starting = startServer({ TIDINGS_DATA: directory, PORT: String(port), TIDINGS_LOG: "info" });
  // It waits for the lock meanwhile, for four seconds at most.
  await until(
    async () => (await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null))?.status === 200,
  );
  holder.run("ROLLBACK");
  holder.close();
  const server = await starting;
  const { stdout } = await server.end("SIGTERM");
  const lines = stdout.trimEnd().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
    "migrating the database",
    "saved a snapshot of the database",
    "migrated the database",
    "open setupLink to create your account",
    expect.stringContaining("is listening on http://127.0.0.1:"),
    expect.stringContaining("stopping"),
    "stopped",
  ]);
  const copy = `${databaseFile(directory)}.before-${newest}`;
  expect(JSON.parse(lines[1]!)).toMatchObject({ file: copy, ms: expect.any(Number) });
  expect(JSON.parse(lines[2]!)).toMatchObject({ from: newest - 1, to: newest, ms: expect.any(Number) });
  expect(statSync(copy).mode & 0o777).toBe(0o600);
  const snapshot = openForReading(copy);
  expect(snapshot.query("SELECT name FROM projects").all()).toEqual([{ name: "Old" }]);
  snapshot.close();
}, 20_000);

test("whatever the directory, its files are for their owner's eyes only, also those that were there before", async () => {
  mkdirSync(directory, { recursive: true, mode: 0o755 });
  const modes = () =>
    Object.fromEntries(
      readdirSync(directory).map((name) => [name, statSync(join(directory, name)).mode & 0o777]),
    );
  const all = {
    "tidings.db": 0o600,
    "tidings.db-wal": 0o600,
    "tidings.db-shm": 0o600,
    "tidings.db-open": 0o600,
  };
  const first = await startServer({ TIDINGS_DATA: directory });
  expect(modes()).toEqual(all);
  await first.end("SIGKILL");
  for (const name of readdirSync(directory)) chmodSync(join(directory, name), 0o644);
  const second = await startServer({ TIDINGS_DATA: directory });
  expect(modes()).toEqual(all);
  await second.end("SIGTERM");
}, 20_000);
