import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { migrationsDirectories } from "../../process/program-files.ts";
import { testWatch } from "../../testing/engine.ts";
import { runTidings, startServer } from "../../testing/server-process.ts";
import { type MigrationProgress, readMigrations } from "../migrations.ts";
import { Damage } from "./damage.ts";
import { migrateAside } from "./migrate-aside.ts";
import { OldSnapshots } from "./old-snapshots.ts";
import { databaseFile, migrate, openForReading, openForWriting } from "./open.ts";

const place = mkdtempSync(join(tmpdir(), "tidings-open-"));
const directory = join(place, "deep/data");
afterEach(() => rmSync(place, { recursive: true, force: true }));

function change(sql: string): void {
  const database = new Database(databaseFile(directory));
  database.run(sql);
  database.close();
}

const newest = readMigrations("sqlite").at(-1)!.number;

test("a database is created with its directory, readable only by the owner", () => {
  migrate(directory);
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  const database = openForReading(databaseFile(directory));
  expect(database.query("PRAGMA user_version").get()).toEqual({ user_version: newest });
  expect(database.query("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
  expect(() => database.run("DELETE FROM events")).toThrow("readonly");
  database.close();
});

test("a process that was killed before the database had a log leaves one that can be opened", () => {
  mkdirSync(directory, { recursive: true });
  const [half, file] = [join(place, "half.db"), databaseFile(directory)];
  const writing = new Database(half, { create: true, readwrite: true });
  writing.run("CREATE TABLE a (b)");
  writing.run("PRAGMA cache_size = 1");
  writing.run("BEGIN");
  const insert = writing.query("INSERT INTO a VALUES (zeroblob(4000))");
  for (let n = 0; n < 100; n++) insert.run();
  for (const end of ["", "-journal"]) cpSync(half + end, file + end);
  writing.close();
  using database = openForReading(file);
  expect(database.query("SELECT count(*) AS rows FROM a").get()).toEqual({ rows: 0 });
});

test("a current database is left unchanged", () => {
  migrate(directory);
  change("INSERT INTO settings VALUES ('a', 'b')");
  migrate(directory);
  const database = openForReading(databaseFile(directory));
  expect(database.query("SELECT value FROM settings").all()).toEqual([{ value: "b" }]);
  database.close();
  expect(existsSync(`${databaseFile(directory)}.before-1`)).toBe(false);
});

test("a database of a newer program is refused with a message that says what to do, and left unchanged", async () => {
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

test("a process that waited for another one's migration finds it done", async () => {
  // Both have seen an empty database and wait for the lock that is held here.
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
});

test("several processes that start on an empty directory at once create one database", async () => {
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
  // One was first and owns the only project.
  expect(database.query("SELECT role, count(*) AS n FROM members GROUP BY role ORDER BY role").all()).toEqual(
    [
      { role: "member", n: 5 },
      { role: "owner", n: 1 },
    ],
  );
  database.close();
});

/** The migrations of a later version; `sql` is the newest one. */
function laterMigrations(sql: string): string[] {
  const later = join(place, "migrations");
  mkdirSync(later, { recursive: true });
  writeFileSync(join(later, `${String(newest + 1).padStart(4, "0")}-later.sql`), sql);
  return [...migrationsDirectories("sqlite"), later];
}

/** Copies of the migrations before one. */
function migrationsBefore(number: number): string[] {
  return migrationsDirectories("sqlite").map((from, index) => {
    const copy = join(place, `before-${number}-${index}`);
    const isEarlier = (path: string) =>
      !path.endsWith(".sql") || Number.parseInt(basename(path), 10) < number;
    cpSync(from, copy, { recursive: true, filter: isEarlier });
    return copy;
  });
}

test("what members chose for a destination survives the merge of both kinds of destinations, and goes with it", () => {
  migrate(directory, undefined, migrationsBefore(19));
  for (const sql of [
    "INSERT INTO accounts (id, name, email, email_verified, created_at, updated_at) VALUES ('a', 'A', 'a@a.test', 1, '', '')",
    "INSERT INTO projects (id, slug, name, created_at) VALUES (1, 'p', 'P', 1)",
    "INSERT INTO members (project_id, account_id, role, created_at) VALUES (1, 'a', 'owner', 1)",
    `INSERT INTO destinations (id, account_id, kind, label, address, enabled, created_at)
     VALUES ('d', 'a', 'email', 'a@a.test', 'a@a.test', 1, 1)`,
    "INSERT INTO notification_levels (project_id, account_id, channel, destination_id, level) VALUES (1, 'a', '', 'd', 'all')",
  ])
    change(sql);
  migrate(directory, testWatch);
  using database = openForWriting(databaseFile(directory));
  const levels = () => database.query("SELECT destination_id, level FROM notification_levels").values();
  expect(levels()).toEqual([["d", "all"]]);
  expect(database.query("PRAGMA foreign_key_check").values()).toEqual([]);
  database.run("DELETE FROM destinations WHERE id = 'd'");
  expect(levels()).toEqual([]);
});

test("a database of the previous version is migrated on another thread, with a snapshot readable only by the owner", async () => {
  migrate(directory);
  change("INSERT INTO projects (slug, name, created_at) VALUES ('old', 'Old', 1)");
  const later = laterMigrations("UPDATE projects SET name = 'New'");
  const file = databaseFile(directory);
  const copy = `${file}.before-${newest + 1}`;
  const holder = openForWriting(file);
  holder.run("BEGIN IMMEDIATE");
  const steps: [string, Record<string, unknown>][] = [];
  // On this thread it would wait for the lock forever.
  setTimeout(() => {
    holder.run("ROLLBACK");
    holder.close();
  }, 100);
  const progress: MigrationProgress[] = [];
  const watch = {
    onInfo: (...step: [string, Record<string, unknown>]) => void steps.push(step),
    onMigrating: (now: MigrationProgress | null) => void (now && progress.push(now)),
    mayCreate: true,
    mayUpgrade: true,
  };
  await migrateAside(directory, watch, later);
  const ms = expect.any(Number);
  expect(steps).toEqual([
    ["migrating the database", { file, from: newest, to: newest + 1 }],
    ["saved a snapshot of the database", { file: copy, deletedAfterDays: 30, ms }],
    ["migrated the database", { file, from: newest, to: newest + 1, ms }],
  ]);
  expect([...new Set(progress.map(({ step, number, of }) => `${step} ${number}/${of}`))]).toEqual([
    "snapshot 1/2",
    `${String(newest + 1).padStart(4, "0")}-later.sql 2/2`,
  ]);
  expect(statSync(copy).mode & 0o777).toBe(0o600);
  const names = [file, copy].map((name) => {
    using database = openForReading(name);
    return database.query("SELECT name FROM projects").values().flat();
  });
  expect(names).toEqual([["New"], ["Old"]]);
});

test("a failed migration leaves the database unchanged", async () => {
  migrate(directory);
  const later = laterMigrations("DELETE FROM settings; INSERT INTO nowhere VALUES (1)");
  change("INSERT INTO settings VALUES ('a', 'b')");
  const name = `${String(newest + 1).padStart(4, "0")}-later.sql`;
  const copy = `${databaseFile(directory)}.before-${newest + 1}`;
  await expect(migrateAside(directory, testWatch, later)).rejects.toThrow(
    `no such table: nowhere. The upgrade of the database failed in migration ${name}: please report this with this message and the version you upgraded from. The database is unchanged (schema ${newest}): start the version of Tidings that you upgraded from, which needs no "tidings rollback". A copy from before the upgrade is in ${copy}.`,
  );
  expect(existsSync(copy)).toBe(true);
  using database = openForReading(databaseFile(directory));
  expect(database.query("PRAGMA user_version").get()).toEqual({ user_version: newest });
  expect(database.query("SELECT value FROM settings").all()).toEqual([{ value: "b" }]);
});

test("the server deletes snapshots of upgrades after 30 days, but not from beside a damaged database", () => {
  migrate(directory);
  const file = databaseFile(directory);
  const dayMs = 86_400_000;
  const names = ["before-3", "before-9"].map((end) => `${file}.${end}`);
  for (const [index, name] of names.entries()) {
    writeFileSync(name, "a copy");
    const at = new Date(Date.now() - (index === 0 ? 31 : 29) * dayMs);
    utimesSync(name, at, at);
  }
  const infos: string[] = [];
  const damage = new Damage(file, () => {});
  const snapshots = new OldSnapshots(directory, damage, (text) => infos.push(text));
  snapshots.remove();
  expect(names.map((name) => existsSync(name))).toEqual([false, true]);
  expect(infos).toEqual(["deleted the snapshot of an upgrade more than 30 days ago"]);
  damage.report("a page");
  snapshots.remove(Date.now() + 10 * dayMs);
  expect(existsSync(names[1]!)).toBe(true);
  snapshots.close();
});

test("all files of a directory become readable only by the owner, even existing ones", async () => {
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
    "tidings.holder": 0o600,
    "tidings.lock": 0o600,
    "tidings.reserve": 0o600,
  };
  const first = await startServer({ TIDINGS_DATA: directory });
  expect(modes()).toEqual(all);
  await first.end("SIGKILL");
  for (const name of readdirSync(directory)) chmodSync(join(directory, name), 0o644);
  const second = await startServer({ TIDINGS_DATA: directory });
  expect(modes()).toEqual(all);
  await second.end("SIGTERM");
});

test("only the writer, the checkpointer and what runs before or without them open a connection that writes", () => {
  const server = resolve(import.meta.dir, "../..");
  const opening =
    /openForWriting\(databaseFile|openForWriting\(file|openForCheckpoints\(file|readwrite: true/;
  const openers = readdirSync(server, { recursive: true, encoding: "utf8" })
    .filter((path) => /^(?!node_modules|testing).*(?<!\.test)\.ts$/.test(path))
    .filter((path) => opening.test(readFileSync(join(server, path), "utf8")));
  expect(openers.toSorted()).toEqual([
    // Commands that have the directory for themselves: doctor --fix, migrate-to and restore.
    "doctor/check-database.ts",
    "migrate-to/source.ts",
    "storage/sqlite/backup.ts",
    "storage/sqlite/checkpoint-thread.ts",
    // Locks an empty database of its own.
    "storage/sqlite/file-lock.ts",
    // Migrations, and undoing what a killed process left.
    "storage/sqlite/open.ts",
    // Empties the log of a full disk before the database is opened.
    "storage/sqlite/reserve.ts",
    // Keeps others from writing while the rest of the log is captured.
    "storage/sqlite/wal-guard.ts",
    "storage/sqlite/writer-thread.ts",
  ]);
});
