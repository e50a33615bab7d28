/** When heartbeats are up and down, over any pings and times. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { limits } from "../core/limits.ts";
import type { HeartbeatSchedule } from "../schemas/heartbeat.ts";
import { effort } from "../testing/engine.ts";
import {
  afterChange,
  afterDowntime,
  dueAt,
  type HeartbeatState,
  type HeartbeatTimes,
  onPing,
  onTime,
  type Ping,
  type StateChange,
  startState,
  stateOf,
} from "./heartbeat-state.ts";
import { nextDueMs, nextTimes } from "./schedule.ts";

const minute = 60_000;
const hour = 60 * minute;
const start = Date.parse("2026-03-28T12:00:00Z");

const hourly: HeartbeatTimes = {
  schedule: { type: "period", minutes: 60 },
  graceMinutes: 10,
  maxMinutes: null,
  enabled: true,
};

/** A heartbeat whose time passes as the worker lets it: at once when it is due. */
class Running {
  state: HeartbeatState = startState(start);
  now = start;
  readonly changes: StateChange[] = [];

  constructor(readonly times: HeartbeatTimes) {}

  to(ms: number): this {
    for (let at = this.due; at !== null && at <= ms; at = this.due) this.#time(at);
    this.now = ms;
    return this;
  }

  after(ms: number): this {
    return this.to(this.now + ms);
  }

  ping(kind: Ping["kind"] = "success", rid: string | null = null): number | null {
    const { state, changes, runMs } = onPing(this.times, this.state, { kind, rid }, this.now);
    this.state = state;
    this.changes.push(...changes);
    return runMs;
  }

  #time(ms: number): void {
    const { state, changes } = onTime(this.times, this.state, ms);
    this.state = state;
    this.changes.push(...changes);
  }

  get due(): number | null {
    return dueAt(this.times, this.state);
  }

  get is(): string {
    return stateOf(this.times, this.state, this.now);
  }

  get told(): string[] {
    return this.changes.map((change) => (change.type === "up" ? "up" : change.reason));
  }
}

describe("a heartbeat", () => {
  test("is new, up, late, down, and up again", () => {
    const job = new Running(hourly);
    expect([job.is, job.due]).toEqual(["new", null]);
    job.after(1_000 * hour);
    expect(job.is).toBe("new");
    job.ping();
    expect(job.is).toBe("up");
    expect(job.after(hour - 1).is).toBe("up");
    expect(job.after(1).is).toBe("late");
    expect(job.after(10 * minute - 1).is).toBe("late");
    expect(job.after(1).is).toBe("down");
    job.after(5 * hour).ping();
    expect(job.is).toBe("up");
    expect(job.changes).toEqual([
      expect.objectContaining({ type: "down", reason: "late", atMs: start + 1_001 * hour + 10 * minute }),
      { type: "up", atMs: job.now, downMs: 5 * hour },
    ]);
  });

  test("that only logs isn't up", () => {
    const job = new Running(hourly);
    job.ping("log");
    expect([job.is, job.due]).toEqual(["new", null]);
    job.ping();
    job.after(hour).ping("log");
    expect(job.after(10 * minute).is).toBe("down");
  });

  test("fails at once, and stays down whatever else fails", () => {
    const job = new Running(hourly);
    job.ping("fail");
    job.after(3 * hour).ping("fail");
    job.after(hour).ping("start");
    expect([job.is, job.told]).toEqual(["down", ["failed"]]);
    job.ping();
    expect([job.is, job.told]).toEqual(["up", ["failed", "up"]]);
  });
});

describe("a run", () => {
  test("may take until the next ping is due", () => {
    const job = new Running(hourly);
    job.ping();
    job.after(hour).ping("start");
    expect(job.is).toBe("started");
    expect(job.after(hour + 9 * minute).is).toBe("late");
    expect(job.ping()).toBe(hour + 9 * minute);
    expect(job.is).toBe("up");
    expect(job.told).toEqual([]);
  });

  test("that never ends is noticed, also if others start", () => {
    const job = new Running(hourly);
    job.ping();
    for (let run = 0; run < 3; run++) job.after(hour).ping("start");
    expect(job.told).toEqual(["late"]);
    // The first of them counted.
    expect(job.changes[0]!.atMs).toBe(start + 2 * hour + 10 * minute);
  });

  test("that takes too long is told once", () => {
    const job = new Running({ ...hourly, maxMinutes: 5 });
    job.ping("start", "a");
    expect(job.after(5 * minute).is).toBe("down");
    job.after(minute).ping("success", "b");
    expect(job.is).toBe("up");
    expect(job.after(20 * minute).is).toBe("up");
    expect(job.ping("success", "a")).toBe(26 * minute);
    expect(job.told).toEqual(["running too long", "up"]);
  });

  test("that has died doesn't stay in progress", () => {
    const job = new Running(hourly);
    job.ping("start", "dead");
    for (let run = 0; run < 3; run++) {
      job.after(30 * minute).ping("start", `${run}`);
      job.after(minute).ping("success", `${run}`);
    }
    expect([job.is, job.state.runs]).toEqual(["up", []]);
  });
});

test("a clock that is set back moves no deadline out of reach", () => {
  const job = new Running(hourly);
  job.after(30 * 24 * hour).ping();
  job.now = start;
  const { state } = onTime(job.times, job.state, start);
  // The clock was far ahead when the last ping came, so that ping counts for now.
  expect(dueAt(hourly, { ...state })).toBe(start + 70 * minute);
});

test("after downtime, what is due waits for five minutes, and for nothing else", () => {
  const job = new Running(hourly);
  job.ping();
  const now = start + 5 * hour;
  expect(dueAt(hourly, afterDowntime(hourly, job.state, now))).toBe(now + 5 * minute);
  expect(afterDowntime(hourly, job.state, start + hour)).toBe(job.state);
});

describe("a change of the schedule", () => {
  test("counts from now", () => {
    const job = new Running(hourly);
    job.ping();
    const often: HeartbeatTimes = { ...hourly, schedule: { type: "period", minutes: 1 } };
    const now = start + 50 * minute;
    expect(dueAt(often, afterChange(hourly, often, job.state, now))).toBe(now + 11 * minute);
    expect(afterChange(hourly, { ...hourly, graceMinutes: 1 }, job.state, now)).toBe(job.state);
  });
});

describe("cron", () => {
  const at = (expression: string, timeZone: string): HeartbeatSchedule => ({
    type: "cron",
    expression,
    timeZone,
  });
  const times = (schedule: HeartbeatSchedule, from: string) =>
    nextTimes(schedule, Date.parse(from), 3).map((ms) => new Date(ms).toISOString().slice(0, 16));

  test("knows summer time", () => {
    const berlin = at("30 2 * * *", "Europe/Berlin");
    // 02:30 doesn't exist on 29 March: the clock goes from 02:00 to 03:00.
    expect(times(berlin, "2026-03-28T12:00:00Z")).toEqual([
      "2026-03-29T01:00",
      "2026-03-30T00:30",
      "2026-03-31T00:30",
    ]);
    // 02:30 comes twice on 25 October, and counts once.
    expect(times(berlin, "2026-10-24T12:00:00Z")).toEqual([
      "2026-10-25T00:30",
      "2026-10-26T01:30",
      "2026-10-27T01:30",
    ]);
    // A wildcard goes by real time through the hour that comes twice.
    expect(times(at("*/30 * * * *", "Europe/Berlin"), "2026-10-25T00:30:00Z")).toEqual([
      "2026-10-25T01:00",
      "2026-10-25T01:30",
      "2026-10-25T02:00",
    ]);
    expect(times(at("0 0 1 * 1", "UTC"), "2026-11-26T00:00:00Z")).toEqual([
      "2026-11-30T00:00",
      "2026-12-01T00:00",
      "2026-12-07T00:00",
    ]);
  });

  test("takes a ping that is a little early for the one that is due", () => {
    const schedule = at("0 2 * * *", "UTC");
    const due = Date.parse("2026-11-26T02:00:00Z");
    expect(nextDueMs(schedule, due - 5_000)).toBe(due + 24 * hour);
    expect(nextDueMs(schedule, due - minute)).toBe(due);
    expect(nextDueMs(schedule, due + minute)).toBe(due + 24 * hour);
  });
});

test("a run that became too long while it was down is no reason to be down again", () => {
  const job = new Running({ ...hourly, maxMinutes: 1 });
  job.ping("fail");
  job.ping("start", "a");
  job.after(2 * minute).ping("success", "b");
  job.after(minute);
  expect(job.told).toEqual(["failed", "up"]);
  expect(job.is).toBe("up");
});

describe("any pings at any times", () => {
  const anyTimes: fc.Arbitrary<HeartbeatTimes> = fc.record({
    schedule: fc.oneof(
      fc.record({ type: fc.constant("period" as const), minutes: fc.constantFrom(1, 60, 1_440) }),
      fc.record({
        type: fc.constant("cron" as const),
        expression: fc.constantFrom("30 2 * * *", "*/5 * * * *", "0 9 * * 1-5"),
        timeZone: fc.constantFrom("UTC", "Europe/Berlin", "Australia/Lord_Howe"),
      }),
    ),
    graceMinutes: fc.constantFrom(0, 1, 60),
    maxMinutes: fc.constantFrom(null, 1, 90),
    enabled: fc.constant(true),
  });
  const steps = fc.array(
    fc.record({
      pauseMs: fc.oneof(
        fc.integer({ min: 0, max: 2_000 }),
        fc.constantFrom(minute, 5 * minute, hour, 24 * hour),
        fc.integer({ min: 0, max: 40 * hour }),
      ),
      ping: fc.record({
        kind: fc.constantFrom("success" as const, "start" as const, "fail" as const, "log" as const),
        rid: fc.constantFrom(null, "a", "b"),
      }),
    }),
    { maxLength: 60 },
  );

  test("are told the same whenever time is checked, in turns of down and up", () => {
    fc.assert(
      fc.property(anyTimes, steps, (times, all) => {
        const prompt = new Running(times);
        // Its time is checked by pings alone: the worker is always late.
        const late = new Running(times);
        for (const { pauseMs, ping } of all) {
          prompt.after(pauseMs).ping(ping.kind, ping.rid);
          late.now += pauseMs;
          late.ping(ping.kind, ping.rid);
          expect(late.state.down).toEqual(prompt.state.down);
          expect(prompt.is === "down").toBe(prompt.state.down !== null);
          // What is due is in the future, and only something that is up can become down.
          expect(prompt.due === null || prompt.due > prompt.now).toBe(true);
          expect(prompt.state.down === null || prompt.due === null).toBe(true);
          expect(prompt.state.runs.length).toBeLessThanOrEqual(limits.heartbeatRuns);
        }
        expect(late.changes).toEqual(prompt.changes);
        prompt.changes.forEach(({ type }, index) => {
          expect(type).toBe(index % 2 === 0 ? "down" : "up");
        });
      }),
      { numRuns: effort(300, 5_000) },
    );
  });

  test("end in down if nothing follows, unless nothing was expected", () => {
    fc.assert(
      fc.property(anyTimes, steps, (times, all) => {
        const job = new Running(times);
        for (const { pauseMs, ping } of all) job.after(pauseMs).ping(ping.kind, ping.rid);
        const wasPinged = all.some(({ ping }) => ping.kind !== "log");
        expect(job.after(10 * 24 * hour).is).toBe(wasPinged ? "down" : "new");
      }),
      { numRuns: effort(300, 5_000) },
    );
  });
});
