import { expect, test } from "bun:test";
import { formatTable, median, ratio, replaceResults } from "./table.ts";

test("a ratio is the median with its spread", () => {
  expect(ratio([0.7, 0.5, 0.61], "")).toBe("0.61 (0.50–0.70)");
  expect(ratio([20, 10], "x")).toBe("15.0x (10.0–20.0)");
  expect(median([3, 1, 2])).toBe(2);
});

test("the table's columns are of one width", () => {
  const line = { what: "posts", measured: "0.61", bar: "0.5", aim: "0.7", figures: "61k/s to 100k/s" };
  const rows = formatTable([line]).split("\n");
  expect(rows.length).toBe(3);
  expect(new Set(rows.map((row) => row.length)).size).toBe(1);
});

test("results go between the markers, and the text around them stays", () => {
  const page = "before\n<!-- bench:start -->\nold\n<!-- bench:end -->\nafter\n";
  expect(replaceResults(page, "new")).toBe("before\n<!-- bench:start -->\nnew\n<!-- bench:end -->\nafter\n");
  expect(() => replaceResults("no markers", "new")).toThrow("markers");
});
