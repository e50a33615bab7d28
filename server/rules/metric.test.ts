import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { effort } from "../testing/engine.ts";
import { dueReading, type MetricState, metric, onFailure, onReading, stepMinutes } from "./metric.ts";
import { changeOf, metricValue } from "./metric-value.ts";
import type { RuleNotification, WhenOf } from "./rule-kind.ts";

const minuteMs = 60_000;
const startMs = Date.parse("2026-01-31T12:00:00Z");

const plain: WhenOf<"metric"> = {
  type: "metric",
  measure: { metric: "events" },
  minutes: 60,
  against: null,
  clear: null,
  pendingMinutes: 0,
  noData: "ok",
};

/** A rule whose readings come when they are due, or some minutes later. */
class RunningMonitor {
  state: MetricState;
  readonly told: RuleNotification[] = [];
  readonly #when: WhenOf<"metric">;
  nowMs = startMs;

  constructor(when: WhenOf<"metric">) {
    this.#when = when;
    this.state = metric.start(startMs);
  }

  /** Returns the end of what was read. */
  read(value: number | null, lateMs = 0): number {
    this.nowMs = Math.max(this.nowMs, this.state.nextMs) + lateMs;
    const { dueMs, endMs } = dueReading(this.#when, this.state, this.nowMs);
    // As it is stored.
    const { state, notifications } = onReading(this.#when, JSON.parse(JSON.stringify(this.state)), {
      dueMs,
      value,
    });
    this.state = state;
    this.told.push(...notifications);
    return endMs;
  }

  restart(downMs: number): void {
    this.nowMs += downMs;
    this.state = metric.afterDowntime!(this.#when, this.state, this.nowMs);
  }
}

const types = ({ told }: RunningMonitor) => told.map(({ type }) => type);

describe("a metric", () => {
  test("notifies once above, and ends where it is clear", () => {
    const monitor = new RunningMonitor({ ...plain, above: 500, clear: 400 });
    for (const value of [500, 501, 900, 500, 401]) monitor.read(value);
    expect(types(monitor)).toEqual(["metric"]);
    monitor.read(400);
    expect(types(monitor)).toEqual(["metric", "metric-recovery"]);
    expect(monitor.told[1]).toMatchObject({ value: 400, sinceMs: monitor.told[0]!.atMs });
  });

  test("is pending until it has been beyond the threshold for long enough without a break", () => {
    const monitor = new RunningMonitor({ ...plain, below: 10, pendingMinutes: 3 });
    for (const value of [9, 9, 10, 9, 9, 9]) monitor.read(value);
    expect(types(monitor)).toEqual([]);
    const atMs = monitor.read(9);
    expect(monitor.told).toMatchObject([{ type: "metric", atMs, sinceMs: atMs - 3 * minuteMs, value: 9 }]);
  });

  test("changes in both directions", () => {
    const monitor = new RunningMonitor({ ...plain, change: 50, clear: 20, against: "week" });
    for (const value of [50, -51, -30, 20, 60, -60, 0]) monitor.read(value);
    expect(types(monitor)).toEqual(["metric", "metric-recovery", "metric", "metric-recovery"]);
  });

  test("no value is as it should be, unless the rule says otherwise", () => {
    const lenient = new RunningMonitor({ ...plain, above: 1 });
    for (const value of [null, 2, null]) lenient.read(value);
    expect(types(lenient)).toEqual(["metric", "metric-recovery"]);
    const strict = new RunningMonitor({ ...plain, above: 1, noData: "alert" });
    for (const value of [null, 2, null, 0]) strict.read(value);
    expect(types(strict)).toEqual(["metric", "metric-recovery"]);
  });

  test("ends with a full minute whose events have had time to arrive", () => {
    const state = metric.start(startMs);
    for (let n = 0; n < 200; n++) {
      const { dueMs, endMs } = dueReading(plain, state, state.nextMs + n * 1_000);
      expect(endMs % minuteMs).toBe(0);
      expect(dueMs - endMs).toBeGreaterThanOrEqual(10_000);
      expect(dueMs - endMs).toBeLessThan(70_000);
    }
  });

  test("rules that are created together are read at different seconds", () => {
    const seconds = Array.from({ length: 100 }, (_, n) =>
      Math.floor(metric.start(startMs + n).nextMs / 1_000),
    );
    expect(new Set(seconds).size).toBeGreaterThan(40);
  });

  test("after downtime, what could miss events waits, and what was pending begins again", () => {
    const falling = new RunningMonitor({ ...plain, below: 10, pendingMinutes: 2 });
    falling.read(1);
    falling.read(1);
    falling.restart(60 * minuteMs);
    expect(falling.state).toMatchObject({ nextMs: falling.nowMs + 5 * minuteMs, pendingSinceMs: null });
    const rising = new RunningMonitor({ ...plain, above: 10 });
    rising.read(1);
    rising.restart(60 * minuteMs);
    expect(rising.state.nextMs).toBeLessThan(rising.nowMs);
    expect(rising.read(11)).toBeGreaterThan(rising.nowMs - 2 * minuteMs);
    // Within a step nothing was missed.
    const prompt = new RunningMonitor({ ...plain, below: 10 });
    const before = prompt.state;
    prompt.restart(1);
    expect(prompt.state).toBe(before);
  });

  test("a failure is tried again after a minute, and ends with the next value", () => {
    const monitor = new RunningMonitor({ ...plain, minutes: 3_000, above: 1 });
    monitor.state = onFailure(monitor.state, "Too slow.", startMs);
    monitor.state = onFailure(monitor.state, "Still too slow.", startMs + minuteMs);
    expect(monitor.state).toMatchObject({
      nextMs: startMs + 2 * minuteMs,
      failure: { sinceMs: startMs, detail: "Still too slow." },
    });
    monitor.read(2);
    expect(monitor.state.failure).toBeNull();
    expect(types(monitor)).toEqual(["metric"]);
  });

  test("is read at once if the clock was set back", () => {
    const state = { ...metric.start(startMs), nextMs: startMs + 24 * 60 * minuteMs };
    expect(dueReading(plain, state, startMs).dueMs).toBe(startMs);
  });
});

describe("any sequence of values", () => {
  const value = fc.oneof(fc.integer({ min: -100, max: 100 }), fc.constant(null));
  const condition = fc
    .record({
      kind: fc.constantFrom("above" as const, "below" as const, "change" as const),
      threshold: fc.integer({ min: 1, max: 60 }),
      margin: fc.integer({ min: 0, max: 40 }),
      hasClear: fc.boolean(),
      pendingMinutes: fc.integer({ min: 0, max: 12 }),
      noData: fc.constantFrom("ok" as const, "alert" as const),
      minutes: fc.constantFrom(5, 60, 61, 1_440, 3_000),
    })
    .map(({ kind, threshold, margin, hasClear, ...rest }) => {
      const back =
        kind === "below" ? threshold + margin : Math.max(kind === "change" ? 0 : -100, threshold - margin);
      return {
        when: {
          ...plain,
          ...rest,
          against: kind === "change" ? ("week" as const) : null,
          [kind]: threshold,
          clear: hasClear ? back : null,
        } as WhenOf<"metric">,
        isBad: (value: number | null) =>
          value === null
            ? rest.noData === "alert"
            : kind === "above"
              ? value > threshold
              : kind === "below"
                ? value < threshold
                : value > threshold || value < -threshold,
        isGood: (value: number | null) => {
          const at = hasClear ? back : threshold;
          if (value === null) return rest.noData === "ok";
          return kind === "above"
            ? value <= at
            : kind === "below"
              ? value >= at
              : value <= at && value >= -at;
        },
      };
    });

  test("notifies as a plain walk over the readings says, however late each is", () => {
    const readings = fc.array(
      fc.record({ value, lateMs: fc.constantFrom(0, 0, 0, 1, 40_000, 10 * minuteMs) }),
      {
        maxLength: 60,
      },
    );
    fc.assert(
      fc.property(condition, readings, ({ when, isBad, isGood }, readings) => {
        const monitor = new RunningMonitor(when);
        const read = readings.map(({ value, lateMs }) => ({ value, endMs: monitor.read(value, lateMs) }));
        const expected: [string, number, number][] = [];
        let firingMs: number | null = null;
        for (const [index, { value, endMs }] of read.entries()) {
          if (firingMs === null) {
            // The first of the bad readings up to this one, since the last alert.
            let first = index;
            const after = read.findLastIndex(({ endMs }) => endMs <= (expected.at(-1)?.[1] ?? 0));
            while (first > after + 1 && isBad(read[first - 1]!.value)) first--;
            const sinceMs = read[first]!.endMs;
            if (!isBad(value) || endMs - sinceMs < when.pendingMinutes * minuteMs) continue;
            firingMs = endMs;
            expected.push(["metric", endMs, sinceMs]);
          } else if (isGood(value)) {
            expected.push(["metric-recovery", endMs, firingMs]);
            firingMs = null;
          }
        }
        const told = monitor.told as Extract<RuleNotification, { type: "metric" | "metric-recovery" }>[];
        expect(
          told.map(({ type, atMs, sinceMs }) => [type, atMs, sinceMs] as (typeof expected)[number]),
        ).toEqual(expected);
        const ends = read.map(({ endMs }) => endMs);
        expect(
          ends.every((endMs, n) => n === 0 || endMs - ends[n - 1]! >= stepMinutes(when) * minuteMs),
        ).toBe(true);
      }),
      { numRuns: effort(500, 10_000) },
    );
  });

  test("the value of a time is that of its parts", () => {
    const measure = fc.constantFrom(
      { metric: "events" as const },
      { metric: "sum" as const, tag: "a" },
      { metric: "average" as const, tag: "a" },
      { metric: "minimum" as const, tag: "a" },
      { metric: "maximum" as const, tag: "a" },
    );
    const parts = fc.array(fc.array(fc.integer({ min: -50, max: 50 }), { maxLength: 6 }), {
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(measure, parts, (measure, parts) => {
        const of = (numbers: number[]) => {
          const sum = numbers.reduce((all, each) => all + each, 0);
          switch (measure.metric) {
            case "events":
              return { total: numbers.length, count: numbers.length };
            case "minimum":
              return { total: numbers.length === 0 ? null : Math.min(...numbers), count: numbers.length };
            case "maximum":
              return { total: numbers.length === 0 ? null : Math.max(...numbers), count: numbers.length };
            default:
              return { total: numbers.length === 0 ? null : sum, count: numbers.length };
          }
        };
        expect(metricValue(measure, parts.map(of))).toEqual(metricValue(measure, [of(parts.flat())]));
      }),
    );
  });
});

test("a change of nothing has no size", () => {
  expect(changeOf(150, 100)).toBe(50);
  expect(changeOf(-50, -100)).toBe(50);
  expect(changeOf(0, 0)).toBe(0);
  expect(changeOf(5, 0)).toBeNull();
  expect(changeOf(null, 5)).toBeNull();
});
