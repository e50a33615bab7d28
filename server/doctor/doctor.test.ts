import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import {
  chownSync,
  closeSync,
  cpSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProject } from "../projects/projects.ts";
import { generateSecretKey, SecretBox } from "../storage/secret-box.ts";
import { openSqliteStore } from "../storage/sqlite/index.ts";
import { databaseFile } from "../storage/sqlite/open.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import { expectConsistent } from "../testing/consistency.ts";
import { testWatch } from "../testing/engine.ts";
import { longTest } from "../testing/long-test.ts";
import { fromSource, runTidings } from "../testing/server-process.ts";
import { checkDatabase, fixDatabase } from "./check-database.ts";
import { checkSecretKey } from "./check-machine.ts";
import { type Fix, ok } from "./finding.ts";
import { unindexedFinding } from "./unindexed-finding.ts";

const events = 1_200;
const blockEvents = 300;
const hourMs = 3_600_000;

/** A closed database with events in blocks. */
async function filled(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), "tidings-doctor-"));
  const store = await openSqliteStore(directory, testWatch, blockEvents);
  const projectId = (await createProject(store.control, "Test", null)).id;
  const firstMs = Date.now() - events;
  await store.events.appendAll(
    Array.from({ length: events }, (_, n) =>
      // A block ends between two milliseconds.
      acceptedEvent({ projectId, arrival: { ms: firstMs + n, sequence: 0 } }),
    ),
  );
  await store.events.indexBlocks(async () => {}, Date.now() + hourMs);
  await store.close();
  return directory;
}

type Damage = {
  what: string;
  damage: (directory: string) => void;
  finds: { check: string; detail: RegExp };
  mends: Fix | null;
};

const sql = (statement: string) => (directory: string) => {
  using database = new Database(databaseFile(directory));
  database.run(statement);
};

const damages: Damage[] = [
  {
    what: "events without an index entry",
    damage: sql("DELETE FROM events_index WHERE rowid IN (SELECT row_key FROM events LIMIT 7)"),
    finds: { check: "search index", detail: /can't find: 7\.$/ },
    mends: "index",
  },
  {
    what: "index entries without an event",
    damage: sql("INSERT INTO events_index (rowid, tokens) VALUES (4096, '1a 1cx')"),
    finds: { check: "search index", detail: /without an event: 1\.$/ },
    mends: "index",
  },
  {
    what: "an index entry that lost its tokens",
    damage: (directory) => {
      using database = new Database(databaseFile(directory));
      const key = "(SELECT min(row_key) FROM events)";
      database.run(`DELETE FROM events_index WHERE rowid = ${key}`);
      database.run(`INSERT INTO events_index (rowid, tokens) VALUES (${key}, 'm')`);
    },
    finds: { check: "search index", detail: /finds: 1199 of 1200\.$/ },
    mends: "index",
  },
  {
    what: "a wrong counter",
    damage: sql("UPDATE counters SET events = events + 3"),
    finds: { check: "counters", detail: /counts of names differ/ },
    mends: "counters",
  },
  {
    what: "lost counters of channels",
    damage: sql("DELETE FROM channel_counters"),
    finds: { check: "counters", detail: /^Hours of channels whose counts differ/ },
    mends: "counters",
  },
  {
    what: "a channel with a wrong number of events",
    damage: sql("UPDATE channels SET events = events - 5"),
    finds: { check: "counters", detail: /^Channels with a wrong number/ },
    mends: "counters",
  },
  {
    what: "a block that says another number of events",
    damage: sql("UPDATE blocks SET events = events - 1 WHERE from_ms = (SELECT min(from_ms) FROM blocks)"),
    finds: { check: "blocks", detail: /^Blocks that differ from their events: 1\.$/ },
    mends: "blocks",
  },
  {
    what: "a block without timestamps",
    damage: sql("DELETE FROM block_timestamps"),
    finds: { check: "blocks", detail: /^Blocks that differ/ },
    mends: "blocks",
  },
  {
    what: "a client's id without an event",
    damage: sql(
      "INSERT INTO sent_ids (project_id, id, row_key) VALUES (1, x'00112233445566778899aabbccddeeff', 99)",
    ),
    finds: { check: "ids of clients", detail: /without an event: 1\.$/ },
    mends: "ids",
  },
  {
    what: "overwritten pages",
    damage(directory) {
      const handle = openSync(databaseFile(directory), "r+");
      for (const page of [20, 40, 60]) writeSync(handle, Buffer.alloc(4_096, 0xab), 0, 4_096, page * 4_096);
      closeSync(handle);
    },
    finds: { check: "database file", detail: /./ },
    mends: null,
  },
  {
    what: "a file that was cut off",
    damage: (directory) => truncateSync(databaseFile(directory), 100 * 4_096),
    finds: { check: "database file", detail: /./ },
    mends: null,
  },
  {
    what: "an empty file beside the log of an earlier one",
    damage(directory) {
      truncateSync(databaseFile(directory), 0);
      writeFileSync(`${databaseFile(directory)}-wal`, "");
    },
    finds: { check: "database file", detail: /tidings\.db is empty/ },
    mends: null,
  },
  {
    what: "a lost log",
    damage(directory) {
      writeFileSync(`${databaseFile(directory)}-open`, "0");
      rmSync(`${databaseFile(directory)}-wal`, { force: true });
    },
    finds: { check: "database file", detail: /tidings\.db-wal is missing/ },
    mends: null,
  },
  {
    what: "a schema of a newer version",
    damage: sql("PRAGMA user_version = 9999"),
    finds: { check: "schema", detail: /^Its schema is 9999/ },
    mends: null,
  },
];

const whole = await filled();

test("a whole database has no fault", () => {
  expect(checkDatabase(whole).filter(({ state }) => state !== "ok")).toEqual([]);
});

test("events that are in no block are counted, and many are a warning", async () => {
  expect(checkDatabase(whole)).toContainEqual(ok("events in no block", "0 of 1,200 events."));
  const directory = mkdtempSync(join(tmpdir(), "tidings-doctor-"));
  cpSync(whole, directory, { recursive: true });
  sql("DELETE FROM blocks WHERE from_ms = (SELECT max(from_ms) FROM blocks)")(directory);
  const [left] = checkDatabase(directory).filter(({ check }) => check === "events in no block");
  expect(left).toMatchObject({ state: "ok", detail: "300 of 1,200 events." });
  rmSync(directory, { recursive: true });
  expect(unindexedFinding({ stored: "400000", indexed: "100000" })).toMatchObject({
    state: "warning",
    detail: expect.stringMatching(/^300,000 of 400,000 events\. /),
  });
});

for (const { what, damage, finds, mends } of damages) {
  test(`${what}: found${mends ? " and mended" : ""}`, async () => {
    const directory = mkdtempSync(join(tmpdir(), "tidings-doctor-"));
    cpSync(whole, directory, { recursive: true });
    damage(directory);
    const faults = checkDatabase(directory).filter(({ state }) => state !== "ok");
    const fault = faults.find(({ check }) => check === finds.check);
    expect(fault?.detail).toMatch(finds.detail);
    expect([fault?.fix, fault?.advice !== null]).toEqual([mends, true]);
    if (mends) {
      fixDatabase(directory, new Set(faults.flatMap(({ fix }) => fix ?? [])));
      expect(checkDatabase(directory).filter(({ state }) => state !== "ok")).toEqual([]);
      const storage = { dataDirectory: directory, databaseUrl: null };
      expect(await expectConsistent(storage)).toBe(events);
    }
    rmSync(directory, { recursive: true });
  });
}

const secretKey = generateSecretKey();
type Found = { check: string; state: string; detail: string; advice: string }[];

/** What the command finds, and its exit code. */
async function doctor(environment: Record<string, string>, args: string[] = [], program = fromSource) {
  const { code, stdout, stderr } = await runTidings(["doctor", "--json", ...args], environment, "", program);
  if (stdout === "") throw new Error(stderr);
  const { findings } = JSON.parse(stdout) as { findings: Found };
  return { code, finding: (check: string) => findings.find((each) => each.check === check) };
}

/** A copy of the installation whose secrets have a key in a file. */
function withKey(): string {
  const directory = mkdtempSync(join(tmpdir(), "tidings-doctor-"));
  cpSync(whole, directory, { recursive: true });
  const value = new SecretBox(secretKey).seal("", "secretKeyCheck");
  sql(`INSERT INTO settings (name, value) VALUES ('secretKeyCheck', '${value}')`)(directory);
  writeFileSync(join(directory, "secret.key"), `${secretKey}\n`, { mode: 0o600 });
  return directory;
}

test("a secret key that doesn't open the database's secrets, or is none, is found", async () => {
  const directory = withKey();
  const check = new SecretBox(secretKey).seal("", "secretKeyCheck");
  const found = () => checkSecretKey({ dataDirectory: directory, secretKey: null }, check);
  expect(found()).toMatchObject({ state: "ok", detail: expect.stringContaining("It opens the database's") });
  const file = join(directory, "secret.key");
  writeFileSync(file, "garbage");
  expect(found()).toMatchObject({
    state: "problem",
    detail: expect.stringContaining("must be 32 bytes in base64"),
  });
  writeFileSync(file, `${generateSecretKey()}\n`);
  const environment = { TIDINGS_DATA: directory, TIDINGS_SECRET_KEY: "" };
  expect((await doctor(environment)).finding("secret key")).toMatchObject({
    state: "problem",
    detail: expect.stringContaining(`encrypted with another key than ${file}`),
    advice: expect.stringContaining("docs/secrets.md"),
  });
  rmSync(directory, { recursive: true });
});

const isRoot = process.getuid?.() === 0;

test.skipIf(!isRoot)(
  "files that the service's user can't open are found, and given back",
  async () => {
    const directory = withKey();
    const service = 54_321;
    for (const name of ["", ...readdirSync(directory)]) chownSync(join(directory, name), service, service);
    const environment = { TIDINGS_DATA: directory, TIDINGS_SECRET_KEY: "" };
    // What root restores belongs to whom the directory belongs.
    const copy = join(mkdtempSync(join(tmpdir(), "tidings-copy-")), "copy.db");
    cpSync(databaseFile(directory), copy);
    expect((await runTidings(["restore", copy], environment)).code).toBe(0);
    const owners = () =>
      [...new Bun.Glob("**").scanSync({ cwd: directory, dot: true })].map(
        (name) => statSync(join(directory, name)).uid,
      );
    expect(new Set(owners())).toEqual(new Set([service]));
    chownSync(databaseFile(directory), 0, 0);
    expect((await doctor(environment)).finding("file rights")).toMatchObject({
      state: "problem",
      detail: expect.stringMatching(/can't open .*\/tidings\.db\b.*: another user owns them/),
      advice: "Run: tidings doctor --fix",
    });
    const fixed = await doctor(environment, ["--fix"]);
    expect([fixed.finding("file rights")!.state, statSync(databaseFile(directory)).uid]).toEqual([
      "ok",
      service,
    ]);
    rmSync(directory, { recursive: true });
  },
  20_000,
);

const canMount =
  isRoot && process.platform === "linux" && Bun.spawnSync(["unshare", "--mount", "true"]).exitCode === 0;

test.skipIf(!canMount)(
  "on a read-only file system, all is checked that can be",
  async () => {
    const directory = withKey();
    const readOnly = [
      "unshare",
      "--mount",
      "sh",
      "-c",
      `mount --bind ${directory} ${directory} && mount -o remount,ro,bind ${directory} && exec "$0" "$@"`,
      ...fromSource,
    ];
    const environment = { TIDINGS_DATA: directory, TIDINGS_SECRET_KEY: "" };
    const { code, finding } = await doctor(environment, [], readOnly);
    expect(code).toBe(2);
    expect(finding("data directory")).toMatchObject({
      state: "problem",
      detail: expect.stringContaining("read-only"),
    });
    for (const check of ["database file", "search index", "counters", "secret key", "file rights"])
      expect([check, finding(check)?.state]).toEqual([check, "ok"]);
    rmSync(directory, { recursive: true });
  },
  20_000,
);

longTest(
  "the newest backup is read at its target",
  async () => {
    const directory = withKey();
    const target = mkdtempSync(join(tmpdir(), "tidings-backups-"));
    const environment = { TIDINGS_DATA: directory, TIDINGS_SECRET_KEY: "", TIDINGS_BACKUP_TO: target };
    expect((await doctor(environment)).finding("backup")).toMatchObject({
      state: "warning",
      detail: `There is none in ${target}.`,
    });
    expect((await runTidings(["backup"], environment)).code).toBe(0);
    const [name] = readdirSync(target);
    expect((await doctor(environment)).finding("backup")).toMatchObject({
      state: "ok",
      detail: expect.stringContaining(`${name} in`),
    });
    truncateSync(join(target, name!), statSync(join(target, name!)).size >> 1);
    expect((await doctor(environment)).finding("backup")).toMatchObject({
      state: "problem",
      detail: expect.stringContaining("is cut off"),
    });
    for (const path of [directory, target]) rmSync(path, { recursive: true });
  },
  20_000,
);

test.each(["blocks", "index"] as const)("blocks are built again after a fix of the %s", async (part) => {
  const directory = mkdtempSync(join(tmpdir(), "tidings-doctor-"));
  cpSync(whole, directory, { recursive: true });
  fixDatabase(directory, new Set([part]));
  const store = await openSqliteStore(directory, testWatch, blockEvents);
  await store.events.indexBlocks(async () => {}, Date.now() + hourMs);
  await store.close();
  expect(checkDatabase(directory)).toContainEqual(ok("events in no block", "0 of 1,200 events."));
  rmSync(directory, { recursive: true });
});

test("the command says what to do, mends it, and exits with what is left", async () => {
  const directory = mkdtempSync(join(tmpdir(), "tidings-doctor-"));
  cpSync(whole, directory, { recursive: true });
  sql("DELETE FROM channel_counters")(directory);
  const environment = { TIDINGS_DATA: directory, TIDINGS_URL: "http://127.0.0.1:9" };
  const found = await runTidings(["doctor"], environment);
  expect(found.code).toBe(2);
  expect(found.stdout).toContain("FAIL counters: Hours of channels whose counts");
  expect(found.stdout).toContain("Stop the server, and run: tidings doctor --fix");
  expect(found.stdout).toContain("FAIL address: http://127.0.0.1:9/healthz: ");
  const mended = await runTidings(["doctor", "--fix", "--json"], environment);
  const { findings, fixed } = JSON.parse(mended.stdout) as {
    findings: { check: string; state: string }[];
    fixed: string[];
  };
  expect(fixed).toEqual(["counters"]);
  expect(findings.find(({ check }) => check === "counters")?.state).toBe("ok");
  truncateSync(databaseFile(directory), 50 * 4_096);
  expect((await runTidings(["doctor"], environment)).code).toBe(3);
  rmSync(directory, { recursive: true });
  rmSync(whole, { recursive: true });
});
