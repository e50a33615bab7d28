import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Fault } from "../core/problems.ts";
import { anyBody } from "../testing/arbitraries.ts";
import { type CheckedEvent, checkEvent } from "./check-event.ts";
import { readCreatedAt } from "./created-at.ts";
import { NewEvent } from "./event.ts";

const check = (body: unknown): CheckedEvent | Fault[] => checkEvent(body, Date.now());

/** The schema's result in the form of `checkEvent`; null if it rejects. */
function bySchema(body: unknown): CheckedEvent | null {
  const result = NewEvent.safeParse(body);
  if (!result.success) return null;
  const { channel, name, event, userId, user_id, icon, notify, tags, description, id, createdAt } =
    result.data;
  return {
    channel,
    name: (name ?? event)!,
    userId: userId ?? user_id ?? "",
    icon,
    notify: notify ?? false,
    tags: tags ?? {},
    event: name === undefined ? undefined : event,
    description,
    id: id?.toLowerCase(),
    createdAtMs: createdAt === undefined ? undefined : (readCreatedAt(createdAt, Date.now()) as number),
  };
}

/** Zod drops a record's own `__proto__`. Everything else must match. */
function hasProtoTag(body: unknown): boolean {
  const tags = (body as { tags?: unknown } | null)?.tags;
  return typeof tags === "object" && tags !== null && Object.hasOwn(tags, "__proto__");
}

test("the fast check and the schema agree on every body", () => {
  const verdicts = { accepted: 0, rejected: 0 };
  fc.assert(
    fc.property(
      anyBody.filter((body) => !hasProtoTag(body)),
      (body) => {
        const checked = check(body);
        const expected = bySchema(body);
        if (Array.isArray(checked)) {
          verdicts.rejected++;
          expect(expected).toBeNull();
          for (const { pointer, detail } of checked) {
            expect(pointer).toMatch(/^(?:\/(?:[^~/]|~[01])*)*$/);
            expect(detail).toMatch(/[.?]$/);
            expect(detail.isWellFormed()).toBe(true);
          }
          expect(checked.length).toBeGreaterThan(0);
        } else {
          verdicts.accepted++;
          expect(JSON.stringify(checked)).toBe(JSON.stringify(expected));
        }
      },
    ),
    { numRuns: 5_000 },
  );
  // Not all bodies may be rejected, or the property would prove nothing.
  expect(verdicts.accepted).toBeGreaterThan(500);
  expect(verdicts.rejected).toBeGreaterThan(500);
});

test("a tag named __proto__ is a tag like any other", () => {
  const body = (value: unknown) =>
    JSON.parse(`{"channel":"c","name":"n","tags":{"__proto__":${JSON.stringify(value)}}}`);
  expect(JSON.stringify((check(body("v")) as CheckedEvent).tags)).toBe('{"__proto__":"v"}');
  expect(check(body(1))).toEqual([
    { pointer: "/tags/__proto__", detail: expect.stringContaining("a number") },
  ]);
});

test("hostile bodies are rejected fast and with short messages", () => {
  const ok = { channel: "c", name: "n" };
  const long = "x".repeat(1_000_000);
  const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`k${n}`, 1]));
  const bodies = [
    { ...ok, [long]: 1 },
    { ...ok, ...many },
    { ...ok, tags: many },
    { ...ok, tags: { [long]: long } },
    { ...ok, name: "💰".repeat(250_000) },
  ];
  for (const body of bodies) {
    const startMs = performance.now();
    const faults = check(body);
    expect(performance.now() - startMs).toBeLessThan(1_000);
    expect(faults).toBeArray();
    expect(JSON.stringify(faults).length).toBeLessThan(15_000);
  }
});

describe("createdAt", () => {
  const now = Date.UTC(2026, 5, 1);
  const cases: [value: unknown, ms: number | null][] = [
    ["2026-01-31T09:30:00Z", Date.UTC(2026, 0, 31, 9, 30)],
    ["2026-01-31t09:30:00z", Date.UTC(2026, 0, 31, 9, 30)],
    ["2026-01-31 09:30Z", Date.UTC(2026, 0, 31, 9, 30)],
    ["2026-01-31T09:30:00+05:45", Date.UTC(2026, 0, 31, 3, 45)],
    ["2026-01-31T23:59:59.9999Z", Date.UTC(2026, 0, 31, 23, 59, 59, 999)],
    ["2024-02-29T00:00:00Z", Date.UTC(2024, 1, 29)],
    ["2026-02-29T00:00:00Z", null],
    ["2026-04-31T00:00:00Z", null],
    ["2026-13-01T00:00:00Z", null],
    ["2026-00-01T00:00:00Z", null],
    ["2026-01-00T00:00:00Z", null],
    ["2026-01-31T24:00:01Z", null],
    ["2026-01-31T09:60:00Z", null],
    ["2026-01-31T09:30:60Z", null],
    ["2026-01-31T09:30:00", null],
    ["2026-01-31T09:30:00+0100", null],
    ["+002026-01-31T09:30:00Z", null],
    [" 2026-01-31T09:30:00Z", null],
    ["1769855400000", null],
    ["", null],
    [now + 86_400_000, now + 86_400_000],
    [now + 86_400_001, null],
    [10_000_000_000, 10_000_000_000],
    [9_999_999_999, null],
    [Number.NaN, null],
    [Number.POSITIVE_INFINITY, null],
    [null, null],
    [{}, null],
  ];
  for (const [value, ms] of cases) {
    test(`${JSON.stringify(value)} is ${ms === null ? "rejected" : new Date(ms).toISOString()}`, () => {
      const read = readCreatedAt(value, now);
      if (ms === null) expect(read).toBeString();
      else expect(read).toBe(ms);
    });
  }
});
