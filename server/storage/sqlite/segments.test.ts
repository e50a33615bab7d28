import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { databaseFile, migrate, openForWriting } from "./open.ts";
import { rowKeyAt } from "./row-key.ts";
import { createReadTerms, segmentsIn } from "./segments.ts";

test("the terms are the same as FTS5's, with any number of segments", () => {
  const directory = mkdtempSync(join(tmpdir(), "tidings-segments-"));
  migrate(directory);
  const database = openForWriting(databaseFile(directory));
  database.run("CREATE VIRTUAL TABLE temp.told USING fts5vocab ('main', 'events_index', 'row')");
  const readTerms = createReadTerms(database);
  const insert = database.prepare("INSERT INTO events_index (rowid, tokens) VALUES (?, ?)");
  const structure = database.prepare<{ block: Uint8Array }, []>(
    "SELECT block FROM events_index_data WHERE id = 10",
  );
  const segments = new Set<number>();
  let n = 0;
  for (let batch = 0; batch < 60; batch++) {
    database.transaction(() => {
      for (let row = 0; row < 400; row++, n++) {
        // A term on every event, terms on many, long terms, and a unique one in any script.
        const tokens = [
          "1a",
          `1c${n % 3}`,
          `1t${"x".repeat(n % 90)}`,
          `1u${n * 7_919}`,
          `1w${"語é𝒳z"[n % 5] ?? ""}${n % 1_000}`,
        ];
        insert.run(rowKeyAt(n + 1), tokens.join(" "));
      }
    })();
    segments.add(segmentsIn(structure.get()!.block).length);
    if (batch % 12 !== 11) continue;
    const told = database
      .query<{ term: string }, []>("SELECT term FROM temp.told")
      .all()
      .map(({ term }) => term);
    expect(told.length).toBeGreaterThan(400);
    expect(readTerms("", "", told.length + 1)).toEqual(told);
    for (const prefix of ["1a", "1c", "1tx", "1u7", "1w語", "1w𝒳", "9"]) {
      const expected = told.filter((term) => term.startsWith(prefix));
      expect(readTerms(prefix, prefix, told.length)).toEqual(expected);
      for (let from = 0; from < expected.length; from += 397) {
        expect(readTerms(`${expected[from]}\0`, prefix, 2)).toEqual(expected.slice(from + 1, from + 3));
      }
    }
  }
  expect(segments.size).toBeGreaterThan(3);
  database.close();
  rmSync(directory, { recursive: true, force: true });
}, 60_000);

test("each leaf is read about once, however many segments there are", () => {
  const directory = mkdtempSync(join(tmpdir(), "tidings-leaves-"));
  migrate(directory);
  const database = openForWriting(databaseFile(directory));
  const insert = database.prepare("INSERT INTO events_index (rowid, tokens) VALUES (?, ?)");
  // Growing numbers are in one segment each; the other segments have only terms before and after.
  let n = 0;
  for (let batch = 0; batch < 15; batch++) {
    database.transaction(() => {
      for (let row = 0; row < 1_000; row++, n++) insert.run(rowKeyAt(n + 1), `1wo${100_000 + n} 1wz${n}`);
    })();
  }
  let reads = 0;
  const prepare = database.prepare.bind(database) as (sql: string) => {
    get: (...values: never[]) => unknown;
  };
  const counting = Object.assign(Object.create(database), {
    transaction: database.transaction.bind(database),
    prepare(sql: string) {
      const statement = prepare(sql);
      if (!sql.includes("id = ?1")) return statement;
      return {
        get(...values: never[]) {
          reads++;
          return statement.get(...values);
        },
      };
    },
  }) as typeof database;
  expect(createReadTerms(counting)("1wo", "1wo", 10_000)).toHaveLength(10_000);
  expect(reads).toBeLessThan(1_000);
  database.close();
  rmSync(directory, { recursive: true, force: true });
});
