// @engines postgres
import { afterAll, beforeAll, expect, test } from "bun:test";
import pg from "pg";
import { ArrivalClock } from "../event/id.ts";
import { createProject } from "../projects/projects.ts";
import { openPostgresStore } from "../storage/postgres/index.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import { expectConsistent } from "../testing/consistency.ts";
import { effort, makeFilledStorage, removeStorage, type TestStorage, testWatch } from "../testing/engine.ts";
import { runTidings, startServer } from "../testing/server-process.ts";
import { checkPostgres, fixPostgres } from "./check-postgres.ts";
import type { Fix } from "./finding.ts";

const events = 600;
const blockEvents = 150;
const hourMs = 3_600_000;

/** Fills a database with events in blocks. */
async function fill({ databaseUrl }: TestStorage): Promise<void> {
  const store = await openPostgresStore({ url: databaseUrl!, connections: 3 }, testWatch, blockEvents);
  const projectId = (await createProject(store.control, "Test", null)).id;
  const clock = new ArrivalClock(null);
  await store.events.appendAll(
    Array.from({ length: events }, () => acceptedEvent({ projectId, arrival: clock.next() })),
  );
  await store.events.indexBlocks(async () => {}, Date.now() + hourMs);
  await store.close();
}

let whole: TestStorage;
beforeAll(async () => {
  whole = await makeFilledStorage(fill);
}, 60_000);
afterAll(() => removeStorage(whole));

async function run(url: string | null, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url! });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

const databaseOf = ({ databaseUrl }: TestStorage) => ({ databaseUrl, databaseConnections: 3 });
// The tests' server has fsync off, and all tests use its connections.
const circumstances = ["server settings", "connections"];
const faultsOf = async (storage: TestStorage) =>
  (await checkPostgres(databaseOf(storage))).filter(
    ({ state, check }) => state !== "ok" && !circumstances.includes(check),
  );

const damages: { what: string; sql: string; check: string; detail: RegExp; mends: Fix | null }[] = [
  {
    what: "events that lost their tokens",
    sql: "UPDATE events SET tokens = '' WHERE id IN (SELECT id FROM events LIMIT 7)",
    check: "search index",
    detail: /can't find: 7\.$/,
    mends: "index",
  },
  {
    what: "a wrong counter",
    sql: "UPDATE counters SET events = events + 3",
    check: "counters",
    detail: /counts of names differ/,
    mends: "counters",
  },
  {
    what: "lost counters of channels",
    sql: "DELETE FROM channel_counters",
    check: "counters",
    detail: /^Hours of channels whose counts differ/,
    mends: "counters",
  },
  {
    what: "a channel with a wrong number of events",
    sql: "UPDATE channels SET events = events - 5",
    check: "counters",
    detail: /^Channels with a wrong number/,
    mends: "counters",
  },
  {
    what: "a block that says another number of events",
    sql: "UPDATE blocks SET events = events - 1 WHERE id = (SELECT min(id) FROM blocks)",
    check: "blocks",
    detail: /^Blocks that differ from their events: 1\.$/,
    mends: "blocks",
  },
  {
    what: "a block without timestamps",
    sql: "DELETE FROM block_timestamps",
    check: "blocks",
    detail: /^Blocks that differ/,
    mends: "blocks",
  },
  {
    what: "a block without tokens",
    sql: "DELETE FROM block_tokens",
    check: "blocks",
    detail: /^Blocks that differ/,
    mends: "blocks",
  },
  {
    what: "a client's id without an event",
    sql: "INSERT INTO sent_ids (project_id, id, created_at) VALUES (1, '00112233-4455-6677-8899-aabbccddeeff', 99)",
    check: "ids of clients",
    detail: /without an event: 1\.$/,
    mends: "ids",
  },
  {
    what: "a schema of a newer version",
    sql: "INSERT INTO tidings_migrations (number, name) VALUES (9999, 'later')",
    check: "schema",
    detail: /^Its schema is 9999/,
    mends: null,
  },
];

test("a whole database has no fault", async () => {
  expect(await faultsOf(whole)).toEqual([]);
  expect((await checkPostgres(databaseOf(whole))).map(({ check }) => check)).toContain("events in no block");
});

test("an index that PostgreSQL doesn't use is found and made anew", async () => {
  const storage = await makeFilledStorage(fill);
  // Without the tables of the months it stays unfinished, as after CREATE INDEX CONCURRENTLY that was cut off.
  await run(storage.databaseUrl, "CREATE INDEX unfinished ON ONLY events (id)");
  expect(await faultsOf(storage)).toMatchObject([
    { check: "search index", detail: "Indexes that PostgreSQL doesn't use: unfinished." },
  ]);
  await fixPostgres(databaseOf(storage), new Set(["index"]));
  expect(await faultsOf(storage)).toEqual([]);
  await removeStorage(storage);
});

/** One for each part that can be mended, or all. */
const tried = effort(
  damages.filter(({ mends }, n) => damages.findIndex((each) => each.mends === mends) === n),
  damages,
);

for (const { what, sql, check, detail, mends } of tried) {
  test(`${what}: found${mends ? " and mended" : ""}`, async () => {
    const storage = await makeFilledStorage(fill);
    await run(storage.databaseUrl, sql);
    const faults = await faultsOf(storage);
    const fault = faults.find((each) => each.check === check);
    expect(fault?.detail).toMatch(detail);
    expect([fault?.fix, fault?.advice !== null]).toEqual([mends, true]);
    if (mends) {
      await fixPostgres(databaseOf(storage), new Set(faults.flatMap(({ fix }) => fix ?? [])));
      expect(await faultsOf(storage)).toEqual([]);
      expect(await expectConsistent(storage)).toBe(events);
    }
    await removeStorage(storage);
  });
}

test("the command finds and mends, refuses while a node runs, and upgrades nothing", async () => {
  const storage = await makeFilledStorage(fill);
  const environment = { TIDINGS_DATA: storage.dataDirectory, DATABASE_URL: storage.databaseUrl! };
  const doctor = (...args: string[]) => runTidings(["doctor", ...args], environment);
  await run(storage.databaseUrl, "DELETE FROM channel_counters");
  const server = await startServer(environment);
  const refused = await doctor("--fix");
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/^The database is in use by "tidings .*". Stop all nodes first\.\n$/),
  ]);
  await server.end("SIGTERM");
  const mended = await doctor("--fix");
  expect(mended.stdout).toContain("ok   counters: No fault found.");
  expect(mended.stdout).toContain("Rebuilt: counters.");
  await run(storage.databaseUrl, "DELETE FROM tidings_migrations WHERE number > 1");
  const older = await doctor();
  expect([older.code, older.stdout]).toEqual([2, expect.stringContaining("FAIL schema: Its schema is 1, ")]);
  const gone = await runTidings(["doctor"], { ...environment, DATABASE_URL: "postgres://127.0.0.1:9/none" });
  expect([gone.code, gone.stdout]).toEqual([2, expect.stringContaining("FAIL database: ")]);
  await removeStorage(storage);
});
