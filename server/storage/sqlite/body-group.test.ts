import { expect, test } from "bun:test";
import fc from "fast-check";
import { effort } from "../../testing/engine.ts";
import {
  DamagedGroup,
  GroupReader,
  groupOf,
  isReference,
  ordinalOf,
  packGroup,
  parseReference,
  referenceOf,
  referenceText,
  withoutBodies,
} from "./body-group.ts";

/** JSON without line ends, as a row's body, from a few bytes to a hundred thousand. */
const body = fc
  .record({
    name: fc.string({ unit: "binary", minLength: 1, maxLength: 40 }),
    description: fc.oneof(
      { weight: 20, arbitrary: fc.constant("") },
      { weight: 5, arbitrary: fc.string({ unit: "grapheme", maxLength: 2_000 }) },
      { weight: 1, arbitrary: fc.string({ minLength: 20_000, maxLength: 40_000 }) },
    ),
  })
  .filter(({ name, description }) => (name + description).isWellFormed())
  .map((event) => JSON.stringify(event).slice(1, -1));
const bodies = fc.array(body, { minLength: 1, maxLength: 400 });

test("a group gives back the bodies that fit into it, and its row has a whole number of overflow pages", () => {
  fc.assert(
    fc.property(bodies, (bodies) => {
      const group = packGroup(bodies);
      expect(group.events).toBeGreaterThan(0);
      expect(group.bytes.length % 4_092).toBe(0);
      const reader = new GroupReader(1, group);
      reader.check();
      for (let ordinal = group.events - 1; ordinal >= 0; ordinal--)
        expect(reader.read(ordinal)).toBe(bodies[ordinal]!);
      expect(() => reader.read(group.events)).toThrow(DamagedGroup);
    }),
    { numRuns: effort(30, 300) },
  );
});

test("some hundred short bodies fit, and few long ones don't make a page each", () => {
  const short = Array.from(
    { length: 2_000 },
    (_, n) => `"name":"Payment ${n}","tags":{"plan":"pro","n":"${n}"}`,
  );
  expect(packGroup(short).events).toBeGreaterThan(300);
  const long = Array.from({ length: 100 }, (_, n) => `"name":"${crypto.randomUUID().repeat(20)}${n}"`);
  const group = packGroup(long);
  expect(group.events).toBeGreaterThanOrEqual(64);
  expect(group.bytes.length).toBeLessThanOrEqual(16 * 4_092);
});

test("bodies leave a group, whichever, and all others keep their ordinals", () => {
  fc.assert(
    fc.property(bodies, fc.array(fc.nat({ max: 400 })), (bodies, ordinals) => {
      const group = packGroup(bodies);
      const removed = new Set(ordinals.filter((ordinal) => ordinal < group.events));
      const rest = withoutBodies(1, group, removed);
      expect(rest?.events ?? 0).toBe(group.events - removed.size);
      if (!rest) return;
      expect(rest.bytes.length).toBeLessThanOrEqual(group.bytes.length);
      const reader = new GroupReader(1, rest);
      for (let ordinal = 0; ordinal < group.events; ordinal++) {
        if (removed.has(ordinal)) expect(() => reader.read(ordinal)).toThrow(DamagedGroup);
        else expect(reader.read(ordinal)).toBe(bodies[ordinal]!);
      }
    }),
    { numRuns: effort(30, 300) },
  );
});

test("a changed byte of a frame is found, and of another frame does not matter", () => {
  const bodies = Array.from({ length: 300 }, (_, n) => `"name":"Payment ${n}","userId":"u${n * 7_919}"`);
  const group = packGroup(bodies);
  const table = new DataView(group.frames.buffer);
  const first = table.getUint32(4);
  for (const at of [0, 5, first - 1]) {
    const bytes = group.bytes.slice();
    bytes[at]! ^= 1;
    const reader = new GroupReader(7, { ...group, bytes });
    expect(() => reader.read(3)).toThrow("compressed bodies, group 7: a checksum is wrong");
    expect(() => reader.check()).toThrow(DamagedGroup);
    expect(reader.read(299)).toBe(bodies[299]!);
  }
  const newer = group.frames.slice();
  newer[0] = 2;
  expect(() => new GroupReader(7, { ...group, frames: newer })).toThrow("its format is 2");
});

test("a reference is a text that no body is, and names its group and ordinal", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 32 }), fc.nat({ max: 1_295 }), (group, ordinal) => {
      const text = referenceText(referenceOf(group, ordinal));
      expect(isReference(text)).toBe(true);
      const reference = parseReference(text);
      expect([groupOf(reference), ordinalOf(reference)]).toEqual([group, ordinal]);
    }),
  );
  expect(isReference('"name":"a"')).toBe(false);
});
