import type { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { effort } from "../../testing/engine.ts";
import { openForReading, openForWriting } from "./open.ts";
import { createZeroUnallocated, pageBytes, unallocatedIn } from "./unallocated.ts";

function temporaryFile() {
  const directory = mkdtempSync(join(tmpdir(), "tidings-unallocated-"));
  return {
    path: join(directory, "database"),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true }),
  };
}

function emptyLog(database: Database): void {
  database.run("PRAGMA wal_checkpoint(TRUNCATE)");
}

/** Numbers of the pages whose unallocated space has anything in it. */
function unclean(file: string): number[] {
  const bytes = readFileSync(file);
  const numbers = Array.from({ length: bytes.length / pageBytes }, (_, index) => index + 1);
  return numbers.slice(1).filter((number) => {
    const page = bytes.subarray((number - 1) * pageBytes, number * pageBytes);
    const space = unallocatedIn(page, number);
    return space !== null && page.subarray(space.from, space.to).some((byte) => byte !== 0);
  });
}

/** Zeroes all pages, a few at a time. */
function zeroAll(database: Database, file: string): void {
  const zero = createZeroUnallocated(database, file);
  for (let next: number | null = 1; next !== null; ) next = zero(next, 0);
}

const deed = fc.record({
  kind: fc.constantFrom("add" as const, "add" as const, "remove" as const, "change" as const),
  first: fc.nat(400),
  count: fc.integer({ min: 1, max: 300 }),
  bytes: fc.constantFrom(0, 20, 300, 2_000, 9_000),
});
type Deed = typeof deed extends fc.Arbitrary<infer Value> ? Value : never;

test("zeroing changes nothing that SQLite reads, in any page", () => {
  let found = 0;
  fc.assert(
    fc.property(fc.array(deed, { minLength: 3, maxLength: 15 }), (deeds) => {
      using file = temporaryFile();
      using database = openForWriting(file.path);
      database.run("CREATE TABLE rows (id INTEGER PRIMARY KEY, text, part)");
      database.run("CREATE INDEX by_text ON rows (text)");
      database.run("CREATE TABLE keys (text, id, PRIMARY KEY (text, id)) WITHOUT ROWID");
      // Leaves as much as it can.
      database.run("PRAGMA secure_delete = OFF");
      const run = database.transaction(({ kind, first, count, bytes }: Deed) => {
        const last = first + count - 1;
        if (kind === "remove") {
          for (const table of ["rows", "keys"])
            database.run(`DELETE FROM ${table} WHERE id BETWEEN ?1 AND ?2`, [first, last]);
          return;
        }
        for (let id = first; id <= last; id++) {
          const text = `${(id * 7_919) % 1_000} ${"x".repeat(bytes)}`;
          if (kind === "change") database.run("UPDATE rows SET text = ?2 WHERE id = ?1", [id, text]);
          else {
            database.run("INSERT OR IGNORE INTO rows VALUES (?1, ?2, zeroblob(30))", [id, text]);
            database.run("INSERT OR IGNORE INTO keys VALUES (?1, ?2)", [text.slice(0, 200), id]);
          }
        }
      });
      for (const each of deeds) run(each);
      // Free pages are not zeroed: with `secure_delete` they already are.
      database.run("PRAGMA incremental_vacuum");
      emptyLog(database);
      const content = () => [
        database.query("SELECT * FROM rows ORDER BY id").all(),
        database.query("SELECT * FROM keys ORDER BY text, id").all(),
      ];
      const before = content();
      if (unclean(file.path).length > 0) found++;
      zeroAll(database, file.path);
      expect(unclean(file.path)).toEqual([]);
      using reading = openForReading(file.path);
      expect(reading.query("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
      expect(content()).toEqual(before);
    }),
    { numRuns: effort(30, 300) },
  );
  expect(found).toBeGreaterThan(effort(10, 100));
});

test("what was zeroed doesn't come back from the cache of a connection", () => {
  using file = temporaryFile();
  using database = openForWriting(file.path);
  database.run("CREATE TABLE rows (id INTEGER PRIMARY KEY, text)");
  database.run("PRAGMA secure_delete = OFF");
  for (let id = 1; id < 20; id++)
    database.run("INSERT INTO rows VALUES (?1, ?2)", [id, `text of ${id} ${"x".repeat(30)}`]);
  database.run("DELETE FROM rows WHERE id > 10");
  emptyLog(database);
  expect(unclean(file.path)).not.toEqual([]);
  zeroAll(database, file.path);
  database.run("UPDATE rows SET text = 'text OF 3' WHERE id = 3");
  emptyLog(database);
  expect(readFileSync(file.path).includes("text OF 3")).toBe(true);
  expect(readFileSync(file.path).includes("text of 15")).toBe(false);
});

test("nothing is zeroed while the log has pages", () => {
  using file = temporaryFile();
  using database = openForWriting(file.path);
  database.run("CREATE TABLE rows (id INTEGER PRIMARY KEY, text)");
  database.run("PRAGMA secure_delete = OFF");
  for (let id = 1; id < 20; id++) database.run("INSERT INTO rows VALUES (?1, 'text')", [id]);
  database.run("DELETE FROM rows WHERE id > 10");
  emptyLog(database);
  database.run("INSERT INTO rows VALUES (100, 'text')");
  const left = unclean(file.path);
  expect(left).not.toEqual([]);
  expect(createZeroUnallocated(database, file.path)(1, 10)).toBe(1);
  expect(unclean(file.path)).toEqual(left);
});
