import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandActor } from "../../../audit/audit-log.ts";
import { makeChange } from "../../../audit/changes.ts";
import { ArrivalClock } from "../../../event/id.ts";
import { joinAll } from "../../../people/join-ids.ts";
import { splitId } from "../../../people/split-id.ts";
import { createProject } from "../../../projects/projects.ts";
import { acceptedEvent } from "../../../testing/accepted-event.ts";
import { effort, testWatch } from "../../../testing/engine.ts";
import { databaseFile } from "../directory.ts";
import { openSqliteStore } from "../index.ts";
import { PageFile } from "./page-file.ts";
import { rowsIn, type Survey, survey } from "./survey.ts";

const pageBytes = 4_096;
const events = 900;
const joinedIds = 120;
const dayMs = 86_400_000;
const markPattern = /mark-(\d{6});/g;

let directory: string;
/** The JSON of all events by their mark. */
const stored = new Map<string, string>();
/** The marks whose text is on each page of the file. */
const marksOn = new Map<number, Set<string>>();
/** The same database, closed; and open, with its log, after each commit was one of few events. */
let closed: Buffer;
let open: { database: Buffer; log: Buffer };

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "tidings-salvage-"));
  const store = await openSqliteStore(join(directory, "data"), testWatch);
  const projectId = (await createProject(store.control, "Shop", null)).id;
  const other = (await createProject(store.control, "Other", null)).id;
  const clock = new ArrivalClock(null);
  for (let n = 0; n < events; n++) {
    const mark = `mark-${String(n).padStart(6, "0")};`;
    const accepted = acceptedEvent({
      projectId: n % 10 === 0 ? other : projectId,
      arrival: clock.next(),
      event: {
        channelId: `c${n % 3}`,
        name: `Name ${n % 5} "é🎉"`,
        tags: { mark },
        // Some continue on overflow pages, each of which has the mark.
        ...(n % 25 === 0 && { description: `${mark} ${"text ".repeat(30)}`.repeat(n % 50 === 0 ? 60 : 20) }),
      },
      ...(n % 3 === 0 && { createdAtMs: Date.now() - ((n * 7_919) % 30) * dayMs }),
    });
    stored.set(mark, accepted.json);
    await store.events.appendAll([accepted]);
  }
  await store.control
    .insertInto("users")
    .values(
      Array.from({ length: 20 }, (_, n) => ({
        projectId,
        userId: `u${n}`,
        properties: JSON.stringify({ plan: "pro", n }),
        updatedAt: Date.now(),
      })),
    )
    .execute();
  const joining = { by: "alias", name: "A key", identifies: false } as const;
  for (let n = 0; n < joinedIds; n++)
    expect(
      await joinAll(store, projectId, [{ id: `visitor ${n}`, userId: `u${n % 20}`, ...joining }]),
    ).toEqual([true]);
  // As if somebody had undone one.
  await makeChange(store.control, { actor: commandActor, projectId }, (change) =>
    splitId(change, "visitor 7"),
  );
  cpSync(join(directory, "data"), join(directory, "open"), { recursive: true });
  await store.close();
  closed = readFileSync(databaseFile(join(directory, "data")));
  for (const { 0: mark, index } of closed.toString("latin1").matchAll(markPattern))
    for (const at of [index, index + mark.length - 1]) {
      const page = Math.floor(at / pageBytes);
      marksOn.set(page, (marksOn.get(page) ?? new Set()).add(mark));
    }
  const file = databaseFile(join(directory, "open"));
  open = { database: readFileSync(file), log: readFileSync(`${file}-wal`) };
});
afterAll(() => rmSync(directory, { recursive: true }));

type Salvaged = { found: Survey; events: Map<string, string>; users: number; joined: string[] };

function salvage(database: Buffer, log?: Buffer): Salvaged {
  const path = join(directory, "damaged.db");
  writeFileSync(path, database);
  rmSync(`${path}-wal`, { force: true });
  if (log) writeFileSync(`${path}-wal`, log);
  const file = new PageFile(path);
  const salvaged: Salvaged = { found: survey(file), events: new Map(), users: 0, joined: [] };
  for (const row of rowsIn(file)) {
    if (row?.kind === "event") salvaged.events.set(markOf(row.json), row.json);
    if (row?.kind === "user") salvaged.users++;
    if (row?.kind === "joined") salvaged.joined.push(`${row.userId} of ${row.personId}`);
  }
  file.close();
  return salvaged;
}

const markOf = (json: string) => `${(JSON.parse(json) as { tags: { mark: string } }).tags.mark}`;

/** The marks of events that are on no page that differs from the whole file's. */
function intactIn(damaged: Buffer): Set<string> {
  const marks = new Set(stored.keys());
  for (let page = 0; page * pageBytes < closed.length; page++) {
    const range = [page * pageBytes, (page + 1) * pageBytes] as const;
    if (closed.subarray(...range).equals(damaged.subarray(...range))) continue;
    for (const mark of marksOn.get(page) ?? []) marks.delete(mark);
  }
  return marks;
}

/** Random numbers that a seed repeats: mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Expects every event that is on no changed page. What is on a changed page can come out changed: SQLite has no checksums
 * in its pages.
 */
function expectAllIntact(damaged: Buffer, { events }: Salvaged, what: unknown): void {
  const wrong = [...intactIn(damaged)].filter((mark) => events.get(mark) !== stored.get(mark));
  expect([what, wrong]).toEqual([what, []]);
}

function expectOnlyStored({ events }: Salvaged): void {
  for (const [mark, json] of events) expect(json).toBe(stored.get(mark)!);
}

test("of a sound database everything comes out, with and without its log", () => {
  const joined = Array.from({ length: joinedIds }, (_, n) =>
    n === 7 ? "visitor 7 of visitor 7" : `visitor ${n} of u${n % 20}`,
  );
  for (const { found, events, users, ...own } of [salvage(closed), salvage(open.database, open.log)]) {
    expect(events).toEqual(stored);
    expect(users).toBe(20);
    expect(own.joined.sort()).toEqual(joined.sort());
    expect(found.projects.map((project) => project.joinedIds)).toEqual([joinedIds - 1, 0]);
    expect(found).toMatchObject({ damagedRows: 0, damagedFrames: 0, lostRanges: [] });
    expect(found.projects.map(({ slug, missing, isAtLeast }) => [slug, missing, isAtLeast])).toEqual([
      ["shop", 0, false],
      ["other", 0, false],
    ]);
    expect(found.projects[0]!.channels.map(({ name }) => name)).toEqual(["c0", "c1", "c2"]);
  }
});

test("whatever page is overwritten, all other rows come out, and those that are missing are counted", () => {
  const pages = closed.length / pageBytes;
  const pagesOfEvents = [...marksOn].filter(([, marks]) => marks.size > 1).map(([page]) => page);
  let counted = 0;
  for (let seed = 1; seed <= effort(12, 300); seed++) {
    const random = randomOf(seed);
    const damaged = Buffer.from(closed);
    const share = [null, 0.02, 0.1, 0.5][seed % 4]!;
    // Every third time the header and the schema too.
    if (seed % 3 === 0) damaged.fill(0x5a, 0, pageBytes);
    // Events alone are missing, so their number is known.
    if (share === null) {
      const page = pagesOfEvents[Math.floor(random() * pagesOfEvents.length)]!;
      damaged.fill(0, page * pageBytes, (page + 1) * pageBytes);
    } else
      for (let left = Math.ceil(pages * share); left > 0; left--) {
        const start = Math.floor(random() * pages) * pageBytes;
        const [from, length] =
          random() < 0.3 ? [start + 512 * Math.floor(random() * 8), 512] : [start, pageBytes];
        const kind = Math.floor(random() * 4);
        // A write of another page that went astray.
        const source = Math.floor(random() * pages) * pageBytes;
        if (kind === 0) damaged.copy(damaged, from, source, source + length);
        else if (kind === 1) for (let at = from; at < from + length; at++) damaged[at] = random() * 256;
        else damaged.fill(kind === 2 ? 0 : 0x5a, from, from + length);
      }
    const salvaged = salvage(damaged);
    expectAllIntact(damaged, salvaged, seed);
    const { projects, damagedRows } = salvaged.found;
    const missing = stored.size - salvaged.events.size;
    // An event that comes out twice, from a page that was written to two places, hides a missing one.
    const hasDoubles = projects.reduce((sum, { events }) => sum + events, 0) > salvaged.events.size;
    // What counts events is damaged less often than events.
    if (hasDoubles) continue;
    if (missing > 0 && projects.every(({ isAtLeast }) => !isAtLeast)) {
      expect([seed, projects.reduce((sum, project) => sum + project.missing!, 0)]).toEqual([seed, missing]);
      counted++;
    } else expect(missing === 0 || damagedRows > 0 || projects.some(({ isAtLeast }) => isAtLeast)).toBe(true);
  }
  expect(counted).toBeGreaterThan(0);
}, 600_000);

test("of a file that was cut off, all rows before come out, and the time of the others is told", () => {
  for (const pages of [1, 10, 100, Math.floor(closed.length / pageBytes / 2)]) {
    const damaged = closed.subarray(0, pages * pageBytes + 100);
    const salvaged = salvage(damaged);
    expectOnlyStored(salvaged);
    expectAllIntact(damaged, salvaged, pages);
  }
});

test("a range of time is told for a page of events, by the hour and without counters", () => {
  const file = databaseFile(join(directory, "data"));
  using database = new Database(file, { readonly: true });
  const [[root]] = database.query("SELECT rootpage FROM sqlite_schema WHERE name = 'events'").values() as [
    [number],
  ];
  const inner = closed.subarray((root - 1) * pageBytes, root * pageBytes);
  expect(inner[0]).toBe(5);
  const leaf = inner.readUInt32BE(inner.readUInt16BE(12 + 2 * 5));
  const damaged = Buffer.from(closed);
  damaged.fill(0, (leaf - 1) * pageBytes, leaf * pageBytes);
  const { found, events } = salvage(damaged);
  const lost = [...stored]
    .filter(([mark]) => !events.has(mark))
    .map(([, json]) => JSON.parse(json).createdAt as string);
  expect(lost.length).toBeGreaterThan(3);
  const ranges = found.projects.flatMap(({ ranges }) => ranges);
  expect(ranges.reduce((sum, { events }) => sum + events!, 0)).toBe(lost.length);
  const [page, ...others] = found.lostRanges;
  expect(others).toEqual([]);
  for (const createdAt of lost) {
    const ms = Date.parse(createdAt);
    expect(ranges.some(({ fromMs, toMs }) => ms >= fromMs! && ms < toMs!)).toBe(true);
    expect(ms >= page!.fromMs! && ms < page!.toMs!).toBe(true);
  }
});

test("a damaged log loses only its damaged pages, and a damaged header of the log nothing", () => {
  const frameBytes = pageBytes + 24;
  const frames = Math.floor((open.log.length - 32) / frameBytes);
  expect(frames).toBeGreaterThan(events);
  for (let seed = 1; seed <= effort(3, 30); seed++) {
    const random = randomOf(seed);
    const log = Buffer.from(open.log);
    const at = 32 + Math.floor(random() * frames) * frameBytes + 24;
    log.fill(0xab, at, at + pageBytes);
    const salvaged = salvage(open.database, log);
    // Most frames have a newer version of their page after them.
    expectOnlyStored(salvaged);
    expect(salvaged.events.size).toBeGreaterThan(events - 60);
  }
  const log = Buffer.from(open.log);
  log.fill(0xab, 0, 24);
  expect(salvage(open.database, log).events.size).toBe(events);
  log.fill(0xab, 0, 32);
  expect(salvage(open.database, log).events.size).toBe(events);
  log.fill(0xab);
  expectOnlyStored(salvage(open.database, log));
});

test("pages that name each other again and again end the search", () => {
  const damaged = Buffer.alloc(3 * pageBytes);
  for (const page of [2, 3]) {
    const bytes = damaged.subarray((page - 1) * pageBytes, page * pageBytes);
    const cells = 300;
    bytes[0] = 5;
    bytes.writeUInt16BE(cells, 3);
    for (let n = 0; n < cells; n++) {
      const cell = 1_000 + 5 * n;
      bytes.writeUInt16BE(cell, 12 + 2 * n);
      bytes.writeUInt32BE(n % 2 === 0 ? 2 : 3, cell);
    }
  }
  expect(salvage(damaged).found.lostRanges).toEqual([]);
});
