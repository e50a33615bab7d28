import { expect, test } from "bun:test";
import { perMillion } from "./operations.ts";
import { formatPlan, planFor } from "./plan.ts";

const measured = { bytesAnEvent: 220, singlePostUs: 400, backupS: 4, rebuildS: 10 };

test("a plan grows with events, and leaves room for the check of a backup on SQLite and for a tenth", () => {
  const plan = planFor(10_000_000, 30, measured, "sqlite");
  expect(plan.events).toBe(300_000_000);
  expect(plan.databaseBytes).toBe(66e9);
  expect(plan.diskBytes).toBeCloseTo((66e9 * 3.5) / 0.9);
  expect(plan.backupS).toBe(1_200);
  expect(plan.rebuildS).toBe(3_000);
  expect(planFor(10_000_000, 30, measured, "postgres").diskBytes).toBeCloseTo(66e9 / 0.9);
});

test("cores are for the busiest hours", () => {
  const coresOf = (perDay: number) => planFor(perDay, 30, measured, "sqlite").cores;
  expect([1_000_000, 10_000_000, 100_000_000].map(coresOf)).toEqual([1, 1, 3]);
});

test("the table has each load and each time, in units that people read", () => {
  const lines = formatPlan(measured, "sqlite").split("\n");
  expect(lines).toHaveLength(2 + 9);
  expect(lines[2]).toMatch(
    /1,000,000 +\| 30 +\| 30 M +\| 35 +\| 6\.6 GB +\| 26 GB +\| 1 +\| 2\.0 min +\| 5\.0 min/,
  );
  expect(formatPlan({ ...measured, backupS: null }, "postgres")).toContain("| –");
  // The schedule stops a backup after twelve hours.
  expect(lines.at(-1)).toMatch(/\| over 12 h +\| 4\.2 days/);
});

test("the fixed part of an operation is not multiplied", () => {
  const few = { backup: 2, doctor: 6, rebuild: 12, restore: null };
  const many = { backup: 4, doctor: 8, rebuild: 17, restore: null };
  expect(perMillion(few, many, 500_000)).toEqual({ backup: 4, doctor: 4, rebuild: 10, restore: null });
});
