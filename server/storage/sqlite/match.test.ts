import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseSearch } from "../../event/search.ts";
import { tokensOf } from "../../event/tokens.ts";
import { matchOf, textOf } from "./match.ts";
import { databaseFile, migrate, openForWriting } from "./open.ts";
import { rowKeyAt } from "./row-key.ts";
import { openVocabulary } from "./vocabulary.ts";

const directory = mkdtempSync(join(tmpdir(), "tidings-match-"));
const database = (() => {
  migrate(directory);
  return openForWriting(databaseFile(directory));
})();
const vocabulary = openVocabulary(database);
const day = Date.UTC(2026, 0, 31);
const dayMs = 86_400_000;

beforeAll(() => {
  const insert = database.prepare("INSERT INTO events_index (rowid, tokens) VALUES (?, ?)");
  // Two tags that are both on the first and the last event, ten days apart, and never on one in between.
  database.transaction(() => {
    for (let hour = 0; hour <= 240; hour++) {
      const isEnd = hour === 0 || hour === 240;
      const tags = {
        ...((isEnd || hour % 2) && { odd: "y" }),
        ...((isEnd || hour % 2 === 0) && { even: "y" }),
      };
      const ms = day + hour * 3_600_000 + 1;
      const event = {
        id: "",
        channelId: "c",
        name: "some words",
        userId: "u",
        notify: false,
        tags,
        createdAt: "",
      };
      insert.run(rowKeyAt(ms), tokensOf(1, event as Parameters<typeof tokensOf>[1]));
    }
  })();
});
afterAll(() => {
  database.close();
  rmSync(directory, { recursive: true, force: true });
});

/** The first match from the middle of the ten days on, in hours since the first event. */
function nextAfterMiddle(q: string, sentinels: boolean, order: "ASC" | "DESC"): number {
  const { indexQuery } = matchOf(1, { search: parseSearch(q)! }, vocabulary);
  const row = database
    .query<{ ms: number }, [string, bigint]>(
      `SELECT rowid >> 21 AS ms FROM events_index WHERE events_index MATCH ?1
         AND rowid ${order === "ASC" ? ">" : "<"} ?2 ORDER BY rowid ${order} LIMIT 1`,
    )
    .get(textOf(indexQuery, { sentinels }), rowKeyAt(day + 5 * dayMs + 3_600_000 * 12));
  return Math.floor((row!.ms - day) / 3_600_000);
}

describe("a query without a match nearby ends at the next sentinel row", () => {
  for (const q of [
    "odd=y even=y",
    "even=y -(odd=y -even=y) odd=y",
    "odd=y -(odd=y -even=y)",
    "(odd=y even=y) OR (odd=y user:u even=y)",
    "wor* odd=y even=y",
    "-(-odd=y OR -even=y)",
  ]) {
    test(q, () => {
      expect(nextAfterMiddle(q, false, "ASC")).toBe(240);
      expect(nextAfterMiddle(q, false, "DESC")).toBe(0);
      expect(nextAfterMiddle(q, true, "ASC")).toBe(6 * 24);
      expect(nextAfterMiddle(q, true, "DESC")).toBe(5 * 24);
    });
  }
});

test("a search with many prefixes is expanded to few words", () => {
  const plenty = {
    ...vocabulary,
    *termsFrom(prefix: string) {
      for (let n = 100; n < 1_000; n++) yield prefix + n;
    },
  };
  const wordsFor = (count: number) => {
    const prefixes = Array.from({ length: count }, (_, n) => `w${n}*`);
    const { indexQuery } = matchOf(1, { search: parseSearch(prefixes.join(" "))! }, plenty);
    return textOf(indexQuery, { sentinels: false }).split(" OR ").length;
  };
  expect(wordsFor(2)).toBeGreaterThan(1_700);
  expect(wordsFor(100)).toBeLessThan(5_000);
});
