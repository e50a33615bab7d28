import { expect, test } from "bun:test";
import { checkEvent } from "../event/check-event.ts";
import { rejectionReason } from "./rejection-reason.ts";

const good = { channel: "payments", name: "Payment received" };

function reasonOf(body: unknown): string {
  const faults = checkEvent(body, Date.now());
  if (!Array.isArray(faults)) throw new Error("The event is valid.");
  return rejectionReason({ detail: faults[0]!.detail, errors: faults });
}

test("events that differ in their values are rejected for the same reason", () => {
  const alike: [reason: string, bodies: unknown[]][] = [
    [
      'The tag "amount" must be a string, not a number.',
      [1, 2.5, -3e21].map((amount) => ({ ...good, tags: { amount } })),
    ],
    ['"name" must have at most 200 characters.', [201, 4_000].map((n) => ({ ...good, name: "x".repeat(n) }))],
    ['"name" must not contain control characters.', ["a\u0000", "\u0007"].map((name) => ({ ...good, name }))],
    [
      "An event can have at most 50 tags.",
      [51, 60].map((n) => ({
        ...good,
        tags: Object.fromEntries(Array.from({ length: n }, (_, tag) => [`t${tag}`, ""])),
      })),
    ],
    ['Unknown field "nme". Did you mean "name"?', [1, "a", null].map((nme) => ({ ...good, nme }))],
  ];
  for (const [reason, bodies] of alike) expect(bodies.map(reasonOf)).toEqual(bodies.map(() => reason));
});

test("invalid JSON is one reason, wherever it ends", () => {
  for (const detail of ["Unexpected end of input", 'Expected "}" at 17'])
    expect(rejectionReason({ detail: `The body is not valid JSON: ${detail}.` })).toBe(
      "The body is not valid JSON.",
    );
});

test("a reason names the first five faults, each once", () => {
  const errors = [1, 2, 2, 3, 4, 5, 6].map((fault) => ({ pointer: "", detail: `Fault ${fault}.` }));
  expect(rejectionReason({ detail: "Faults.", errors })).toBe("Fault 1. Fault 2. Fault 3. Fault 4.");
  expect(rejectionReason({ detail: "Nothing else.", errors: [] })).toBe("Nothing else.");
});

test("a reason is short, and can be stored", () => {
  const errors = Array.from({ length: 50 }, (_, n) => ({
    pointer: "",
    detail: `Field \0 ${n} ${"💰".repeat(40)}.`,
  }));
  const reason = rejectionReason({ detail: "", errors });
  expect(reason.length).toBeLessThanOrEqual(300);
  expect(reason.isWellFormed()).toBe(true);
  expect(reason).not.toContain("\0");
});
