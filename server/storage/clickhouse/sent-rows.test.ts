// @engines clickhouse
import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { dropClickHouseDatabase, testClickHouseDatabase } from "../../testing/clickhouse.ts";
import { effort } from "../../testing/engine.ts";
import { type ClickHouse, connect } from "./connection.ts";
import { SentRows } from "./sent-rows.ts";

let address: string;
let clickHouse: ClickHouse;

beforeAll(async () => {
  address = await testClickHouseDatabase();
  clickHouse = connect(address, { onWarning: () => {}, onInfo: () => {} });
});

afterAll(async () => {
  await clickHouse.close();
  await dropClickHouseDatabase(address);
});

function rowsOf(rows: readonly unknown[][]): SentRows {
  const sent = new SentRows();
  for (const row of rows) sent.add(row);
  return sent;
}

async function received(sent: SentRows, type: string): Promise<unknown[]> {
  const rows = await clickHouse.read<{ first: string; second: unknown }>(
    `SELECT sent.1 AS first, sent.2 AS second FROM ${sent.sql(["String", type])}`,
  );
  return rows.map(({ first, second }) => [first, second]);
}

test("any texts arrive as they are, in their order", async () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 12 }).filter((text) => text.isWellFormed()),
    fc.constantFrom("'", "\\", "\\'", "\n", "\0", "])", "'); DROP TABLE events; --"),
  );
  const rows = fc.array(fc.tuple(text, fc.option(text)), { maxLength: 500 });
  await fc.assert(
    fc.asyncProperty(rows, async (rows) => {
      expect(await received(rowsOf(rows), "Nullable(String)")).toEqual(rows);
    }),
    { numRuns: effort(30, 300) },
  );
});

test("rows that ClickHouse can't read are an error, and not left out", async () => {
  const sent = rowsOf([["a", "b"]]);
  // A lone surrogate is no valid JSON for it. Events don't have any.
  sent.add(["\ud800", "c"]);
  await expect(received(sent, "String")).rejects.toThrow("can not be read");
});

test("more than a statement should have is told", () => {
  const sent = new SentRows();
  for (let index = 0; index < 4_000; index++) sent.add(["x".repeat(1_000)]);
  expect(sent.isTooLarge).toBe(false);
  for (let index = 0; index < 400; index++) sent.add(["x".repeat(1_000)]);
  expect(sent.isTooLarge).toBe(true);
});
