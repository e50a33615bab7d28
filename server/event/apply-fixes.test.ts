import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { limits } from "../core/limits.ts";
import { anyBody } from "../testing/arbitraries.ts";
import { effort } from "../testing/engine.ts";
import { applyFixes, eventMembers, suggestFixes } from "./apply-fixes.ts";
import { checkEvent } from "./check-event.ts";
import { NewEvent } from "./event.ts";
import type { EventFix } from "./event-fix.ts";

const isValid = (body: unknown) => !Array.isArray(checkEvent(body, Date.now()));
const fixed = (body: unknown) => applyFixes(body, suggestFixes(body));

const name = fc.oneof(fc.constantFrom(...eventMembers, "__proto__", "amount", "nme"), fc.string());
const fix: fc.Arbitrary<EventFix> = fc.oneof(
  fc.record({ type: fc.constantFrom("tags-to-strings", "shorten", "clean") }) as fc.Arbitrary<EventFix>,
  fc.record({ type: fc.constant("rename" as const), from: name, to: name }),
  fc.record({ type: fc.constantFrom("drop" as const, "to-tag" as const), member: name }),
  fc.record({ type: fc.constant("set-channel" as const), channel: fc.string() }),
);

test("the members are those of the schema", () => {
  expect([...eventMembers].sort()).toEqual(Object.keys(NewEvent.shape).sort());
});

test("fixes leave the event that they are given alone, and the same once more changes nothing", () => {
  fc.assert(
    fc.property(anyBody, fix, (body, fix) => {
      const before = JSON.stringify(body);
      const once = applyFixes(body, [fix]);
      expect(JSON.stringify(body)).toBe(before);
      expect(JSON.stringify(applyFixes(once, [fix]))).toBe(JSON.stringify(once));
    }),
    { numRuns: effort(500, 3_000) },
  );
});

test("a valid event needs no fix", () => {
  fc.assert(
    fc.property(anyBody.filter(isValid), (body) => {
      expect(suggestFixes(body)).toEqual([]);
    }),
    { numRuns: effort(400, 2_000) },
  );
});

test("the suggested fixes mend tags, unknown members, long texts and control characters", () => {
  const good = { channel: "payments", name: "Payment received" };
  const value = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.boolean(),
    fc.string({ unit: "binary", maxLength: 30 }),
    fc.constant("💰".repeat(limits.tagValueCharacters + 1)),
  );
  const flawed = fc.record(
    {
      tags: fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), value, { maxKeys: 5 }),
      description: fc.string({ unit: "binary", maxLength: 40 }),
      icon: fc.constant("x".repeat(limits.iconCharacters + 1)),
      userid: fc.constant("u1"),
      amount: fc.integer(),
      items: fc.constant([1, 2]),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(flawed, (flaws) => {
      const body = JSON.parse(JSON.stringify({ ...good, ...flaws }));
      expect([body, checkEvent(fixed(body), Date.now())]).toEqual([
        body,
        expect.objectContaining({ name: good.name }),
      ]);
    }),
    { numRuns: effort(200, 1_000) },
  );
});

describe("fixes", () => {
  const cases: [name: string, body: unknown, fixes: EventFix[], expected: unknown][] = [
    [
      "turn numbers and booleans in tags into strings",
      { tags: { amount: 4.5, paid: true, list: [1] } },
      [{ type: "tags-to-strings" }],
      { tags: { amount: "4.5", paid: "true", list: [1] } },
    ],
    [
      "rename a member in its place",
      { nme: "a", channel: "c" },
      [{ type: "rename", from: "nme", to: "name" }],
      { name: "a", channel: "c" },
    ],
    [
      "never overwrite one",
      { nme: "a", name: "b" },
      [{ type: "rename", from: "nme", to: "name" }],
      { nme: "a", name: "b" },
    ],
    ["drop a member", { a: 1, b: 2 }, [{ type: "drop", member: "a" }], { b: 2 }],
    [
      "move one to the tags",
      { amount: 5 },
      [{ type: "to-tag", member: "amount" }],
      { tags: { amount: "5" } },
    ],
    [
      "keep a tag of the same name",
      { amount: 5, tags: { amount: "6" } },
      [{ type: "to-tag", member: "amount" }],
      { amount: 5, tags: { amount: "6" } },
    ],
    [
      "cut between characters",
      { icon: "💰".repeat(65) },
      [{ type: "shorten" }],
      { icon: `${"💰".repeat(63)}…` },
    ],
    [
      "remove control characters",
      { name: "a\u0000b\nc", description: "a\u0000\nb" },
      [{ type: "clean" }],
      { name: "ab c", description: "a\nb" },
    ],
    [
      "set the channel",
      { channel: "paymnets" },
      [{ type: "set-channel", channel: "payments" }],
      { channel: "payments" },
    ],
    ["leave what isn't an event", [1], [{ type: "shorten" }], [1]],
  ];
  for (const [name, body, fixes, expected] of cases)
    test(name, () => expect(applyFixes(body, fixes)).toEqual(expected));
});
