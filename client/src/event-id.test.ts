import { expect, test } from "bun:test";
import fc from "fast-check";
import { isEventId } from "../../server/event/id.ts";
import { createEventIds } from "./event-id.ts";

const latestMs = 2 ** 48 - 100_000;

test("ids are UUIDv7 with the current time", () => {
  const ids = createEventIds(() => Date.parse("2026-01-31T09:30:00.123Z"));
  const id = ids();
  expect(isEventId(id)).toBe(true);
  expect(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)).toBe(Date.parse("2026-01-31T09:30:00.123Z"));
});

test("ids strictly increase, whatever the clock and the random bytes do", () => {
  const clock = fc.array(fc.integer({ min: 0, max: latestMs }), { minLength: 1, maxLength: 300 });
  fc.assert(
    fc.property(clock, fc.integer({ min: 0, max: 255 }), fc.boolean(), (times, byte, isFrozen) => {
      let call = 0;
      const now = () => (isFrozen ? times[0]! : times[call++ % times.length]!);
      const ids = createEventIds(now, (bytes) => bytes.fill(byte));
      let last = "";
      for (let count = 0; count < times.length; count++) {
        const id = ids();
        expect(isEventId(id)).toBe(true);
        expect(id > last).toBe(true);
        last = id;
      }
    }),
  );
});

test("ids strictly increase when a millisecond's counter is used up", () => {
  const ids = createEventIds(() => 1_770_000_000_000);
  let last = "";
  for (let count = 0; count < 20_000; count++) {
    const id = ids();
    expect(id > last).toBe(true);
    last = id;
  }
});

test("two generators never create the same id in the same millisecond", () => {
  const made = new Set<string>();
  for (let source = 0; source < 200; source++) {
    const ids = createEventIds(() => 1_770_000_000_000);
    for (let count = 0; count < 50; count++) made.add(ids());
  }
  expect(made.size).toBe(200 * 50);
});

test("without a global crypto, as in Node 18, ids are still unique", () => {
  const own = Object.getOwnPropertyDescriptor(globalThis, "crypto")!;
  const nextId = createEventIds();
  try {
    Object.defineProperty(globalThis, "crypto", { value: undefined, configurable: true });
    const ids = Array.from({ length: 1_000 }, nextId);
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new Set(ids.map((id) => id.slice(-12))).size).toBe(1_000);
  } finally {
    Object.defineProperty(globalThis, "crypto", own);
  }
});
