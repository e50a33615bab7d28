import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { databaseFile, migrate, openForReading, openForWriting } from "./open.ts";
import { rowKeyAt } from "./row-key.ts";
import { justAfter, openVocabulary } from "./vocabulary.ts";

test("the terms with a prefix are those of the events that are left, each once and in order", () => {
  const directory = mkdtempSync(join(tmpdir(), "tidings-vocabulary-"));
  migrate(directory);
  using writing = openForWriting(databaseFile(directory));
  using reading = openForReading(databaseFile(directory));
  const { termsFrom, isOnMany } = openVocabulary(reading);
  const insert = writing.prepare("INSERT INTO events_index (rowid, tokens) VALUES (?, ?)");
  const remove = writing.prepare("DELETE FROM events_index WHERE rowid = ?");
  let n = 0;
  /** A term on every event, terms on many, long terms, and a unique one in any script. */
  const tokensOf = (n: number) => [
    "1a",
    `1c${n % 3}`,
    `1t${"x".repeat(n % 90)}`,
    `1u${n * 7_919}`,
    `1w${["語", "é", "𝒳", "z", ""][n % 5]}${n % 1_000}`,
  ];
  for (let batch = 0; batch < 12; batch++) {
    writing.transaction(() => {
      for (const end = n + 400; n < end; n++) insert.run(rowKeyAt(n + 1), tokensOf(n).join(" "));
    })();
    if (batch % 4 !== 3) continue;
    writing.transaction(() => {
      for (let removed = 0; removed < n; removed += 2) if (removed % 6) remove.run(rowKeyAt(removed + 1));
    })();
    const left = Array.from({ length: n }, (_, event) => event).filter(
      (event) => event % 2 || event % 6 === 0,
    );
    const all = [...new Set(left.flatMap(tokensOf))].sort((a, b) =>
      Buffer.compare(Buffer.from(a), Buffer.from(b)),
    );
    for (const prefix of ["1a", "1c", "1tx", "1u7", "1w", "1w語", "1w𝒳", "9"]) {
      const expected = all.filter((term) => term.startsWith(prefix));
      expect([...termsFrom(prefix)]).toEqual(expected);
      expect([...termsFrom(prefix, justAfter)]).toEqual(expected);
      for (let from = 0; from < expected.length; from += 397)
        expect([...termsFrom(prefix, undefined, justAfter(expected[from]!))]).toEqual(
          expected.slice(from + 1),
        );
    }
    const kinds = [...termsFrom("1", (term) => `${term.slice(0, 2)}\u{10ffff}`)].map((term) =>
      term.slice(0, 2),
    );
    expect(kinds).toEqual(["1a", "1c", "1t", "1u", "1w"]);
    expect([left.length, left.length + 1].map((events) => isOnMany("1a", events))).toEqual([true, false]);
  }
  rmSync(directory, { recursive: true });
});
