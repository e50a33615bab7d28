/** Who is on call, compared with a plain computation that goes through every minute, also over changes of the clock. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { OnCallRotation } from "../schemas/on-call.ts";
import { weekdays } from "../schemas/rule.ts";
import { effort } from "../testing/engine.ts";
import { nextHandOver, onCallAt, type ScheduleTimes, shiftsBetween } from "./shifts.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

const weekly: OnCallRotation = {
  members: ["ada", "bob"],
  every: 1,
  unit: "week",
  at: "09:00",
  startsOn: "2026-03-02",
  hours: null,
};
const berlin = (rotations: OnCallRotation[], overrides: ScheduleTimes["overrides"] = []): ScheduleTimes => ({
  timeZone: "Europe/Berlin",
  rotations,
  overrides,
});
const at = (iso: string) => Date.parse(iso);

/** A moment as clocks show it, such as "2026-03-29T02:30". */
function clockAt(formatter: Intl.DateTimeFormat, ms: number): string {
  const parts = Object.fromEntries(formatter.formatToParts(ms).map(({ type, value }) => [type, value]));
  return `${parts.year}-${parts.month}-${parts.day}T${parts.hour}:${parts.minute}`;
}

/** Goes through the minutes. A time has passed once clocks have shown it or a later one. */
class MinuteByMinute {
  readonly #schedule: ScheduleTimes;
  readonly #formatter: Intl.DateTimeFormat;
  #latest = "";

  constructor(schedule: ScheduleTimes) {
    this.#schedule = schedule;
    const part = "2-digit";
    const parts = { year: "numeric", month: part, day: part, hour: part, minute: part } as const;
    this.#formatter = new Intl.DateTimeFormat("en-CA", {
      ...parts,
      hourCycle: "h23",
      timeZone: schedule.timeZone,
    });
  }

  /** Call it for each minute. */
  onCall(ms: number): string | null {
    const shown = clockAt(this.#formatter, ms);
    if (shown > this.#latest) this.#latest = shown;
    const { overrides, rotations } = this.#schedule;
    const override = overrides.findLast(({ fromMs, toMs }) => fromMs <= ms && ms < toMs);
    if (override) return override.accountId;
    for (const rotation of rotations) {
      const turns = this.#turnsOf(rotation);
      if (turns === 0 || !this.#covers(rotation)) continue;
      return rotation.members[(turns - 1) % rotation.members.length]!;
    }
    return null;
  }

  /** How many turns have begun. */
  #turnsOf({ startsOn, at: time, every, unit }: OnCallRotation): number {
    let turns = 0;
    for (let day = startsOn; `${day}T${time}` <= this.#latest; turns++)
      day = addDays(day, every * (unit === "week" ? 7 : 1));
    return turns;
  }

  #covers({ hours }: OnCallRotation): boolean {
    if (hours === null) return true;
    const today = this.#latest.slice(0, 10);
    return [addDays(today, -1), today].some((day) => {
      if (!hours.days.includes(weekdays[(new Date(`${day}T00:00Z`).getUTCDay() + 6) % 7]!)) return false;
      const end = hours.from < hours.to ? day : addDays(day, 1);
      return `${day}T${hours.from}` <= this.#latest && this.#latest < `${end}T${hours.to}`;
    });
  }
}

function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00Z`) + days * dayMs).toISOString().slice(0, 10);
}

const time = fc
  .tuple(fc.integer({ min: 0, max: 23 }), fc.constantFrom("00", "15", "30", "59"))
  .map(([hour, minute]) => `${String(hour).padStart(2, "0")}:${minute}`);
/** Hand-overs and hours while the clock changes are the ones that can go wrong. */
const trickyTime = fc.oneof(time, fc.constantFrom("00:00", "01:30", "02:00", "02:30", "03:00", "23:59"));

const rotation: fc.Arbitrary<OnCallRotation> = fc.record({
  members: fc.array(fc.constantFrom("ada", "bob", "eve", "kim"), { minLength: 1, maxLength: 4 }),
  every: fc.integer({ min: 1, max: 3 }),
  unit: fc.constantFrom("day" as const, "week" as const),
  at: trickyTime,
  startsOn: fc.integer({ min: -40, max: 4 }).map((days) => addDays("2026-01-01", days)),
  hours: fc.option(
    fc.record({
      days: fc.uniqueArray(fc.constantFrom(...weekdays), { minLength: 1 }),
      from: trickyTime,
      to: trickyTime,
    }),
  ),
});

/** Zones whose clocks change by an hour, by half an hour and over midnight, and one whose clocks never do. */
const transitions = [
  ["Europe/Berlin", "2026-03-29"],
  ["Europe/Berlin", "2026-10-25"],
  ["America/New_York", "2026-11-01"],
  ["Australia/Lord_Howe", "2026-04-05"],
  ["Australia/Lord_Howe", "2026-10-04"],
  ["America/Santiago", "2026-04-05"],
  ["America/Santiago", "2026-09-06"],
  ["Asia/Kolkata", "2026-06-01"],
] as const;

describe("a schedule", () => {
  test("is what goes minute by minute, over changes of the clock", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...transitions),
        fc.array(rotation, { minLength: 1, maxLength: 3 }),
        fc.array(fc.tuple(fc.nat(4_000), fc.integer({ min: 1, max: 1_500 }), fc.constantFrom("ann", "ben")), {
          maxLength: 3,
        }),
        fc.nat(500),
        ([timeZone, date], rotations, overriding, offset) => {
          const startMs = Date.parse(`${date}T00:00Z`) - dayMs + offset * minuteMs;
          const shift = Date.parse(`${date}T00:00Z`) - Date.parse("2026-01-01T00:00Z");
          const schedule: ScheduleTimes = {
            timeZone,
            rotations: rotations.map((each) => ({
              ...each,
              startsOn: addDays(each.startsOn, shift / dayMs),
            })),
            overrides: overriding.map(([from, minutes, accountId], index) => ({
              id: String(index),
              accountId,
              fromMs: startMs + from * minuteMs,
              toMs: startMs + (from + minutes) * minuteMs,
            })),
          };
          const endMs = startMs + 3 * dayMs;
          const plain = new MinuteByMinute(schedule);
          // Clocks have shown what they show now, a day before, or a later time.
          for (let ms = startMs - dayMs; ms < startMs; ms += minuteMs) plain.onCall(ms);
          const shifts = shiftsBetween(schedule, startMs, endMs);
          let index = 0;
          for (let ms = startMs; ms < endMs; ms += minuteMs) {
            const expected = plain.onCall(ms);
            while (shifts[index]!.toMs <= ms) index++;
            if (shifts[index]!.accountId !== expected)
              expect([ms, shifts[index]]).toEqual([ms, expected as never]);
          }
          expect(shifts[0]!.fromMs).toBe(startMs);
          expect(shifts.at(-1)!.toMs).toBe(endMs);
          for (const [position, { fromMs, accountId }] of shifts.entries()) {
            expect(onCallAt(schedule, fromMs).accountId).toBe(accountId);
            if (position > 0) expect(shifts[position - 1]!.toMs).toBe(fromMs);
          }
        },
      ),
      { numRuns: effort(40, 400) },
    );
  });

  test("hands over at the same time of day in summer and winter", () => {
    const shifts = shiftsBetween(berlin([weekly]), at("2026-03-20T00:00Z"), at("2026-04-10T00:00Z"));
    expect(shifts.map(({ accountId, fromMs }) => [accountId, new Date(fromMs).toISOString()])).toEqual([
      ["ada", "2026-03-20T00:00:00.000Z"],
      ["bob", "2026-03-23T08:00:00.000Z"],
      ["ada", "2026-03-30T07:00:00.000Z"],
      ["bob", "2026-04-06T07:00:00.000Z"],
    ]);
  });

  test("hands over at the first of two times that the clock shows, and right after one that it skips", () => {
    const daily = berlin([{ ...weekly, unit: "day", at: "02:30", startsOn: "2026-01-01" }]);
    const handOver = (from: string, to: string) => shiftsBetween(daily, at(from), at(to))[1]!.fromMs;
    expect(handOver("2026-10-24T12:00Z", "2026-10-25T12:00Z")).toBe(at("2026-10-25T00:30Z"));
    expect(handOver("2026-03-28T12:00Z", "2026-03-29T12:00Z")).toBe(at("2026-03-29T01:00Z"));
    const night = { days: [...weekdays], from: "02:30", to: "02:45" };
    const hours = berlin([{ ...weekly, members: ["ada"], hours: night }]);
    const shifts = shiftsBetween(hours, at("2026-10-24T12:00Z"), at("2026-10-25T12:00Z"));
    expect(shifts.map(({ fromMs }) => new Date(fromMs).toISOString().slice(11, 16))).toEqual([
      "12:00",
      "00:30",
      "00:45",
    ]);
  });

  test("has nobody before its first turn, and the next rotation where the first one leaves a gap", () => {
    const office = { days: [...weekdays.slice(0, 5)], from: "09:00", to: "17:00" };
    const night = { ...weekly, members: ["eve"] };
    const schedule = berlin([{ ...weekly, hours: office }, night]);
    const who = (iso: string) => onCallAt(schedule, at(iso));
    expect(who("2026-03-02T07:59:00Z")).toEqual({ accountId: null, rotation: null, override: null });
    expect(who("2026-03-02T08:00:00Z")).toEqual({ accountId: "ada", rotation: 0, override: null });
    expect(who("2026-03-02T16:00:00Z")).toEqual({ accountId: "eve", rotation: 1, override: null });
  });

  test("takes the latest override", () => {
    const during = { fromMs: at("2026-03-03T00:00Z"), toMs: at("2026-03-04T00:00Z") };
    const overrides = [
      { id: "1", accountId: "eve", ...during },
      { id: "2", accountId: "kim", ...during, toMs: at("2026-03-03T12:00Z") },
    ];
    const schedule = berlin([weekly], overrides);
    expect(onCallAt(schedule, at("2026-03-03T11:59Z")).override).toBe("2");
    expect(onCallAt(schedule, at("2026-03-03T12:00Z")).override).toBe("1");
    expect(onCallAt(schedule, at("2026-03-04T00:00Z")).accountId).toBe("ada");
  });

  test("knows the next hand-over, however far it is", () => {
    const long = { ...weekly, every: 30 };
    expect(nextHandOver(berlin([long]), at("2026-03-02T09:00Z"))).toEqual({
      atMs: at("2026-09-28T07:00Z"),
      accountId: "bob",
    });
    expect(nextHandOver(berlin([{ ...weekly, members: ["ada"] }]), at("2026-03-02T09:00Z"))).toBeNull();
    expect(nextHandOver(berlin([]), at("2026-03-02T09:00Z"))).toBeNull();
  });
});
