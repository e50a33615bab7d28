import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import "../validation/messages.ts";
import { limits } from "../core/limits.ts";
import { QuietHours } from "./quiet-hours.ts";
import { NewRule, Rule, RuleChange } from "./rule.ts";

const everyone = { everyone: true, members: [], schedules: [], destinations: [], fallback: null };
const metric = {
  type: "metric",
  measure: { metric: "events" },
  minutes: 60,
  against: null,
  clear: null,
  pendingMinutes: 0,
  noData: "ok",
};
const rule = { name: "Payments", q: "channel:payments", when: { type: "each" }, to: everyone };

describe("what a rule may be", () => {
  const whens: object[] = [
    { type: "each" },
    { type: "burst", minutes: 5 },
    { type: "digest", every: "hour", timeZone: "Asia/Kathmandu" },
    { type: "digest", every: "day", at: "08:00", timeZone: "Europe/Berlin" },
    { type: "digest", every: "week", at: "23:59", weekday: "sunday", timeZone: "UTC" },
    { type: "silence", minutes: limits.ruleMinutes },
    { type: "count", above: 100, minutes: 1 },
    { type: "number", tag: "amount", above: -0.5 },
    { ...metric, measure: { metric: "average", tag: "ms" }, above: 500, clear: 400, pendingMinutes: 5 },
    { ...metric, measure: { metric: "ratio", of: "name:Payment" }, below: -30, against: "week" },
    { ...metric, measure: { metric: "users" }, change: 50, against: "before", noData: "alert" },
    { ...metric, measure: { metric: "conversion", steps: ["a", "b"], windowSeconds: 60 }, below: 10 },
  ];
  for (const when of whens) {
    test(JSON.stringify(when), () => {
      const parsed = NewRule.parse({ ...rule, when });
      const defaults = {
        forEach: null,
        forgetDays: 30,
        groupBy: null,
        urgent: false,
        resolve: null,
        remindMinutes: null,
        escalation: [],
        enabled: true,
      };
      expect(parsed).toEqual({ ...rule, when, ...defaults } as unknown as typeof parsed);
      expect(RuleChange.parse({ when })).toEqual({ when } as RuleChange);
      const state = { firedAt: "2026-02-01T12:00:00.000Z", silentSince: null, dueAt: null, reading: null };
      const stored = { ...parsed, ...state, id: "1", version: "1", createdAt: "2026-01-31T12:00:00.000Z" };
      expect(Rule.parse(stored)).toEqual(stored);
    });
  }

  test("q is empty unless it is sent, and ids are listed once", () => {
    const to = { everyone: false, members: ["a", "b", "a"], destinations: ["d", "d"] };
    expect(NewRule.parse({ name: "All", when: { type: "each" }, to })).toMatchObject({
      q: "",
      to: { members: ["a", "b"], schedules: [], destinations: ["d"] },
    });
  });

  test("a time zone is stored as IANA spells it", () => {
    const when = { type: "digest", every: "hour", timeZone: "europe/berlin" };
    expect(RuleChange.parse({ when })).toMatchObject({ when: { timeZone: "Europe/Berlin" } });
  });

  test("a change leaves out what stays", () => {
    expect(RuleChange.parse({ enabled: false })).toEqual({ enabled: false });
  });
});

test("the examples in the documentation are valid", () => {
  const page = readFileSync(join(import.meta.dir, "../../docs/rules.md"), "utf8");
  const [rule] = /(?<=```json\n)[^`]+/.exec(page)!;
  expect(NewRule.parse(JSON.parse(rule))).toEqual(JSON.parse(rule));
  const whens = [...page.matchAll(/^\| `(\w+)` +\| `([^`]+)`/gm)];
  expect(whens.map(([, type]) => type!)).toEqual([
    "each",
    "burst",
    "digest",
    "silence",
    "count",
    "number",
    "metric",
  ]);
  for (const [, type, when] of whens) {
    expect(RuleChange.parse({ when: JSON.parse(when!) }).when!.type as string).toBe(type!);
  }
});

describe("what a rule may not be is reported with its place", () => {
  const daily = { type: "digest", every: "day", at: "08:00", timeZone: "UTC" };
  const nobody = "must name somebody: everyone, a member, an on-call schedule or a destination";
  const cases: [change: object, path: string, says: string][] = [
    [{ name: " " }, "name", "must not be blank"],
    [{ remindMinutes: 4 }, "remindMinutes", "must be at least 5"],
    [
      {
        escalation: [30, 15].map((minutes) => ({
          minutes,
          to: { everyone: true, members: [], destinations: [] },
        })),
      },
      "escalation",
      "must have its steps in the order of their minutes",
    ],
    [
      { escalation: [{ minutes: 5, to: { everyone: false, members: [], destinations: [] } }] },
      "escalation.0.to",
      nobody,
    ],
    [
      { q: "a chanel:b" },
      "q",
      'is not a valid search. Unknown field "chanel". Did you mean "channel:"? The mistake is at character 3',
    ],
    [
      { when: { type: "never" } },
      "when.type",
      'must be "each", "burst", "digest", "silence", "count", "number", or "metric"',
    ],
    [{ when: "each" }, "when", "must be an object, not a string"],
    [{ when: { type: "each", minutes: 5 } }, "when", 'Unrecognized key: "minutes"'],
    [{ when: { type: "burst", minutes: 0 } }, "when.minutes", "must be at least 1"],
    [{ when: { type: "silence", minutes: 44_641 } }, "when.minutes", "must be at most 44,640"],
    [{ when: { type: "count", minutes: 1.5, above: 1 } }, "when.minutes", "must be a whole number"],
    [{ when: { type: "number", tag: "", above: 1 } }, "when.tag", "must not be blank"],
    [{ when: { ...metric } }, "when", 'must have exactly one of "above", "below" and "change"'],
    [
      { when: { ...metric, above: 1, below: 0 } },
      "when",
      'must have exactly one of "above", "below" and "change"',
    ],
    [{ when: { ...metric, change: 50 } }, "when.against", 'must be "before" or "week" for a change'],
    [{ when: { ...metric, above: 5, clear: 6 } }, "when.clear", 'must be at most "above"'],
    [{ when: { ...metric, below: 5, clear: 4 } }, "when.clear", 'must be at least "below"'],
    [
      { when: { ...metric, change: 50, against: "week", clear: -1 } },
      "when.clear",
      'must be from 0 to "change"',
    ],
    [{ when: { ...daily, every: "year" } }, "when.every", 'must be "hour", "day", or "week"'],
    [{ when: { ...daily, at: "24:00" } }, "when.at", 'must be a time of day from "00:00" to "23:59"'],
    [
      { when: { ...daily, timeZone: "Mars/Olympus" } },
      "when.timeZone",
      'must be an IANA time zone, such as "Europe/Berlin"',
    ],
    [
      { when: { ...daily, every: "week", weekday: "Sunday" } },
      "when.weekday",
      'must be "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", or "sunday"',
    ],
    [{ to: { everyone: false, members: [], destinations: [], fallback: null } }, "to", nobody],
    [
      { to: { ...everyone, destinations: Array(101).fill("d") } },
      "to.destinations",
      `must have at most ${limits.ruleDestinations} items`,
    ],
  ];
  for (const [change, path, says] of cases) {
    test(`${path} ${says}`, () => {
      for (const result of [NewRule.safeParse({ ...rule, ...change }), RuleChange.safeParse(change)]) {
        const issues = result.error?.issues.map((issue) => [issue.path.join("."), issue.message]);
        expect(issues).toEqual([[path, says]]);
      }
    });
  }

  test("the column of a mistake in q is also a number", () => {
    const [issue] = RuleChange.safeParse({ q: "a chanel:b" }).error!.issues;
    expect(issue).toMatchObject({ params: { column: 3 } });
  });

  test("a change without fields", () => {
    expect(RuleChange.safeParse({}).error!.issues[0]!.message).toBe(
      "changes nothing. Send at least one field",
    );
  });
});

test("quiet hours begin and end at different times", () => {
  const hours = { days: ["sunday", "monday", "sunday"], from: "22:00", to: "07:00" };
  expect(QuietHours.parse(hours)).toEqual({ ...hours, days: ["monday", "sunday"] });
  expect(QuietHours.safeParse({ ...hours, days: [] }).error!.issues[0]!.message).toBe("must name a day");
  expect(QuietHours.safeParse({ ...hours, to: "22:00" }).error!.issues[0]!.message).toBe(
    'must differ from "from"',
  );
});
