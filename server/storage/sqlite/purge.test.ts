import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import fc from "fast-check";
import { effort } from "../../testing/engine.ts";
import { createMerge } from "./purge.ts";

/** A token whose end is in the file as it is: FTS5 leaves out what a term has in common with the one before. */
function tokenOf(row: number): string {
  return new Bun.CryptoHasher("sha256").update(String(row)).digest("hex");
}

const deed = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant("add" as const), count: fc.integer({ min: 1, max: 400 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("remove" as const), every: fc.integer({ min: 2, max: 50 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("merge" as const), pages: fc.constantFrom(-4, -1, 1, 4, 500) }),
  },
);

test("the index contains nothing of removed rows after the merge, whatever was being merged before", () => {
  let found = 0;
  fc.assert(
    fc.property(fc.array(deed, { minLength: 2, maxLength: 25 }), (deeds) => {
      using database = new Database(":memory:");
      database.run(
        "CREATE VIRTUAL TABLE events_index USING fts5 (tokens, content = '', contentless_delete = 1, detail = none)",
      );
      const add = database.prepare("INSERT INTO events_index (rowid, tokens) VALUES (?1, ?2)");
      const remove = database.prepare("DELETE FROM events_index WHERE rowid = ?1");
      const rows = new Set<number>();
      const removed = new Set<number>();
      let last = 0;
      for (const each of deeds) {
        if (each.kind === "add") {
          database.transaction(() => {
            for (let n = 0; n < each.count; n++) {
              add.run(++last, `c${last % 7} ${tokenOf(last)}`);
              rows.add(last);
            }
          })();
        } else if (each.kind === "remove") {
          for (const row of [...rows].filter((row) => row % each.every === 0)) {
            remove.run(row);
            rows.delete(row);
            removed.add(row);
          }
        } else
          database.run("INSERT INTO events_index (events_index, rank) VALUES ('merge', ?1)", [each.pages]);
      }
      const stored = () =>
        Buffer.concat(
          database
            .query<{ block: Uint8Array }, []>("SELECT block FROM events_index_data")
            .all()
            .map(({ block }) => block),
        );
      const removedIn = (bytes: Buffer) =>
        [...removed].filter((row) => bytes.includes(tokenOf(row).slice(16)));
      if (removedIn(stored()).length > 0) found++;
      const { beginMerge, merge } = createMerge(database);
      beginMerge();
      let steps = 0;
      while (merge()) expect(++steps).toBeLessThan(1_000);
      const bytes = stored();
      expect(removedIn(bytes)).toEqual([]);
      expect([...rows].filter((row) => !bytes.includes(tokenOf(row).slice(16)))).toEqual([]);
      database.run("INSERT INTO events_index (events_index) VALUES ('integrity-check')");
    }),
    { numRuns: effort(40, 400) },
  );
  expect(found).toBeGreaterThan(effort(5, 100));
});

test("what is removed during a merge is merged away, too", () => {
  using database = new Database(":memory:");
  database.run(
    "CREATE VIRTUAL TABLE events_index USING fts5 (tokens, content = '', contentless_delete = 1, detail = none)",
  );
  const add = database.prepare("INSERT INTO events_index (rowid, tokens) VALUES (?1, ?2)");
  for (let row = 1; row <= 3_000; row++) add.run(row, `c${row % 7} ${tokenOf(row)}`);
  const goOn = database.prepare("INSERT INTO events_index (events_index, rank) VALUES ('merge', ?1)");
  const remove = database.prepare("DELETE FROM events_index WHERE rowid = ?1");
  for (let row = 1; row <= 40; row++) {
    goOn.run(row % 2 ? -1 : 1);
    remove.run(row);
  }
  const { beginMerge, merge } = createMerge(database);
  beginMerge();
  let steps = 0;
  while (merge()) {
    if (++steps < 40) remove.run(40 + steps);
    expect(steps).toBeLessThan(1_000);
  }
  const blocks = database.query<{ block: Uint8Array }, []>("SELECT block FROM events_index_data").all();
  const bytes = Buffer.concat(blocks.map(({ block }) => block));
  for (let row = 1; row < 40 + Math.min(steps, 40); row++)
    expect(bytes.includes(tokenOf(row).slice(16))).toBe(false);
  expect(bytes.includes(tokenOf(3_000).slice(16))).toBe(true);
});
