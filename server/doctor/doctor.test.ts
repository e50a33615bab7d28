import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import {
  closeSync,
  cpSync,
  mkdtempSync,
  openSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ArrivalClock } from "../event/id.ts";
import { createProject } from "../projects/projects.ts";
import { openSqliteStore } from "../storage/sqlite/index.ts";
import { databaseFile } from "../storage/sqlite/open.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import { expectConsistent } from "../testing/consistency.ts";
import { testWatch } from "../testing/engine.ts";
import { runTidings } from "../testing/server-process.ts";
import { checkDatabase, fixDatabase } from "./check-database.ts";
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
  const clock = new ArrivalClock(null);
  await store.events.appendAll(
    Array.from({ length: events }, () => acceptedEvent({ projectId, arrival: clock.next() })),
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
  expect(left).toMatchObject({ state: "ok", detail: expect.stringMatching(/^3\d\d of 1,200 events\.$/) });
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
