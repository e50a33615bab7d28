import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  ArrivalClock,
  compareStamps,
  eventIdOf,
  isEventId,
  parseStampToken,
  sequenceMax,
  stampOfId,
  stampToken,
} from "./id.ts";

const startMs = Date.UTC(2026, 0, 31);

const stamps = fc.record({
  ms: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
  sequence: fc.integer({ min: 0, max: sequenceMax }),
});

describe("an id", () => {
  test("is a UUIDv7 that contains its arrival and sorts by it", () => {
    fc.assert(
      fc.property(stamps, stamps, fc.double({ min: 0, max: 0.999999999, noNaN: true }), (a, b, random) => {
        const id = eventIdOf(a, () => random);
        expect(isEventId(id)).toBe(true);
        expect(stampOfId(id)).toEqual(a);
        const other = eventIdOf(b, () => random);
        expect(Math.sign(id < other ? -1 : id > other ? 1 : 0)).toBe(Math.sign(compareStamps(a, b)));
      }),
    );
  });

  test("of the same arrival is different each time", () => {
    const ids = Array.from({ length: 10_000 }, () => eventIdOf({ ms: 1, sequence: 1 }));
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("is distinguished from other texts", () => {
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

describe("the arrival clock", () => {
  test("only moves forward, whatever the machine's clock does", () => {
    fc.assert(
      fc.property(
        fc.option(stamps),
        fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 200 }),
        (after, readings) => {
          const times = readings.values();
          const clock = new ArrivalClock(after, { now: () => startMs + (times.next().value ?? 0) });
          let last = after ?? { ms: -1, sequence: 0 };
          for (const _ of readings) {
            const next = clock.next();
            expect(compareStamps(next, last)).toBeGreaterThan(0);
            expect(next.sequence).toBeLessThanOrEqual(sequenceMax);
            expect(clock.last).toEqual(next);
            last = next;
          }
        },
      ),
    );
  });

  test("follows the machine's clock while that moves forward", () => {
    let now = startMs;
    const clock = new ArrivalClock(null, { now: () => now });
    expect(clock.next()).toEqual({ ms: startMs, sequence: 0 });
    expect(clock.next()).toEqual({ ms: startMs, sequence: 1 });
    now = startMs - 100;
    expect(clock.next()).toEqual({ ms: startMs, sequence: 2 });
    expect(clock.nowMs).toBe(now);
    now = startMs + 1;
    expect(clock.next()).toEqual({ ms: startMs + 1, sequence: 0 });
    expect(clock.nowMs).toBe(now);
  });

  test("moves to the next millisecond when one is full", () => {
    const clock = new ArrivalClock({ ms: startMs, sequence: sequenceMax }, { now: () => startMs });
    expect(clock.next()).toEqual({ ms: startMs + 1, sequence: 0 });
  });

  test("warns once how far arrivals are ahead of the machine's clock", () => {
    const warnings: string[] = [];
    const warn = (warning: string) => warnings.push(warning);
    let now = startMs;
    const clock = new ArrivalClock({ ms: startMs + 59_000, sequence: 0 }, { now: () => now, warn });
    clock.next();
    expect(warnings).toEqual([]);
    now -= 26 * 3_600_000;
    clock.next();
    clock.next();
    clock.observe(clock.last);
    expect(warnings).toEqual([expect.stringContaining("arrived 1 d 2 h ahead of this machine's clock")]);
  });

  test("throws while the machine's clock is impossible", () => {
    const warnings: string[] = [];
    for (const wrong of [0, Date.UTC(2023, 11, 31), Date.UTC(2100, 0, 1), Date.UTC(2200, 0, 1)]) {
      let now = wrong;
      const clock = new ArrivalClock(null, { now: () => now, warn: (warning) => warnings.push(warning) });
      expect(() => clock.next()).toThrow(`clock shows ${new Date(wrong).toISOString()}`);
      now = startMs;
      expect(clock.next()).toEqual({ ms: startMs, sequence: 0 });
    }
    expect(warnings).toHaveLength(4);
  });
});

test("a stamp's token parses to the stamp, and nothing else parses", () => {
  fc.assert(fc.property(stamps, (stamp) => expect(parseStampToken(stampToken(stamp))).toEqual(stamp)));
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
    expect(parseStampToken(text)).toBeNull();
  }
});
