import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMerging } from "./merging.ts";
import { databaseFile, migrate, openForWriting } from "./open.ts";
import { rowKeyAt } from "./row-key.ts";

const commits = 3_000;
const commitEvents = 10;

test("the index is merged continuously, in small steps, and far enough", () => {
  const directory = mkdtempSync(join(tmpdir(), "tidings-merging-"));
  migrate(directory);
  const database = openForWriting(databaseFile(directory));
  database.run("PRAGMA synchronous = OFF");
  database.run("PRAGMA wal_autocheckpoint = 0");
  const merging = createMerging(database);
  const insert = database.prepare("INSERT INTO events_index (rowid, tokens) VALUES (?, ?)");
  const segments = database.query<{ count: number }, []>(
    "SELECT count(DISTINCT segid) AS count FROM events_index_idx",
  );
  const levels = database.query<{ count: number }, []>(
    "SELECT unicode(substr(block, 9, 1)) AS count FROM events_index_data WHERE id = 10",
  );
  /** All pages ever written to the log. */
  const pagesWritten = () => (database.query("PRAGMA wal_checkpoint(PASSIVE)").get() as { log: number }).log;
  let before = pagesWritten();
  let mostPages = 0;
  let mostSegments = 0;
  for (let n = 0; n < commits * commitEvents; ) {
    database.transaction(() => {
      for (const end = n + commitEvents; n < end; n++) {
        const tokens = `1a 1c${n % 20} 1u${(n * 7_919) % 100_003} 1tx=${n} 1ty=${n * 31} 1w${n % 1_000} 1wpayment`;
        insert.run(rowKeyAt(n + 1), tokens);
        merging.added(tokens);
      }
      merging.step();
    })();
    const pages = pagesWritten();
    // A checkpoint restarts the log.
    mostPages = Math.max(mostPages, pages < before ? pages : pages - before);
    before = pages;
    mostSegments = Math.max(mostSegments, segments.get()!.count);
  }
  expect(levels.get()!.count).toBeGreaterThan(3);
  expect(mostPages).toBeLessThan(200);
  expect(mostSegments).toBeLessThan(32);
  database.run("INSERT INTO events_index (events_index) VALUES ('integrity-check')");
  database.close();
  rmSync(directory, { recursive: true });
});
