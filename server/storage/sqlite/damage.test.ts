// @long
/** A damaged or missing database is reported at the start and when it is met, and never served as if it were intact. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  closeSync,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProject } from "../../projects/projects.ts";
import { testWatch } from "../../testing/engine.ts";
import { runTidings, testProcess } from "../../testing/server-process.ts";
import { until } from "../../testing/until.ts";
import { databaseFile } from "./directory.ts";
import { openSqliteStore } from "./index.ts";
import { migrate, openForCheckpoints } from "./open.ts";

type App = Awaited<ReturnType<typeof testProcess>>;

async function recordMany(app: App, count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, n) => ({ channel: "c", name: `event ${n}` }));
  const response = await app.request("/api/events", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(events),
  });
  expect(response.status).toBe(201);
}

/** The pages of a table's rows, in order. Reads only the table's root, so it works for two levels. */
function leavesOf(file: string, table: string): number[] {
  using database = openForCheckpoints(file);
  // A server whose readers ended last leaves its log.
  database.query("PRAGMA wal_checkpoint(TRUNCATE)").all();
  const { rootpage } = database
    .query<{ rootpage: number }, [string]>("SELECT rootpage FROM sqlite_schema WHERE name = ?")
    .get(table)!;
  // https://www.sqlite.org/fileformat2.html#b_tree_pages
  const root = readFileSync(file).subarray((rootpage - 1) * pageBytes, rootpage * pageBytes);
  expect(root[0]).toBe(5);
  const cells = Array.from({ length: root.readUInt16BE(3) }, (_, n) => root.readUInt16BE(12 + 2 * n));
  return [...cells.map((at) => root.readUInt32BE(at)), root.readUInt32BE(8)];
}

const pageBytes = 4_096;

function overwrite(file: string, page: number): void {
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, Buffer.alloc(pageBytes, 0x5a), 0, pageBytes, (page - 1) * pageBytes);
  closeSync(descriptor);
}

/** Records events, stops the server, damages one of their pages, and starts it again. */
async function damage(app: App, which: (leaves: number[]) => number, table = "events"): Promise<void> {
  await recordMany(app, 5_000);
  expect((await app.end("SIGTERM")).code).toBe(0);
  const file = databaseFile(app.config.dataDirectory);
  const leaves = leavesOf(file, table);
  expect(leaves.length).toBeGreaterThan(10);
  overwrite(file, which(leaves));
  await app.start();
}

async function readiness(app: App): Promise<{ status: number; detail?: string }> {
  const response = await app.request("/readyz");
  return { status: response.status, ...((await response.json()) as object) };
}

const fatalLines = (log: string) =>
  log
    .split("\n")
    .flatMap((line) => (line.includes('"level":60') ? [JSON.parse(line) as { msg: string }] : []));

describe("a damaged page of events", () => {
  test("cuts a listing off, fails the requests that meet it, and is logged once", async () => {
    await using app = await testProcess();
    await damage(app, (leaves) => leaves[leaves.length >> 1]!);
    // A client that reads late meets the reset with the response's headers, others while they read its body.
    const listing = app.request("/api/events").then((response) => response.text());
    await expect(listing).rejects.toMatchObject({ code: "ECONNRESET" });
    // The oldest events are after the damaged page.
    const page = await app.request("/api/events?limit=1000");
    expect(page.status).toBe(200);
    let cursor = ((await page.json()) as { nextCursor: string }).nextCursor;
    for (let status = 200; status === 200; ) {
      const next = await app.request(`/api/events?limit=1000&cursor=${cursor}`);
      status = next.status;
      const body = (await next.json()) as { nextCursor: string };
      if (status === 200) cursor = body.nextCursor;
      else
        expect([status, body]).toEqual([500, expect.objectContaining({ type: "/problems/storage-damaged" })]);
      expect(cursor).not.toBeNull();
    }
    expect(await readiness(app)).toMatchObject({
      status: 503,
      detail: expect.stringContaining("database is damaged"),
    });
    // Requests that don't need the page still work.
    expect((await app.post({ channel: "c", name: "new" })).status).toBe(201);
    const { code, stdout, stderr } = await app.end("SIGTERM");
    expect([code, stderr]).toEqual([0, ""]);
    const [message, ...others] = fatalLines(stdout);
    expect(message!.msg).toContain(`database ${databaseFile(app.config.dataDirectory)} is damaged: `);
    expect(others).toEqual([]);
  });

  test("at the beginning of a listing is its response", async () => {
    await using app = await testProcess();
    await damage(app, (leaves) => leaves[0]!);
    const response = await app.request("/api/events?order=asc");
    expect([response.status, await response.json()]).toEqual([
      500,
      expect.objectContaining({ type: "/problems/storage-damaged" }),
    ]);
  });
});

test("damage that no request meets is found shortly after the start", async () => {
  await using app = await testProcess();
  // The background worker reads the events themselves.
  await damage(app, (leaves) => leaves[leaves.length >> 1]!, "events_index_data");
  await until(async () => (await readiness(app)).status === 503);
  const { stdout } = await app.end("SIGTERM");
  expect(fatalLines(stdout).map(({ msg }) => msg)).toEqual([
    expect.stringContaining("is damaged: table events_index_data: "),
  ]);
});

describe("a start is refused, and nothing is created,", () => {
  const place = mkdtempSync(join(tmpdir(), "tidings-damage-"));
  beforeAll(async () => {
    const store = await openSqliteStore(join(place, "stopped"), testWatch);
    await createProject(store.control, "p", null);
    // A copy of the open database is what a kill leaves.
    cpSync(join(place, "stopped"), join(place, "killed"), { recursive: true });
    await store.close();
  });
  afterAll(() => rmSync(place, { recursive: true }));

  const cases: [what: string, end: "stopped" | "killed", change: (file: string) => void, message: RegExp][] =
    [
      [
        "where the database is gone",
        "killed",
        (file) => rmSync(file),
        /is missing, but this directory has been/,
      ],
      [
        "where it is gone after a stop",
        "stopped",
        (file) => rmSync(file),
        /is missing, but this directory has/,
      ],
      [
        "where it was emptied",
        "killed",
        (file) => truncateSync(file),
        /is empty, but this directory has been/,
      ],
      [
        "where the log is gone after a kill",
        "killed",
        (file) => rmSync(`${file}-wal`),
        /-wal is missing.*put it back.*remove \S+tidings\.db-open/,
      ],
      [
        "where it is another file",
        "stopped",
        (file) => writeFileSync(file, "x".repeat(9_000)),
        /is damaged: /,
      ],
      ["where its end is cut off", "stopped", (file) => truncateSync(file, 3 * pageBytes), /is damaged: /],
    ];
  test.each(cases)("%s", async (_, end, change, message) => {
    const directory = mkdtempSync(join(place, "case-"));
    cpSync(join(place, end), directory, { recursive: true });
    change(databaseFile(directory));
    const before = readdirSync(directory).toSorted();
    expect(() => migrate(directory)).toThrow(message);
    expect(readdirSync(directory).toSorted()).toEqual(before);
    await expect(openSqliteStore(directory, testWatch)).rejects.toThrow(message);
  });

  test("by the server and by commands, with a message", async () => {
    const directory = join(place, "served");
    cpSync(join(place, "killed"), directory, { recursive: true });
    rmSync(databaseFile(directory));
    for (const command of [["serve"], ["project", "create", "p"]]) {
      const { code, stdout, stderr } = await runTidings(command, { PORT: "0", TIDINGS_DATA: directory });
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toMatch(/^[^\n]*tidings\.db is missing, [^\n]*\n$/);
    }
  });
});

test("a start after a kill, with commands in between, works", async () => {
  await using app = await testProcess();
  const marker = join(app.config.dataDirectory, "tidings.db-open");
  await recordMany(app, 100);
  expect(existsSync(marker)).toBe(true);
  await app.end("SIGKILL");
  expect(existsSync(marker)).toBe(true);
  expect((await runTidings(["project", "create", "p"], app.environment)).code).toBe(0);
  expect(existsSync(marker)).toBe(false);
  await app.start();
  expect((await readiness(app)).status).toBe(200);
  // A command does not remove the marker of a running server.
  await recordMany(app, 100);
  expect((await runTidings(["project", "create", "q"], app.environment)).code).toBe(0);
  expect(existsSync(marker)).toBe(true);
  await app.end("SIGTERM");
  expect(existsSync(marker)).toBe(false);
});
