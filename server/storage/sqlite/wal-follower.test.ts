import type { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { effort } from "../../testing/engine.ts";
import type { CopyPosition } from "../log-position.ts";
import { Replay } from "../replay.ts";
import { DamagedSegment, readSegment } from "../segment.ts";
import { databaseFile, openForReading, openForWriting } from "./open.ts";
import { copyPages } from "./page-copy.ts";
import { SegmentDirectory } from "./segment-directory.ts";
import { WalFollower } from "./wal-follower.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "tidings-follow-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** A database whose log is followed, and a place for its segments. */
function followed(name: string) {
  const dataDirectory = mkdtempSync(join(directory, name));
  const shipped = mkdtempSync(join(directory, `${name}-shipped`));
  let writer = openForWriting(databaseFile(dataDirectory));
  writer.run("CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT)");
  let follower = new WalFollower(dataDirectory, shipped);
  follower.begin();
  /** Reads whole pages: 100 rows take several. */
  const dump = (database: Database) => JSON.stringify(database.query("SELECT * FROM texts").values());
  return {
    dataDirectory,
    shipped,
    get writer() {
      return writer;
    },
    get follower() {
      return follower;
    },
    dump: () => dump(writer),
    add: (rows: number, text = "x".repeat(300)) =>
      writer.transaction(() => {
        for (let n = 0; n < rows; n++) writer.run("INSERT INTO texts (text) VALUES (?)", [`${text}${n}`]);
      })(),
    ship() {
      follower.cut();
      for (const { name, file } of follower.status.waiting) {
        cpSync(file, join(shipped, name));
        follower.shipped(name);
      }
    },
    copy(): { file: string; base: CopyPosition } {
      const file = join(mkdtempSync(join(directory, "copy-")), "copy.db");
      return { file, base: copyPages(dataDirectory, file) };
    },
    /** Closes everything as a server does, and opens it again. */
    restart() {
      writer.close();
      follower.close();
      follower = new WalFollower(dataDirectory, shipped);
      follower.resume();
      writer = openForWriting(databaseFile(dataDirectory));
    },
    /** Replays all segments over a copy, until a time, and returns the rows. */
    recovered({ file, base }: { file: string; base: CopyPosition }, untilMs = Number.POSITIVE_INFINITY) {
      const target = `${file}.${Math.random()}`;
      cpSync(file, target);
      const replay = new Replay(target, base.position, untilMs);
      for (const name of readdirSync(shipped).sort()) if (!replay.end) replay.apply(join(shipped, name));
      replay.close();
      using database = openForReading(target);
      expect(database.query("PRAGMA integrity_check").values()).toEqual([["ok"]]);
      return { rows: dump(database), end: replay.end, reachedMs: replay.reachedMs };
    },
    close() {
      writer.close();
      follower.close();
    },
  };
}

type Step = { does: (on: ReturnType<typeof followed>) => void; name: string };
const step = (name: string, does: Step["does"]): fc.Arbitrary<Step> => fc.constant({ name, does });
const steps: fc.Arbitrary<Step>[] = [
  ...[1, 30, 200].map((rows) => step(`add ${rows}`, (on) => on.add(rows))),
  step("delete", ({ writer }) => writer.run("DELETE FROM texts WHERE id % 3 = 0")),
  step("roll back", ({ writer, add }) => {
    writer.run("BEGIN");
    writer.run("PRAGMA cache_spill = 1");
    add(100);
    writer.run("ROLLBACK");
  }),
  step("shrink", ({ writer }) => writer.run("PRAGMA incremental_vacuum(50)")),
  step("vacuum", ({ writer }) => writer.run("VACUUM")),
  step("move pages", ({ writer }) => writer.run("PRAGMA wal_checkpoint(PASSIVE)")),
  step("empty the log", ({ writer }) => {
    writer.run("PRAGMA busy_timeout = 0");
    writer.run("PRAGMA wal_checkpoint(TRUNCATE)");
  }),
  step("capture", ({ follower }) => follower.capture()),
  step("ship", (on) => on.ship()),
  step("restart the log", ({ follower }) => follower.restartLog()),
  step("restart the log and empty it", ({ follower, writer }) => {
    follower.restartLog();
    writer.run("PRAGMA busy_timeout = 0");
    writer.run("PRAGMA wal_checkpoint(TRUNCATE)");
  }),
  step("restart", (on) => on.restart()),
];

test("whatever happens to the log, each recovery point has what was committed then", () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(...steps), { minLength: 5, maxLength: 40 }),
      fc.nat(20),
      (sequence, copyAfter) => {
        const on = followed("data");
        on.add(50);
        let copy = copyAfter === 0 ? on.copy() : null;
        const moments: { atMs: number; rows: string }[] = [];
        for (const [index, { does, name }] of sequence.entries()) {
          does(on);
          expect(on.follower.status.interruption).toBeNull();
          if (index === copyAfter) copy = on.copy();
          // Without a capture after each step, what isn't captured could be overwritten.
          if (copy && name === "capture") moments.push({ atMs: afterLastPoint(), rows: on.dump() });
        }
        copy ??= on.copy();
        on.ship();
        expect(on.recovered(copy)).toMatchObject({ rows: on.dump(), end: null });
        for (const { atMs, rows } of moments.slice(-3)) expect(on.recovered(copy, atMs).rows).toBe(rows);
        on.close();
      },
    ),
    { numRuns: effort(15, 400) },
  );
}, 600_000);

/** A time after the last point, and before the next. */
function afterLastPoint(): number {
  const atMs = Date.now();
  while (Date.now() <= atMs + 1);
  return atMs + 1;
}

test("after a crash the generation continues, and after a foreign restart of the log it ends", () => {
  const on = followed("data");
  on.add(100);
  const copy = on.copy();
  on.add(20);
  on.follower.capture();
  on.ship();
  on.add(20);
  on.follower.capture();
  // A crash leaves the files as they are.
  const crashed = mkdtempSync(join(directory, "crashed-"));
  cpSync(on.dataDirectory, crashed, { recursive: true });
  const rows = on.dump();
  const again = new WalFollower(crashed, on.shipped);
  again.resume();
  expect(again.status).toMatchObject({ generation: on.follower.status.generation, interruption: null });
  again.capture();
  again.cut();
  for (const { name, file } of again.status.waiting) cpSync(file, join(on.shipped, name));
  again.close();
  expect(on.recovered(copy)).toMatchObject({ rows, end: null });

  const other = mkdtempSync(join(directory, "other-"));
  cpSync(on.dataDirectory, other, { recursive: true });
  const command = openForWriting(databaseFile(other));
  command.run("DELETE FROM texts WHERE id < 10");
  command.close();
  const third = new WalFollower(other, on.shipped);
  third.resume();
  expect(third.status).toMatchObject({ generation: null, interruption: expect.stringContaining("changed") });
  third.close();
  on.close();
});

test("a closed database that was changed since, or whose segments go elsewhere, begins a new generation", () => {
  const on = followed("data");
  on.add(100);
  on.restart();
  const { generation } = on.follower.status;
  expect(generation).not.toBeNull();
  on.writer.close();
  on.follower.close();
  const elsewhere = new WalFollower(on.dataDirectory, "/elsewhere");
  elsewhere.resume();
  expect(elsewhere.status.generation).toBeNull();
  elsewhere.begin();
  elsewhere.close();
  const command = openForWriting(databaseFile(on.dataDirectory));
  command.run("DELETE FROM texts WHERE id < 10");
  command.close();
  const changed = new WalFollower(on.dataDirectory, "/elsewhere");
  changed.resume();
  expect(changed.status).toMatchObject({ generation: null, interruption: expect.any(String) });
  changed.close();
});

test("a page that the database lost and got back as it was is captured again", () => {
  const on = followed("data");
  const copy = on.copy();
  on.add(500);
  on.ship();
  on.writer.run("DELETE FROM texts");
  on.writer.run("PRAGMA incremental_vacuum");
  on.ship();
  on.add(500);
  on.ship();
  expect(on.recovered(copy).rows).toBe(on.dump());
  on.close();
});

test("pages that are written as they were are not captured", () => {
  const on = followed("data");
  on.add(10);
  on.ship();
  const before = readdirSync(on.shipped).length;
  const bytes = () => readdirSync(on.shipped).length;
  for (let n = 0; n < 3; n++) {
    on.writer.run("UPDATE texts SET text = text WHERE id = 1");
    on.ship();
  }
  expect(bytes()).toBe(before);
  on.writer.run("UPDATE texts SET text = 'another' WHERE id = 1");
  on.ship();
  expect(bytes()).toBe(before + 1);
  on.close();
});

test("a missing segment, a cut one and a changed one are noticed, and what comes before them is applied", () => {
  const on = followed("data");
  on.add(10);
  const copy = on.copy();
  const rows: string[] = [];
  for (let n = 0; n < 4; n++) {
    on.add(10);
    on.ship();
    rows.push(on.dump());
  }
  const names = readdirSync(on.shipped).sort().slice(-4);
  const third = join(on.shipped, names[2]!);
  const content = readFileSync(third);
  rmSync(third);
  expect(on.recovered(copy)).toMatchObject({ rows: rows[1]!, end: "gap" });
  for (const damaged of [content.subarray(0, -1), Buffer.from(content).fill(0, 200, 204)]) {
    writeFileSync(third, damaged);
    expect(() => on.recovered(copy)).toThrow(DamagedSegment);
  }
  writeFileSync(third, content);
  appendFileSync(third, "x");
  expect(() => [...readSegment(third)]).toThrow(DamagedSegment);
  writeFileSync(third, content);
  expect(on.recovered(copy)).toMatchObject({ rows: rows[3]!, end: null });
  on.close();
});

test("a generation ends when more waits than the disk can keep, and the log can be emptied again", () => {
  const on = followed("data");
  on.add(10);
  on.follower.interrupt("there was no more space");
  expect(on.follower.status).toMatchObject({
    generation: null,
    interruption: "there was no more space",
    waiting: [],
  });
  expect(new SegmentDirectory(on.dataDirectory).readState()).toBeNull();
  expect(on.writer.query("PRAGMA wal_checkpoint(TRUNCATE)").get()).toMatchObject({ busy: 0 });
  on.follower.begin();
  expect(on.follower.status).toMatchObject({ generation: expect.any(String), interruption: null });
  on.close();
});

test("a log that lost a frame before one that was captured, as after a power cut, is not continued", () => {
  const on = followed("data");
  for (let n = 0; n < 5; n++) on.add(5);
  on.ship();
  const crashed = mkdtempSync(join(directory, "crashed-"));
  cpSync(on.dataDirectory, crashed, { recursive: true });
  const log = `${databaseFile(crashed)}-wal`;
  const content = readFileSync(log);
  // In the second frame: the header has 32 bytes, a frame 4,120.
  content.fill(0xff, 32 + 4_120 + 1_000, 32 + 4_120 + 1_100);
  writeFileSync(log, content);
  const again = new WalFollower(crashed, on.shipped);
  again.resume();
  expect(again.status).toMatchObject({ generation: null, interruption: expect.any(String) });
  again.close();
  on.close();
});
