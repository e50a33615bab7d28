import { expect, test } from "bun:test";
import { CommitMeter } from "./commit-meter.ts";

test("it counts the last minute and orders the last commits", () => {
  const meter = new CommitMeter();
  expect([meter.storedInMinute(0), meter.quantile(0.5)]).toEqual([0, null]);
  for (let n = 0; n < 200; n++) meter.observe(2, n, 100_000 + n * 500);
  // 200 commits over 100 seconds.
  expect(meter.storedInMinute(100_000 + 199 * 500)).toBe(240);
  expect(meter.quantile(0.5)).toBe(100);
  expect(meter.quantile(0.99)).toBe(198);
  expect(meter.storedInMinute(1_000_000)).toBe(0);
});
