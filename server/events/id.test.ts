import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  ArrivalClock,
  compareMoments,
  eventIdOf,
  isEventId,
  momentOfId,
  momentToken,
  parseMomentToken,
  sequenceMax,
} from "./id.ts";

const moments = fc.record({
  ms: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
  sequence: fc.integer({ min: 0, max: sequenceMax }),
});

describe("an id", () => {
  test("is a UUIDv7 that holds its moment, and sorts by it", () => {
    fc.assert(
      fc.property(moments, moments, fc.double({ min: 0, max: 0.999999999, noNaN: true }), (a, b, random) => {
        const id = eventIdOf(a, () => random);
        expect(isEventId(id)).toBe(true);
        expect(momentOfId(id)).toEqual(a);
        const other = eventIdOf(b, () => random);
        expect(Math.sign(id < other ? -1 : id > other ? 1 : 0)).toBe(Math.sign(compareMoments(a, b)));
      }),
    );
  });

  test("of one moment is another each time", () => {
    const ids = Array.from({ length: 10_000 }, () => eventIdOf({ ms: 1, sequence: 1 }));
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("is told apart from what is none", () => {
    const good = "0192f0c1-9c4a-7d3e-8b1f-2a6b7c8d9e0f";
    expect(isEventId(good)).toBe(true);
    for (const bad of [
      good.toUpperCase(),
      `${good} `,
      `${good}\n`,
      good.slice(1),
      good.replace("7d3e", "4d3e"),
      good.replace("8b1f", "7b1f"),
      good.replaceAll("-", ""),
      "",
    ]) {
      expect(isEventId(bad)).toBe(false);
    }
  });
});

describe("the clock of arrivals", () => {
  test("only goes on, whatever the machine's clock does", () => {
    fc.assert(
      fc.property(
        fc.option(moments),
        fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 200 }),
        (after, readings) => {
          const times = readings.values();
          const clock = new ArrivalClock(after, () => times.next().value!);
          let last = after ?? { ms: -1, sequence: 0 };
          for (const _ of readings) {
            const next = clock.next();
            expect(compareMoments(next, last)).toBeGreaterThan(0);
            expect(next.sequence).toBeLessThanOrEqual(sequenceMax);
            expect(clock.last).toEqual(next);
            last = next;
          }
        },
      ),
    );
  });

  test("follows the machine's clock where that goes on", () => {
    let now = 1_000;
    const clock = new ArrivalClock(null, () => now);
    expect(clock.next()).toEqual({ ms: 1_000, sequence: 0 });
    expect(clock.next()).toEqual({ ms: 1_000, sequence: 1 });
    now = 900;
    expect(clock.next()).toEqual({ ms: 1_000, sequence: 2 });
    now = 1_001;
    expect(clock.next()).toEqual({ ms: 1_001, sequence: 0 });
  });

  test("goes to the next millisecond where one is full", () => {
    const clock = new ArrivalClock({ ms: 5, sequence: sequenceMax }, () => 5);
    expect(clock.next()).toEqual({ ms: 6, sequence: 0 });
  });
});

test("a moment's token is read back, and nothing else is", () => {
  fc.assert(fc.property(moments, (moment) => expect(parseMomentToken(momentToken(moment))).toEqual(moment)));
  for (const text of [
    "",
    "-",
    "1",
    "1-",
    "-1",
    "1-2-3",
    " 1-2",
    "1-2\n",
    "1.5-2",
    "1e3-2",
    `1-${sequenceMax + 1}`,
    "1234567890123456-1",
  ]) {
    expect(parseMomentToken(text)).toBeNull();
  }
});
