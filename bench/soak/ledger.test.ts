import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { isEventId } from "../../server/event/id.ts";
import { EventSet, fateOf, idOf, importedFrom, sentOf } from "./ledger.ts";

const numbers = fc.oneof(
  fc.nat(10_000_000),
  fc.nat(1_000_000).map((number) => importedFrom + number),
);
const sent = fc.record({ run: fc.nat(4_095), number: numbers });

test("an id contains its run and number, and events accept it", () => {
  fc.assert(
    fc.property(sent, fc.integer({ min: 0, max: 2 ** 42 }), ({ run, number }, ms) => {
      const id = idOf(ms, run, number);
      expect(isEventId(id)).toBe(true);
      expect(sentOf(id)).toEqual({ run, number, fate: fateOf(number) });
    }),
  );
  expect(sentOf("0192f0c1-9c4a-7d3e-8b1f-2a6b7c8d9e0f")).toBeNull();
  expect(sentOf("0192f0c1-9c4a-7d3e-8000-2a6b7c8d9e0f")).toBeNull();
});

test("a set has what was added, says what was there, and is the same after it was saved", () => {
  const directory = mkdtempSync(join(tmpdir(), "tidings-ledger-"));
  fc.assert(
    fc.property(
      fc.uniqueArray(sent, { maxLength: 50, selector: ({ run, number }) => `${run} ${number}` }),
      (added) => {
        rmSync(directory, { recursive: true, force: true });
        const events = new EventSet();
        for (const one of added) expect(events.add(one)).toBe(false);
        for (const one of added) expect(events.add(one)).toBe(true);
        events.save(directory);
        const keys = (set: EventSet) => [...set].map(({ run, number }) => `${run} ${number}`).sort();
        expect(keys(EventSet.load(directory))).toEqual(
          added.map(({ run, number }) => `${run} ${number}`).sort(),
        );
      },
    ),
    { numRuns: 30 },
  );
  rmSync(directory, { recursive: true, force: true });
});
