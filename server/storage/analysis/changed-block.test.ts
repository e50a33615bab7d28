import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Event } from "../../event/event.ts";
import { userHash, userWords } from "../../event/user-hash.ts";
import { fullBits } from "../bits.ts";
import type { Columns, Fields, TextColumn } from "./batch.ts";
import { withChanges } from "./changed-block.ts";
import { columnsOfEvents, type TimedEvent } from "./event-columns.ts";

const fields: Fields = { users: true, split: { by: "tag", key: "plan" }, number: "amount" };
const filters = [{}, { name: "a" }];

const timed: fc.Arbitrary<TimedEvent> = fc.record({
  ms: fc.integer({ min: 1, max: 12 }),
  event: fc
    .record({
      name: fc.constantFrom("a", "b"),
      userId: fc.constantFrom("", "u1", "u2", "u3"),
      tags: fc.record(
        { plan: fc.constantFrom("pro", "free"), amount: fc.constantFrom("1", "x") },
        { requiredKeys: [] },
      ),
    })
    .map((event) => event as unknown as Event),
});
const inOrder = (events: TimedEvent[]) => events.toSorted((a, b) => a.ms - b.ms);

/** A block's columns: numbers are apart, and a column that no event has a value of is null. */
function blockOf(events: TimedEvent[]): Columns {
  const columns = columnsOfEvents(events, filters, fields);
  const stored = (column: TextColumn | null): TextColumn | null => {
    if (!column || column.texts.length === 0) return null;
    const [numbers, others] = [["1"], ["x", "pro", "free"]].map((known) =>
      known.filter((text) => column.texts.includes(text)),
    );
    const order = [...numbers!, ...others!];
    const indexes = column.indexes.map((index) =>
      index === 0 ? 0 : order.indexOf(column.texts[index - 1]!) + 1,
    );
    return { indexes, doubles: Float64Array.from(numbers!, Number), texts: others! };
  };
  return { ...columns, split: stored(columns.split), number: stored(columns.number) };
}

test("a changed block has the events that are there now", () => {
  fc.assert(
    fc.property(
      fc.array(timed),
      fc.array(timed),
      fc.uniqueArray(fc.integer({ min: 1, max: 12 })),
      (before, after, changed) => {
        const changedMs = new Set(changed);
        const kept = inOrder(before);
        const events = inOrder(after.filter(({ ms }) => changedMs.has(ms)));
        const current = inOrder([...kept.filter(({ ms }) => !changedMs.has(ms)), ...events]);
        const matched = filters.map((filter) => {
          const bits = fullBits(kept.length);
          for (const [at, { event }] of kept.entries())
            if ("name" in filter && event.name !== filter.name) bits[at >> 5]! &= ~(1 << (at & 31));
          return bits;
        });
        const columns = withChanges({ columns: blockOf(kept), matched, changedMs, events }, filters, fields);

        const textAt = (column: TextColumn | null | undefined, at: number) => {
          const index = column?.indexes[at] ?? 0;
          const { doubles, texts } = column ?? { doubles: [], texts: [] };
          return index === 0
            ? undefined
            : index <= doubles.length
              ? String(doubles[index - 1])
              : texts[index - 1 - doubles.length];
        };
        const userAt = (at: number) => {
          const index = columns.users!.indexes[at]!;
          return index === 0
            ? ""
            : columns.users!.hashes.slice((index - 1) * userWords, index * userWords).join();
        };
        const found = [...columns.ms.entries()].flatMap(([at, ms]) =>
          columns.masks[at] === 0
            ? []
            : [
                [
                  ms,
                  columns.masks[at],
                  userAt(at),
                  textAt(columns.split, at),
                  textAt(columns.number, at),
                ].join(" "),
              ],
        );
        const expected = current.map(({ ms, event: { name, userId, tags } }) =>
          [
            ms,
            name === "a" ? 3 : 1,
            userId === "" ? "" : [...userHash(userId)].join(),
            tags.plan,
            tags.amount,
          ].join(" "),
        );
        expect(found.toSorted()).toEqual(expected.toSorted());
        expect([...columns.ms]).toEqual([...columns.ms].toSorted((a, b) => a - b));
      },
    ),
  );
});
