import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Event } from "../../server/event/event.ts";
import { byTime, type FeedEntry, toEntry } from "./entries.ts";
import { type FeedRow, keyOf, toggled, toRows } from "./rows.ts";

const start = Date.UTC(2026, 0, 31, 22);

/** Events of two channels and two names, some minutes apart, so that runs of any length and several days occur. */
const entriesOf = fc
  .array(
    fc.record({
      channel: fc.constantFrom("a", "b"),
      name: fc.constantFrom("x", "y"),
      gap: fc.constantFrom(0, 1, 200),
    }),
    { maxLength: 60 },
  )
  .map((made) => {
    let at = start;
    return made
      .map(({ channel, name, gap }, n): FeedEntry => {
        at += gap * 60_000;
        const createdAt = new Date(at).toISOString();
        const id = String(n).padStart(4, "0");
        const event: Event = { id, channelId: channel, name, userId: "", notify: false, tags: {}, createdAt };
        return toEntry(event, 0);
      })
      .sort(byTime);
  });

const unfoldedOf = (entries: readonly FeedEntry[], every: number) =>
  new Set(entries.filter((_, at) => at % every === 0).map(({ event }) => event.id));

/** The entries that rows stand for, in their order. */
function entriesIn(rows: readonly FeedRow[], entries: readonly FeedEntry[]): FeedEntry[] {
  return rows.flatMap((row) => {
    if (row.kind === "event") return [row.entry];
    if (row.kind === "run" && !row.isOpen) return entries.slice(row.index, row.index + row.count);
    return [];
  });
}

const sameKind = (a: FeedEntry, b: FeedEntry) =>
  a.event.name === b.event.name && a.event.channelId === b.event.channelId && a.day === b.day;

describe("rows", () => {
  test("stand for every entry once, in order, folded or not", () => {
    fc.assert(
      fc.property(entriesOf, fc.integer({ min: 1, max: 9 }), fc.boolean(), (entries, every, folds) => {
        const rows = toRows(entries, folds ? unfoldedOf(entries, every) : null);
        expect(entriesIn(rows, entries)).toEqual([...entries]);
        expect(new Set(rows.map(keyOf)).size).toBe(rows.length);
        expect(rows.at(-1)?.shown ?? 0).toBe(entries.length);
        const shown = rows.map((row) => row.shown);
        expect(shown).toEqual(shown.toSorted((a, b) => a - b));
      }),
    );
  });

  test("have a heading before the first entry of each day", () => {
    fc.assert(
      fc.property(entriesOf, (entries) => {
        const rows = toRows(entries, new Set());
        const days = rows.flatMap((row) => (row.kind === "day" ? [row.day] : []));
        expect(days).toEqual([...new Set(entries.map(({ day }) => day))]);
        for (const row of rows) if (row.kind === "day") expect(entries[row.index]!.day).toBe(row.day);
      }),
    );
  });

  test("fold runs of three or more, as long as they can be, and nothing else", () => {
    fc.assert(
      fc.property(entriesOf, (entries) => {
        for (const row of toRows(entries, new Set())) {
          if (row.kind === "day") continue;
          const end = row.index + (row.kind === "run" ? row.count : 1);
          const run = entries.slice(row.index, end);
          if (row.kind === "run") {
            expect(row.count).toBeGreaterThanOrEqual(3);
            expect([row.newest, row.oldest]).toEqual([run[0]!, run.at(-1)!]);
            expect(run.every((entry) => sameKind(entry, row.newest))).toBe(true);
            for (const beside of [entries[row.index - 1], entries[end]])
              expect(beside && sameKind(beside, row.newest)).toBeFalsy();
          } else {
            const alike = [-2, -1, 1, 2].filter((step) => {
              const other = entries[row.index + step];
              return other && sameKind(other, row.entry);
            });
            expect(alike.includes(-1) && alike.includes(1)).toBe(false);
          }
        }
      }),
    );
  });

  test("unfold and fold again", () => {
    fc.assert(
      fc.property(entriesOf, fc.nat(), (entries, pick) => {
        const folded = toRows(entries, new Set());
        const runs = folded.filter((row) => row.kind === "run");
        if (runs.length === 0) return;
        const run = runs[pick % runs.length]!;
        const unfolded = toggled(new Set(), run, entries, run.index);
        const rows = toRows(entries, unfolded);
        const opened = rows.find((row) => keyOf(row) === run.key);
        expect(opened).toMatchObject({ kind: "run", isOpen: true, count: run.count });
        expect(rows.filter((row) => row.kind === "event" && row.run?.key === run.key)).toHaveLength(
          run.count,
        );
        expect(rows.length).toBe(folded.length + run.count);
        if (opened?.kind === "run") expect([...toggled(unfolded, opened, entries, run.index)]).toEqual([]);
      }),
    );
  });

  test("stay unfolded, with the same key, while newer events join a run", () => {
    fc.assert(
      fc.property(entriesOf, fc.integer({ min: 1, max: 5 }), (entries, newer) => {
        const first = toRows(entries, new Set()).find((row) => row.kind !== "day");
        if (first?.kind !== "run") return;
        const unfolded = toggled(new Set(), first, entries, first.index);
        const joined = Array.from({ length: newer }, (_, n): FeedEntry => {
          const { newest } = first;
          return { ...newest, event: { ...newest.event, id: `new-${n}` } };
        });
        const run = toRows([...joined, ...entries], unfolded).find((row) => row.kind !== "day");
        expect(run).toMatchObject({ kind: "run", key: first.key, isOpen: true, count: first.count + newer });
      }),
    );
  });
});
