import { describe, expect, test } from "bun:test";
import { formatSamples, judgeGrowth, type Sample, slopeOf } from "./growth.ts";

const start: Sample = {
  ...{ run: 0, minute: 0, at: "2026-01-01T00:00:00.000Z", stored: 0, acknowledged: 6_000 },
  ...{ memoryBytes: 200e6, descriptors: 40, diskBytes: 50e6, backupBytes: 0, processorMs: 6_000 },
  ...{ postP50Ms: 1, postP99Ms: 5, pageP50Ms: 2, pageP99Ms: 9, loadAverage: 0.5 },
};

/** Samples of a run in which `change` is added in each minute. Every fifth is an outlier, as of a collection. */
function run(minutes: number, change: (minute: number) => Partial<Sample>): Sample[] {
  return Array.from({ length: minutes }, (_, index) => {
    const noise = index % 5 === 4 ? 30e6 : 0;
    const sample = { ...start, minute: index + 1, stored: (index + 1) * 6_000, ...change(index + 1) };
    return { ...sample, memoryBytes: sample.memoryBytes + noise };
  });
}

const grown = (samples: Sample[]) =>
  judgeGrowth(samples, "sqlite")
    .filter(({ grows }) => grows)
    .map(({ what }) => what);

describe("what grows", () => {
  test("nothing, if memory is noise and disk follows the events", () => {
    expect(grown(run(60, (minute) => ({ diskBytes: 50e6 + minute * 6_000 * 360 })))).toEqual([]);
  });

  test("memory, if each minute leaves a megabyte", () => {
    expect(grown(run(60, (minute) => ({ memoryBytes: 200e6 + minute * 1e6 })))).toEqual(["memory"]);
  });

  test("descriptors, if one is left every two minutes", () => {
    expect(grown(run(60, (minute) => ({ descriptors: 40 + Math.floor(minute / 2) })))).toEqual([
      "descriptors",
    ]);
  });

  test("disk, if it takes twice what events take", () => {
    expect(grown(run(60, (minute) => ({ diskBytes: 50e6 + minute * 5e6 })))).toEqual(["disk"]);
  });

  test("nothing that was before the warm-up, or before a restart", () => {
    const warming = run(60, (minute) => ({ memoryBytes: 100e6 + Math.min(minute, 10) * 10e6 }));
    expect(grown(warming)).toEqual([]);
    const restarted = run(90, (minute) => ({ memoryBytes: minute <= 45 ? 200e6 + minute * 2e6 : 200e6 }));
    restarted[44]!.restarted = true;
    expect(grown(restarted)).toEqual([]);
  });

  test("is not said of a short run", () => {
    expect(
      judgeGrowth(
        run(15, () => ({})),
        "sqlite",
      ).map(({ line }) => line),
    ).toEqual(["Too short to tell: a run needs 20 minutes after its start."]);
  });
});

test("a slope ignores outliers", () => {
  const points = Array.from({ length: 20 }, (_, x) => [x, x === 7 ? 1_000 : 3 * x] as const);
  expect(slopeOf(points)).toBeCloseTo(3, 5);
});

test("the table has a row for each hour of each run", () => {
  const samples = [...run(90, () => ({})), ...run(30, () => ({ run: 1 }))];
  const lines = formatSamples(samples, 60).split("\n");
  expect(lines.slice(2).map((line) => line.split("|")[1]!.trim())).toEqual(["60", "90", "30"]);
  expect(lines[2]).toContain("| 100 ");
  expect(lines[2]).toContain("| 10.0 % ");
});
