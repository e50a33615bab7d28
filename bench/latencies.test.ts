import { expect, test } from "bun:test";
import { Latencies } from "./latencies.ts";

test("a percentile is rounded up to the histogram's step", () => {
  const latencies = new Latencies();
  for (let ms = 1; ms <= 100; ms++) latencies.add(ms - 0.001);
  expect(latencies.count).toBe(100);
  expect(latencies.percentile(0.5)).toBe(50);
  expect(latencies.percentile(0.99)).toBe(99);
  expect(latencies.percentile(1)).toBe(100);
  expect(latencies.slowestMs).toBe(99.999);
});

test("latencies above a minute count as a minute", () => {
  const latencies = new Latencies();
  latencies.add(100_000);
  expect(latencies.percentile(0.99)).toBe(60_000);
  expect(latencies.slowestMs).toBe(100_000);
});

test("without latencies, percentiles are NaN", () => {
  expect(new Latencies().percentile(0.5)).toBeNaN();
});
