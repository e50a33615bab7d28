import { describe, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";
import type { RuleWhen } from "../schemas/rule.ts";
import { eventAt, RunningRule, startMs } from "../testing/running-rule.ts";
import type { RuleNotification } from "./rule-kind.ts";
import { onMatch, onTime, startState, startsAnew } from "./rule-state.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** So many minutes after the rule began. */
const at = (minutes: number) => startMs + minutes * minuteMs;

describe("each", () => {
  test("alerts on each event at once", () => {
    const rule = new RunningRule({ type: "each" });
    const event = eventAt(at(1));
    expect(rule.match(at(1), event)).toEqual([{ type: "event", atMs: at(1), event }]);
    expect(rule.match(at(1))).toHaveLength(1);
    expect(rule.dueAtMs).toBeNull();
  });

  test("keeps the same state, which needn't be stored again", () => {
    const rule = { when: { type: "each" } as const };
    const state = startState(rule, startMs);
    expect(onMatch(rule, state, eventAt(at(1)), at(1)).state).toBe(state);
    expect(onTime(rule, state, at(2)).state).toBe(state);
  });
});

describe("number", () => {
  const values: [value: string, isAbove: boolean][] = [
    ["1000", false],
    ["1000.01", true],
    ["1e4", true],
    ["+2000", false],
    ["-2000", false],
    ["1,001", false],
    ["2000 €", false],
    ["0x7d1", false],
    ["Infinity", false],
    ["", false],
  ];
  for (const [value, isAbove] of values) {
    test(JSON.stringify(value), () => {
      const rule = new RunningRule({ type: "number", tag: "amount", above: 1_000 });
      expect(rule.match(at(1), eventAt(at(1), { tags: { amount: value } }))).toHaveLength(isAbove ? 1 : 0);
    });
  }

  test("events without the tag are left out", () => {
    const rule = new RunningRule({ type: "number", tag: "constructor", above: -1 });
    expect(rule.match(at(1))).toEqual([]);
  });
});

describe("burst", () => {
  test("the first at once, then one summary", () => {
    const rule = new RunningRule({ type: "burst", minutes: 5 });
    const first = eventAt(at(1));
    expect(rule.match(at(1), first)).toEqual([{ type: "event", atMs: at(1), event: first }]);
    let newest: Event | undefined;
    for (let second = 1; second <= 214; second++) {
      const name = second > 3 ? "Payment received" : "Payment failed";
      newest = eventAt(at(1) + second * 1_000, { name });
      expect(rule.match(at(1) + second * 1_000, newest)).toEqual([]);
    }
    expect(rule.dueAtMs).toBe(at(6));
    expect(rule.pass(at(6) - 1)).toEqual([]);
    expect(rule.pass(at(6))).toEqual([
      {
        type: "summary",
        atMs: at(6),
        count: 214,
        total: 215,
        fromMs: at(1),
        firstId: first.id,
        newestIds: [newest!.id],
        groups: [
          { channel: "payments", name: "Payment received", count: 211 },
          { channel: "payments", name: "Payment failed", count: 3 },
        ],
      },
    ]);
  });

  test("further windows follow while events keep coming", () => {
    const rule = new RunningRule({ type: "burst", minutes: 5 });
    const first = eventAt(at(0));
    rule.match(at(0), first);
    rule.match(at(1));
    rule.match(at(5));
    expect(rule.match(at(9))).toEqual([]);
    rule.pass(at(10));
    expect(rule.notifications.slice(1)).toMatchObject([
      { type: "summary", atMs: at(5), count: 1, total: 2, fromMs: at(0), firstId: first.id },
      { type: "summary", atMs: at(10), count: 2, total: 4, fromMs: at(5), firstId: first.id },
    ]);
    expect(rule.dueAtMs).toBeNull();
    const next = eventAt(at(15));
    expect(rule.match(at(15), next)).toEqual([{ type: "event", atMs: at(15), event: next }]);
  });

  test("noticed hours late, a window says the same", () => {
    const rule = new RunningRule({ type: "burst", minutes: 5 });
    rule.match(at(0));
    rule.match(at(1));
    const next = eventAt(at(600));
    expect(rule.match(at(600), next)).toMatchObject([
      { type: "summary", atMs: at(5), count: 1, fromMs: at(0) },
      { type: "event", atMs: at(600), event: next },
    ]);
  });
});

describe("digest", () => {
  const daily: RuleWhen = { type: "digest", every: "day", at: "08:00", timeZone: "Europe/Berlin" };

  test("what was collected since the last one, across a change to summer time", () => {
    const rule = new RunningRule(daily);
    const saturday = [Date.parse("2026-03-28T06:59:59Z"), Date.parse("2026-03-28T07:00:00Z")] as const;
    const sunday = Date.parse("2026-03-29T06:00:00Z");
    rule.match(saturday[0]);
    expect(rule.dueAtMs).toBe(saturday[1]);
    rule.match(saturday[1]);
    expect(rule.dueAtMs).toBe(sunday);
    rule.pass(sunday + 5 * hourMs);
    expect(rule.notifications).toMatchObject([
      { type: "digest", atMs: saturday[1], count: 1, fromMs: saturday[0] },
      { type: "digest", atMs: sunday, count: 1, fromMs: saturday[1] },
    ]);
  });

  test("without events there is none, and one that is overdue comes once", () => {
    const rule = new RunningRule(daily);
    expect(rule.dueAtMs).toBeNull();
    expect(rule.pass(at(10_000))).toEqual([]);
    rule.match(at(10_000));
    expect(rule.pass(at(50_000))).toHaveLength(1);
    expect(rule.pass(at(90_000))).toEqual([]);
  });

  test("lists the newest events, and the largest groups", () => {
    const rule = new RunningRule({ type: "digest", every: "hour", timeZone: "UTC" });
    const ids: string[] = [];
    for (let n = 0; n < 30; n++) {
      const event = eventAt(at(1) + n, { name: n % 3 === 0 ? "Refund" : `Payment ${n % 20}` });
      ids.unshift(event.id);
      rule.match(at(1) + n, event);
    }
    const [digest] = rule.pass(at(60));
    expect(digest).toMatchObject({ type: "digest", count: 30, newestIds: ids.slice(0, limits.digestEvents) });
    const { groups } = digest as Extract<RuleNotification, { type: "digest" }>;
    expect(groups).toHaveLength(limits.digestGroups);
    expect(groups[0]).toEqual({ channel: "payments", name: "Refund", count: 10 });
    expect(groups[1]!.count).toBe(2);
  });
});

describe("silence", () => {
  const rule = () => new RunningRule({ type: "silence", minutes: 26 * 60 });

  test("once, and its recovery", () => {
    const backup = rule();
    expect(backup.dueAtMs).toBe(at(26 * 60));
    const last = eventAt(at(60));
    backup.match(at(60), last);
    expect(backup.dueAtMs).toBe(at(27 * 60));
    expect(backup.pass(at(27 * 60) - 1)).toEqual([]);
    expect(backup.pass(at(27 * 60))).toEqual([
      { type: "silence", atMs: at(27 * 60), sinceMs: at(60), newestIds: [last.id] },
    ]);
    expect(backup.dueAtMs).toBeNull();
    expect(backup.pass(at(99 * 60))).toEqual([]);
    const event = eventAt(at(100 * 60));
    expect(backup.match(at(100 * 60), event)).toEqual([
      { type: "recovery", atMs: at(100 * 60), afterMs: 99 * hourMs, event },
    ]);
    expect(backup.dueAtMs).toBe(at(126 * 60));
  });

  test("noticed late, it says the same", () => {
    const backup = rule();
    expect(backup.match(at(30 * 60))).toMatchObject([
      { type: "silence", atMs: at(26 * 60), sinceMs: startMs, newestIds: [] },
      { type: "recovery", atMs: at(30 * 60), afterMs: 30 * hourMs },
    ]);
  });

  test("an event that happened within the window is a sign of life when it arrives, and an older one isn't", () => {
    const backup = rule();
    backup.match(at(10 * 60), eventAt(at(9 * 60 - 25 * 60)));
    expect(backup.dueAtMs).toBe(at(36 * 60));
    backup.match(at(20 * 60), eventAt(at(20 * 60 - 26 * 60) - 1));
    expect(backup.dueAtMs).toBe(at(36 * 60));
    backup.pass(at(40 * 60));
    expect(backup.match(at(50 * 60), eventAt(at(20 * 60)))).toEqual([]);
    expect(backup.match(at(50 * 60), eventAt(at(30 * 60)))).toMatchObject([{ type: "recovery" }]);
  });
});

describe("a silence that became due while the server was down", () => {
  const overdue = () => {
    const backup = new RunningRule({ type: "silence", minutes: 60 });
    backup.match(at(1));
    backup.startAgain(at(300));
    return backup;
  };

  test("waits for what was sent meanwhile", () => {
    const backup = overdue();
    expect(backup.dueAtMs).toBe(at(305));
    expect(backup.pass(at(304))).toEqual([]);
    expect(backup.match(at(304))).toEqual([]);
    expect(backup.dueAtMs).toBe(at(364));
  });

  test("says the same a little later if nothing came", () => {
    const backup = overdue();
    expect(backup.pass(at(305))).toMatchObject([{ type: "silence", atMs: at(61), sinceMs: at(1) }]);
  });

  test("isn't delayed if it was not due, or no longer than its own time", () => {
    const early = new RunningRule({ type: "silence", minutes: 60 });
    early.startAgain(at(59));
    expect(early.dueAtMs).toBe(at(60));
    const short = new RunningRule({ type: "silence", minutes: 1 });
    short.startAgain(at(59));
    expect(short.dueAtMs).toBe(at(60));
  });
});

describe("count", () => {
  test("once, until it was low enough again", () => {
    const rule = new RunningRule({ type: "count", above: 3, minutes: 10 });
    for (const minute of [0, 1, 2]) expect(rule.match(at(minute))).toEqual([]);
    const event = eventAt(at(3));
    expect(rule.match(at(3), event)).toEqual([
      { type: "threshold", atMs: at(3), count: 4, minutes: 10, event },
    ]);
    expect(rule.match(at(4))).toEqual([]);
    // The window has those of the minutes 3, 4 and 12.9, then one more.
    expect(rule.match(at(12.9))).toEqual([{ type: "below", atMs: at(11) }]);
    expect(rule.match(at(12.9))).toMatchObject([{ type: "threshold", count: 4 }]);
    // When that of minute 3 leaves the window.
    expect(rule.dueAtMs).toBe(at(13));
    expect(rule.pass(at(60))).toEqual([{ type: "below", atMs: at(13) }]);
    expect(rule.dueAtMs).toBeNull();
  });
});

describe("events that are late", () => {
  const late = (ageMs: number) => eventAt(at(10) - ageMs);
  const whens: RuleWhen[] = [
    { type: "each" },
    { type: "burst", minutes: 5 },
    { type: "digest", every: "hour", timeZone: "UTC" },
    { type: "count", above: 1, minutes: 5 },
    { type: "number", tag: "n", above: 1 },
  ];
  for (const when of whens) {
    test(`${when.type}: count when they arrive, unless they are more than an hour old`, () => {
      const notified = (ageMs: number) => {
        const rule = new RunningRule(when);
        for (let n = 0; n < 2; n++) rule.match(at(10), { ...late(ageMs), tags: { n: "2" } });
        rule.pass(at(60));
        return rule.notifications.map(({ type, atMs }) => [type, atMs]);
      };
      expect(notified(limits.notifyAgeMs)).toEqual(notified(0));
      expect(notified(limits.notifyAgeMs)).not.toEqual([]);
      expect(notified(limits.notifyAgeMs + 1)).toEqual([]);
    });
  }
});

test("a rule begins anew if what it looks for changes, or if it is turned on", () => {
  const rule = { q: "a", when: { type: "burst", minutes: 5 } as RuleWhen, forEach: null, enabled: true };
  expect(startsAnew(rule, { ...rule, when: { type: "burst", minutes: 5 } })).toBe(false);
  expect(startsAnew(rule, { ...rule, when: { type: "burst", minutes: 6 } })).toBe(true);
  expect(startsAnew(rule, { ...rule, when: { type: "silence", minutes: 5 } })).toBe(true);
  expect(startsAnew(rule, { ...rule, q: "b" })).toBe(true);
  expect(startsAnew(rule, { ...rule, forEach: "user" })).toBe(true);
  expect(startsAnew(rule, { ...rule, enabled: false })).toBe(false);
  expect(startsAnew({ ...rule, enabled: false }, rule)).toBe(true);
});

describe("a clock that is set back", () => {
  const yearMs = 365 * 24 * hourMs;

  test("a little, because nodes differ: the end of a window stays where it was", () => {
    const hourly: RuleWhen = { type: "digest", every: "hour", timeZone: "UTC" };
    const byEvent = new RunningRule(hourly);
    byEvent.match(at(59));
    byEvent.match(at(60));
    byEvent.match(at(60) - 10);
    const byTime = new RunningRule(hourly);
    byTime.match(at(59));
    byTime.pass(at(60));
    byTime.match(at(60) - 10);
    for (const [rule, count] of [[byEvent, 2] as const, [byTime, 1] as const]) {
      expect(rule.dueAtMs).toBe(at(120));
      expect(rule.pass(at(120))).toMatchObject([{ type: "digest", count, fromMs: at(60) }]);
    }
  });

  test("after it was a year ahead: a window doesn't last a year", () => {
    const burst: RuleWhen = { type: "burst", minutes: 5 };
    const digest: RuleWhen = { type: "digest", every: "hour", timeZone: "UTC" };
    const silence: RuleWhen = { type: "silence", minutes: 5 };
    for (const [when, dueMs] of [
      [burst, at(7)] as const,
      [digest, at(60)] as const,
      [silence, at(7)] as const,
    ]) {
      for (const next of ["match", "pass"] as const) {
        const rule = new RunningRule(when);
        rule.match(at(1) + yearMs);
        rule.match(at(1) + yearMs);
        rule[next](at(2));
        expect(rule.dueAtMs).toBe(dueMs);
      }
    }
  });

  test("after it was a year ahead: what was counted stays counted, for as long as the window", () => {
    const rule = new RunningRule({ type: "count", above: 2, minutes: 5 });
    for (let n = 0; n < 3; n++) rule.match(at(1) + yearMs);
    for (let n = 0; n < 3; n++) expect(rule.match(at(1))).toEqual([]);
    for (let n = 0; n < 3; n++) rule.match(at(10));
    expect(rule.notifications).toMatchObject([
      { type: "threshold" },
      { type: "below" },
      { type: "threshold", atMs: at(10) },
    ]);
  });
});
