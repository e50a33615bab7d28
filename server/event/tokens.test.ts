import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Event } from "./event.ts";
import { token, tokensOf } from "./tokens.ts";

const texts = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: "binary", maxLength: 12 }).filter((text) => text.isWellFormed()),
  // Similar to each other, and near the length from which a hash replaces the end.
  fc.string({ unit: fc.constantFrom("a", "A", "_", "z", "y", "5", "f", " ", "ä"), maxLength: 6 }),
  fc
    .tuple(fc.integer({ min: 70, max: 90 }), fc.constantFrom("a", "A", "ä"))
    .map(([length, last]) => "a".repeat(length) + last),
);

describe("the token of an exact text", () => {
  test("differs for every text, key and value", () => {
    fc.assert(
      fc.property(texts, texts, texts, texts, (a, b, c, d) => {
        expect(token.user(1, a) === token.user(1, b)).toBe(a === b);
        expect(token.tag(1, a, b) === token.tag(1, c, d)).toBe(a === c && b === d);
        expect(token.tag(1, a, b) === token.tag(1, `${a}${b}`, "")).toBe(b === "");
      }),
      { numRuns: 2_000 },
    );
  });

  test("differs for every kind and project", () => {
    fc.assert(
      fc.property(texts, fc.nat(), (text, project) => {
        const kinds = [
          token.every(project),
          token.notifies(project),
          token.channel(project, text),
          token.name(project, text),
          token.user(project, text),
          token.tag(project, text, ""),
          token.word(project, text),
          token.channel(project + 1, text),
        ];
        expect(new Set(kinds).size).toBe(kinds.length);
      }),
    );
  });

  test("differs for hostile pairs", () => {
    const hostile = [
      "",
      "_",
      "__",
      "_z",
      "_y",
      "_5f",
      "_5fz",
      "a_zb",
      "A",
      "a",
      "_41",
      " ",
      "_20",
      '"',
      "*",
      "AND",
      "NOT",
      "ä",
      "Ä",
      "a\u0308",
    ];
    const tokens = hostile.flatMap((key) => hostile.map((value) => token.tag(7, key, value)));
    expect(new Set(tokens).size).toBe(hostile.length ** 2);
  });
});

test("indexed texts are found by their own tokens only", () => {
  const database = new Database(":memory:");
  database.run(
    `CREATE VIRTUAL TABLE i USING fts5 (tokens, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '_'")`,
  );
  const insert = database.prepare("INSERT INTO i (rowid, tokens) VALUES (?, ?)");
  const find = database.prepare<{ rowid: number }, [string]>(
    "SELECT rowid FROM i WHERE i MATCH ? ORDER BY rowid",
  );
  // NUL and other control characters are rejected before anything is indexed.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is left out
  const stored = texts.filter((text) => !/[\u0000-\u001f\u007f-\u009f]/.test(text));
  const events = fc.sample(fc.record({ user: stored, key: stored, value: stored }), {
    numRuns: 2_000,
    seed: 42,
  });
  for (const [index, { user, key, value }] of events.entries()) {
    const event: Event = {
      id: "",
      createdAt: "",
      name: "n",
      channelId: "c",
      userId: user,
      notify: false,
      tags: JSON.parse(`{${JSON.stringify(key)}:${JSON.stringify(value)}}`),
    };
    insert.run(index, tokensOf(1, event));
  }
  const rows = (match: string) => find.all(`"${match}"`).map(({ rowid }) => rowid);
  const indices = (holds: (event: (typeof events)[number]) => boolean) =>
    events.flatMap((event, index) => (holds(event) ? [index] : []));
  for (const { user, key, value } of events) {
    expect(rows(token.user(1, user))).toEqual(indices((event) => event.user === user));
    expect(rows(token.tag(1, key, value))).toEqual(
      indices((event) => event.key === key && event.value === value),
    );
    expect(rows(token.user(2, user))).toEqual([]);
  }
  database.close();
});
