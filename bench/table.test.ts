import { expect, test } from "bun:test";
import { formatResults, formatTable, insertResults, median, perSecond, ratio, spread } from "./table.ts";

test("a ratio is the median with its spread", () => {
  expect(ratio([0.7, 0.5, 0.61], "")).toBe("0.61 (0.50–0.70)");
  expect(ratio([20, 10], "x")).toBe("15.0x (10.0–20.0)");
  expect(ratio([0.5], "")).toBe("0.50");
  expect(spread([3_000, 1_000, 2_000], perSecond)).toBe("2,000/s (1,000–3,000)");
  expect(median([3, 1, 2])).toBe(2);
});

test("the table's columns are aligned", () => {
  const line = { what: "posts", measured: "0.61", bar: "0.5", aim: "0.7", figures: "61k/s to 100k/s" };
  const rows = formatTable([line]).split("\n");
  expect(rows.length).toBe(3);
  expect(new Set(rows.map((row) => row.length)).size).toBe(1);
});

test("line breaks and pipes in cells are escaped", () => {
  const rows = formatTable([{ what: "a | b", measured: "failed", figures: "two\nlines" }]).split("\n");
  expect(rows.length).toBe(3);
  expect(rows[2]).toBe("| a \\| b | failed   | two lines |");
});

test("lines without a bar are in a separate table", () => {
  const results = formatResults([
    { what: "with", measured: "1", bar: "2", aim: "3", figures: "" },
    { what: "without", measured: "1", figures: "" },
  ]);
  const [first, second] = results.split("### Further figures");
  expect(first).toContain("| with ");
  expect(first).not.toContain("without");
  expect(second).toContain("| without ");
  expect(second).not.toContain("bar");
});

test("results replace only their own section of the page", () => {
  const page =
    "before\n<!-- bench:sqlite -->\nold\n<!-- /bench:sqlite -->\nbetween\n<!-- bench:postgres -->\n<!-- /bench:postgres -->\nafter\n";
  const first = insertResults(page, "sqlite", "a $& new");
  expect(first).toBe(page.replace("old", () => "a $& new"));
  expect(insertResults(first, "postgres", "more")).toBe(
    first.replace("<!-- /bench:postgres -->", "more\n<!-- /bench:postgres -->"),
  );
  expect(() => insertResults("no section", "sqlite", "new")).toThrow("section");
});
