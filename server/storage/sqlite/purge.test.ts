import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createMerge, hasTombstones } from "./purge.ts";

/** A number as FTS5 writes it: seven bits per byte, the highest first; a ninth byte has eight bits. */
function varint(value: number): number[] {
  const bits = BigInt(value);
  if (bits >= 1n << 56n) {
    const head = Array.from({ length: 8 }, (_, n) => Number((bits >> BigInt(8 + 7 * (7 - n))) & 127n) | 128);
    return [...head, Number(bits & 255n)];
  }
  const bytes = [Number(bits & 127n)];
  for (let rest = bits >> 7n; rest > 0n; rest >>= 7n) bytes.unshift(Number(rest & 127n) | 128);
  return bytes;
}

type Segment = { numbers: number[]; tombstonePages: number; entries: [removed: number, all: number] };
type Level = { merging: number; segments: Segment[] };

/** The structure record as in fts5_index.c, in the format with tombstones. */
function recordOf(levels: Level[], writes: number): Uint8Array {
  const segments = levels.reduce((sum, level) => sum + level.segments.length, 0);
  const fields = [
    levels.length,
    segments,
    writes,
    ...levels.flatMap(({ merging, segments }) => [
      merging,
      segments.length,
      ...segments.flatMap(({ numbers, tombstonePages, entries }) => [...numbers, tombstonePages, ...entries]),
    ]),
  ];
  return Uint8Array.from([0, 0, 0, 7, 0xff, 0, 0, 1, ...fields.flatMap(varint)]);
}

// Varints of every length. Some are larger than a double can hold exactly; these are skipped, not used.
const number = fc
  .tuple(fc.integer({ min: -1, max: 63 }), fc.double({ min: 1, max: 1.999, noNaN: true }))
  .map(([power, factor]) => Math.floor(factor * 2 ** power));
const segment = fc.record({
  numbers: fc.array(number, { minLength: 5, maxLength: 5 }),
  tombstonePages: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, number),
  entries: fc.tuple(number, number),
});
const level = fc.record({ merging: fc.nat(3), segments: fc.array(segment, { maxLength: 4 }) });

test("a record shows whether a segment has pages of tombstones, whatever the other numbers", () => {
  fc.assert(
    fc.property(fc.array(level, { maxLength: 5 }), number, (levels, writes) => {
      const pages = levels.flatMap(({ segments }) => segments.map(({ tombstonePages }) => tombstonePages));
      expect(hasTombstones(recordOf(levels, writes))).toBe(pages.some((count) => count > 0));
    }),
    { numRuns: 2_000 },
  );
});

describe("with the SQLite in use", () => {
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
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant("merge" as const), pages: fc.constantFrom(-4, 1, 4, 500) }),
    },
  );

  /** The numbers of FTS5's tombstone pages have this bit (`FTS5_TOMBSTONE_ROWID`). */
  const tombstonePage = 2n ** 53n;

  test("the record agrees with the existing pages", () => {
    let found = 0;
    fc.assert(
      fc.property(fc.array(deed, { minLength: 2, maxLength: 25 }), (deeds) => {
        using database = new Database(":memory:");
        database.run(
          "CREATE VIRTUAL TABLE t USING fts5 (tokens, content = '', contentless_delete = 1, detail = none)",
        );
        const pages = database.prepare<{ count: number }, [bigint]>(
          "SELECT count(*) AS count FROM t_data WHERE id >= ?1",
        );
        const record = database.prepare<{ block: Uint8Array }, []>("SELECT block FROM t_data WHERE id = 10");
        const add = database.prepare("INSERT INTO t (rowid, tokens) VALUES (?1, ?2)");
        let last = 0;
        for (const each of deeds) {
          if (each.kind === "add") {
            database.transaction(() => {
              for (let n = 0; n < each.count; n++) add.run(++last, `c${last % 7} u${last % 91} w${last}`);
            })();
          } else if (each.kind === "remove") {
            database.run("DELETE FROM t WHERE rowid % ?1 = 0 AND rowid <= ?2", [each.every, last]);
          } else database.run("INSERT INTO t (t, rank) VALUES ('merge', ?1)", [each.pages]);
          const { count } = pages.get(tombstonePage)!;
          if (count > 0) found++;
          expect(hasTombstones(record.get()!.block)).toBe(count > 0);
        }
      }),
      { numRuns: 60 },
    );
    expect(found).toBeGreaterThan(60);
  });

  test("what is removed during a merge is merged away, too", () => {
    using database = new Database(":memory:");
    database.run(
      "CREATE VIRTUAL TABLE events_index USING fts5 (tokens, content = '', contentless_delete = 1, detail = none)",
    );
    const add = database.prepare("INSERT INTO events_index (rowid, tokens) VALUES (?1, ?2)");
    for (let rowid = 1; rowid <= 3_000; rowid++) add.run(rowid, `c${rowid % 7} u${rowid % 91} w${rowid}`);
    const goOn = database.prepare("INSERT INTO events_index (events_index, rank) VALUES ('merge', ?1)");
    const remove = database.prepare("DELETE FROM events_index WHERE rowid = ?1");
    for (let removed = 1; removed <= 40; removed++) {
      goOn.run(removed % 2 ? -1 : 1);
      remove.run(removed);
    }
    const { beginMerge, merge } = createMerge(database);
    beginMerge();
    let steps = 0;
    while (merge()) expect(++steps).toBeLessThan(1_000);
    const record = database.query<{ block: Uint8Array }, []>(
      "SELECT block FROM events_index_data WHERE id = 10",
    );
    expect(hasTombstones(record.get()!.block)).toBe(false);
  });
});
