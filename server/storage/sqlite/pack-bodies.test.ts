import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkDatabase } from "../../doctor/check-database.ts";
import type { Event } from "../../event/event.ts";
import { ArrivalClock } from "../../event/id.ts";
import { parseSearch } from "../../event/search.ts";
import { createProject } from "../../projects/projects.ts";
import { acceptedEvent } from "../../testing/accepted-event.ts";
import { expectConsistent } from "../../testing/consistency.ts";
import { testWatch } from "../../testing/engine.ts";
import { removeEvents } from "../../testing/remove-events.ts";
import type { Removal } from "../event-queries.ts";
import type { Store } from "../store.ts";
import { type BodyGroup, GroupReader } from "./body-group.ts";
import { databaseFile } from "./directory.ts";
import { openSqliteStore } from "./index.ts";
import { openForCheckpoints } from "./open.ts";
import { PageFile } from "./salvage/page-file.ts";
import { rowsIn, survey } from "./salvage/survey.ts";

const blockEvents = 2_000;
const userId = "Zoë.Quux+77@example.com";
const pageBytes = 4_096;
const overflowBytes = pageBytes - 4;
const rest = async () => {};

let directory: string;
let store: Store;
let projectId: number;
let clock: ArrivalClock;
let recorded: Map<string, string>;
let startMs: number;
/** So long after the last event that all are settled. */
const laterMs = () => Date.now() + 600_000;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "tidings-pack-"));
  store = await openSqliteStore(directory, testWatch, blockEvents);
  projectId = (await createProject(store.control, "Shop", null)).id;
  clock = new ArrivalClock(null);
  recorded = new Map();
  startMs = Date.now();
});
afterEach(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

async function reopen(): Promise<void> {
  await store.close();
  store = await openSqliteStore(directory, testWatch, blockEvents);
}

type Made = Partial<Event> & { createdAtMs?: number; hasClientId?: boolean };

async function record(count: number, made: (n: number) => Made = () => ({})): Promise<void> {
  for (let from = 0; from < count; from += 500) {
    const events = Array.from({ length: Math.min(500, count - from) }, (_, index) => {
      const n = from + index;
      const { createdAtMs, hasClientId, ...event } = made(n);
      const accepted = acceptedEvent({
        projectId,
        arrival: clock.next(),
        event: {
          channelId: `c${n % 3}`,
          name: `Payment ${n % 7}`,
          userId: `user ${n % 50}`,
          icon: "💰",
          tags: { plan: n % 2 ? "pro" : "free", amount: String(n), order: Bun.hash(String(n)).toString(16) },
          ...event,
        },
        createdAtMs,
        ...(hasClientId && { hasClientId }),
      });
      recorded.set(accepted.event.id, accepted.json);
      return accepted;
    });
    for (const result of await store.events.appendAll(events)) expect(result).toEqual({ kind: "created" });
  }
}

const pack = () => store.events.indexBlocks(rest, laterMs());

/** All events by listing. */
async function listed(query: object = {}): Promise<string[]> {
  const found: string[] = [];
  for await (const bytes of store.events.stream({
    projectId,
    filter: {},
    order: "asc",
    format: "ndjson",
    ...query,
  }))
    found.push(...new TextDecoder().decode(bytes).split("\n").filter(Boolean));
  return found;
}

async function expectRecorded(): Promise<void> {
  const all = await listed();
  expect(all.length).toBe(recorded.size);
  for (const json of all) expect(recorded.get((JSON.parse(json) as Event).id)).toBe(json);
}

async function remove(removal: Omit<Removal, "projectId">, which: (event: Event) => boolean): Promise<void> {
  await removeEvents(store, { projectId, ...removal });
  for (const [id, json] of recorded) if (which(JSON.parse(json) as Event)) recorded.delete(id);
}

function inDatabase<Row>(sql: string): Row[] {
  using database = new Database(databaseFile(directory), { readonly: true });
  return database.query<Row, []>(sql).all();
}

const groups = () =>
  inDatabase<BodyGroup & { id: number }>("SELECT id, events, frames, bytes FROM body_groups");
const packedEvents = () => groups().reduce((sum, { events }) => sum + events, 0);

/** The pages of the file that contain bytes. */
function pagesWith(bytes: Buffer): number[] {
  using database = openForCheckpoints(databaseFile(directory));
  // The check after a start can be reading.
  const checkpoint = database.query<{ busy: number }, []>("PRAGMA wal_checkpoint(TRUNCATE)");
  while (checkpoint.get()!.busy !== 0) Bun.sleepSync(20);
  const file = readFileSync(databaseFile(directory));
  const pages: number[] = [];
  for (let at = file.indexOf(bytes); at !== -1; at = file.indexOf(bytes, at + 1))
    pages.push(Math.floor(at / pageBytes) + 1);
  return pages;
}

describe("packed bodies", () => {
  test("are smaller, and everything that reads events gives the same", async () => {
    const clientId = Bun.randomUUIDv7();
    await record(6_500, (n) => ({
      ...(n % 10 === 3 && { createdAtMs: Date.now() - n * 1_000 }),
      ...(n === 4_000 && { id: clientId, hasClientId: true }),
    }));
    const reads = async () => ({
      all: await listed(),
      csv: (await listed({ format: "csv", order: "desc" })).length,
      found: await Promise.all(
        [...recorded.keys()].filter((_, n) => n % 97 === 0).map((id) => store.events.find(projectId, id)),
      ),
      pages: await Promise.all(
        ["payment", "amount>3000", 'plan=pro user:"user 7"', '-"Payment 3" amount:100..400'].map((q) =>
          store.events.page({ projectId, filter: { search: parseSearch(q)! }, order: "desc" }, 100),
        ),
      ),
      arrived: await store.events.arrivedAfter(projectId, { ms: 0, sequence: 0 }, 700),
      counts: await store.events.count({
        projectId,
        filter: { search: parseSearch("amount>500 plan=pro")! },
        bounds: [startMs - 86_400_000, startMs + 86_400_000],
        split: { by: "name" },
        series: 5,
      }),
      users: await store.events.page({ projectId, filter: { userId: "user 9" }, order: "asc" }, 50),
    });
    const before = await reads();
    await pack();
    expect(packedEvents()).toBeGreaterThan(3_500);
    expect(await reads()).toEqual(before);
    const again = acceptedEvent({
      projectId,
      arrival: clock.next(),
      event: { id: clientId },
      hasClientId: true,
    });
    expect(await store.events.append(again)).toEqual({ kind: "duplicate", json: recorded.get(clientId)! });
    await store.close();
    await expectConsistent({ dataDirectory: directory, databaseUrl: null } as never);
    expect(checkDatabase(directory).filter(({ state }) => state !== "ok")).toEqual([]);
    store = await openSqliteStore(directory, testWatch, blockEvents);
  }, 60_000);

  test("take much less space, and what rows leave is given back", async () => {
    await record(12_000);
    await store.events.indexBlocks(rest, 0);
    const rowPages = () => pagesOf("events").length;
    const before = rowPages();
    await pack();
    expect(packedEvents()).toBeGreaterThan(9_000);
    await pack();
    expect(rowPages() / before).toBeLessThan(0.45);
    const [{ free, all }] = inDatabase<{ free: number; all: number }>(
      'SELECT freelist_count AS free, page_count AS "all" FROM pragma_freelist_count, pragma_page_count',
    ) as [{ free: number; all: number }];
    expect(free / all).toBeLessThan(0.04);
    await expectRecorded();
  }, 60_000);

  test("go on after a stop in any step, and new blocks are built in between", async () => {
    await record(9_000);
    for (let [stopAfter, isDone] = [1, false]; !isDone; stopAfter = Math.ceil(stopAfter * 1.2)) {
      let steps = 0;
      isDone = await store.events
        .indexBlocks(async () => {
          if (++steps >= stopAfter) throw new Error("stopped");
        }, laterMs())
        .then(
          () => true,
          (error: Error) => expect(error.message).toBe("stopped") ?? false,
        );
      if (stopAfter % 2 === 0) await reopen();
      await record(20);
    }
    expect(packedEvents()).toBeGreaterThan(6_000);
    await expectRecorded();
  }, 60_000);

  test("of events that arrive late are packed when their block is built again", async () => {
    await record(4_400);
    await pack();
    const before = packedEvents();
    const oldest = JSON.parse((await listed())[0]!) as Event;
    // So many in one second that the block changes, and the rows are beside each other.
    await record(900, () => ({ createdAtMs: Date.parse(oldest.createdAt) }));
    await pack();
    expect(packedEvents() - before).toBeGreaterThan(500);
    await expectRecorded();
  }, 60_000);

  test("of removed events leave their groups, and a group without bodies is removed", async () => {
    await record(6_500);
    await pack();
    const before = groups();
    await remove({ channels: ["c1"] }, ({ channelId }) => channelId === "c1");
    await pack();
    const after = groups();
    expect(after.length).toBe(before.length);
    for (const group of after) {
      const { events } = before.find(({ id }) => id === group.id)!;
      expect(group.events / events).toBeWithin(0.6, 0.75);
    }
    await expectRecorded();
    await remove({ channels: ["c0", "c2"] }, () => true);
    await pack();
    expect(groups()).toEqual([]);
    expect(inDatabase("SELECT * FROM removed_bodies")).toEqual([]);
    expect(await listed()).toEqual([]);
  }, 60_000);

  test("of an erased user are in no file afterwards, compressed or not", async () => {
    const mine = (n: number) => n % 9 === 4;
    await record(6_500, (n) => ({
      ...(mine(n) && { userId, description: `Written by ${userId}`, tags: { email: userId } }),
      ...(n % 40 === 3 && { createdAtMs: startMs - n * 1_000 }),
    }));
    await pack();
    const texts = () =>
      groups().flatMap(({ id, ...group }) => {
        const reader = new GroupReader(id, group);
        return Array.from({ length: 1_296 }, (_, ordinal) => {
          try {
            return reader.read(ordinal);
          } catch {
            return "";
          }
        });
      });
    expect(texts().filter((text) => text.includes(userId)).length).toBeGreaterThan(300);
    expect(pagesWith(Buffer.from(userId)).length).toBeGreaterThan(0);
    await remove({ userIds: [userId] }, (event) => event.userId === userId);
    await store.events.purge(rest);
    expect(texts().filter((text) => text.includes(userId))).toEqual([]);
    expect(pagesWith(Buffer.from(userId))).toEqual([]);
    expectFramesOnlyInGroups();
    await expectRecorded();
  }, 60_000);

  test("leave no copy of a frame behind when groups change, move and go", async () => {
    await record(10_000);
    await pack();
    for (const every of [11, 5, 3, 2]) {
      await remove({ userIds: [`user ${every}`] }, (event) => event.userId === `user ${every}`);
      await remove(
        { channels: ["c0"], toMs: startMs + every },
        (event) => event.channelId === "c0" && Date.parse(event.createdAt) < startMs + every,
      );
      await pack();
      await store.events.purge(rest);
      expectFramesOnlyInGroups();
    }
    await expectRecorded();
  }, 60_000);

  test("that are damaged are reported, and only their own events can't be read", async () => {
    await record(6_500);
    await pack();
    const page = framePages()[3]!;
    const damagedIds = new Set<string>();
    await store.close();
    const file = databaseFile(directory);
    const bytes = readFileSync(file);
    bytes.fill(0x5a, (page - 1) * pageBytes + 100, page * pageBytes);
    writeFileSync(file, bytes);
    const damage: string[] = [];
    store = await openSqliteStore(
      directory,
      { ...testWatch, onDamage: ({ message }) => damage.push(message) },
      blockEvents,
    );
    for (const id of recorded.keys()) {
      const json = await store.events.find(projectId, id).catch((error: { code?: string }) => {
        expect(error.code).toBe("storage-damaged");
        return null;
      });
      if (json === null) damagedIds.add(id);
      else expect(json).toBe(recorded.get(id)!);
    }
    expect(damagedIds.size).toBeWithin(60, 500);
    expect(damage).toEqual([expect.stringMatching(/compressed bodies, group \d+: a checksum is wrong/)]);
    expect(checkDatabase(directory)).toContainEqual(
      expect.objectContaining({
        state: "problem",
        detail: expect.stringContaining("Compressed bodies, group"),
      }),
    );
    await store.close();
    const salvaged = new PageFile(file);
    const found = [...rowsIn(salvaged)];
    expect(found.filter((row) => row === null).length).toBe(damagedIds.size);
    for (const row of found)
      if (row?.kind === "event") expect(recorded.get((JSON.parse(row.json) as Event).id)).toBe(row.json);
    expect(found.filter((row) => row?.kind === "event").length).toBe(recorded.size - damagedIds.size);
    expect(survey(salvaged).projects).toEqual([expect.objectContaining({ missing: damagedIds.size })]);
    salvaged.close();
    store = await openSqliteStore(directory, testWatch, blockEvents);
  }, 60_000);

  test("of rows with long texts are packed, too", async () => {
    await record(2_600, (n) => ({
      description: `${crypto.randomUUID().repeat(n % 30 === 0 ? 260 : 3)} ${n}`,
    }));
    await pack();
    expect(packedEvents()).toBeGreaterThan(1_500);
    await expectRecorded();
  }, 60_000);
});

/** How a zstd frame begins (RFC 8878, section 3.1.1), with the descriptors for lengths of one, two and four bytes. */
const frameStarts = [0x20, 0x60, 0xa0].map((descriptor) => Buffer.from([0x28, 0xb5, 0x2f, 0xfd, descriptor]));

/** The pages with frames, except those of blocks' columns. */
function framePages(): number[] {
  const pages = frameStarts.flatMap(pagesWith);
  const others = new Set(pagesOf("block_columns"));
  return pages.filter((page) => !others.has(page)).toSorted((a, b) => a - b);
}

function pagesOf(table: string, kind = "%"): number[] {
  return inDatabase<{ page: number }>(
    `SELECT pageno AS page FROM dbstat WHERE name = '${table}' AND pagetype LIKE '${kind}'`,
  ).map(({ page }) => page);
}

/** The file has as many frames as the groups that can be read, so none elsewhere, and each is on an overflow page. */
function expectFramesOnlyInGroups(): void {
  const pages = framePages();
  // A beginning that is on two pages is not found.
  const found = groups()
    .flatMap(placesOf)
    .filter((at) => at % overflowBytes <= overflowBytes - 5);
  expect(pages.length).toBe(found.length);
  const overflow = new Set(pagesOf("body_groups", "overflow"));
  expect(pages.filter((page) => !overflow.has(page))).toEqual([]);
}

/** Where the frames of a group begin. */
function placesOf({ frames }: BodyGroup): number[] {
  const table = new DataView(frames.buffer, frames.byteOffset);
  let end = 0;
  return Array.from({ length: frames[1]! }, (_, n) => {
    const at = end;
    end += table.getUint32(2 + 10 * n + 2);
    return at;
  });
}
