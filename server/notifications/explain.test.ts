import { describe, expect, test } from "bun:test";
import type { Event } from "../event/event.ts";
import type { Rule, RuleWhen } from "../schemas/rule.ts";
import { explain, explainNoDelivery, type Known, type Person } from "./explain.ts";

const arrivedMs = Date.parse("2026-03-27T12:00:00Z");
const day = 24 * 60 * 60 * 1_000;
const event: Event = {
  id: "0195d7a0-0000-7000-8000-000000000001",
  name: "Order placed",
  channelId: "orders",
  userId: "",
  notify: true,
  tags: { amount: "5" },
  createdAt: new Date(arrivedMs).toISOString(),
};
const bell = { id: "bell", kind: "dashboard", label: "Dashboard", enabled: true, createdMs: 0 };
const phone = { id: "phone", kind: "browser", label: "Phone", enabled: true, createdMs: 0 };
const mail = { id: "mail", kind: "email", label: "ann@example.com", enabled: true, createdMs: 0 };
const ann: Person = {
  accountId: "ann",
  name: "Ann",
  joinedMs: 0,
  destinations: [bell, phone, mail],
  follows: new Set(),
};
function ruleWith(change: Partial<Rule> & { when?: RuleWhen } = {}): Rule {
  return {
    id: "rule",
    name: "Orders",
    q: "channel:orders",
    when: { type: "each" },
    forEach: null,
    forgetDays: null,
    groupBy: null,
    to: { everyone: true, members: [], schedules: [], destinations: [], fallback: null },
    urgent: false,
    resolve: null,
    remindMinutes: null,
    escalation: [],
    enabled: true,
    firedAt: null,
    silentSince: null,
    dueAt: null,
    reading: null,
    version: "1",
    createdAt: new Date(0).toISOString(),
    ...change,
  };
}
const known: Known = {
  event,
  arrivedMs,
  nowMs: arrivedMs + 1_000,
  deliveryDays: 30,
  rules: [ruleWith()],
  searchOf: (rule) => rule,
  persons: new Map(),
  deliveries: [bell, phone, mail].map(({ id }) => ({ accountId: "ann", destinationId: id })),
  folded: [],
  quiet: [],
  people: [ann],
  onCall: { reasonFor: () => null },
  projectDestinations: [],
  isEmailAvailable: true,
};
const toBell = [{ accountId: "ann", destinationId: "bell" }];
const person = (change: Partial<Person>) => [{ ...ann, ...change }];
const own = (reason: string, kind: string | null = null, delivery: string | null = null) => ({
  account: "Ann",
  kind,
  reason,
  delivery,
});
const forAll = (reason: string) => ({ account: null, kind: null, reason, delivery: null });

describe("why somebody has no delivery", () => {
  const cases: [what: string, change: Partial<Known>, explanations: unknown[]][] = [
    ["everybody has one", {}, []],
    [
      "no flag",
      { deliveries: [], rules: [ruleWith({ q: "notify:true" })], event: { ...event, notify: false } },
      [forAll("no-flag")],
    ],
    ["no rule, with the flag", { deliveries: [], rules: [] }, [forAll("no-rule")]],
    ["a rule that is off", { deliveries: [], rules: [ruleWith({ enabled: false })] }, [forAll("no-rule")]],
    [
      "a rule that was made later",
      { deliveries: [], rules: [ruleWith({ createdAt: new Date(arrivedMs + 1).toISOString() })] },
      [forAll("no-rule")],
    ],
    [
      "a rule for others",
      {
        deliveries: [],
        rules: [
          ruleWith({
            to: { everyone: false, members: ["bob"], schedules: [], destinations: [], fallback: null },
          }),
        ],
      },
      [own("no-rule")],
    ],
    [
      "an alert that somebody looks after",
      { deliveries: [], quiet: [{ ruleId: "rule", value: "", why: "acknowledged", by: "bob@example.com" }] },
      [own("alert-acknowledged")],
    ],
    [
      "an alert of another value that somebody looks after",
      {
        deliveries: [],
        rules: [ruleWith({ forEach: "channel" })],
        quiet: [{ ruleId: "rule", value: "other", why: "acknowledged", by: null }],
      },
      [],
    ],
    [
      "an alert that is told with others of its group",
      {
        deliveries: [],
        rules: [ruleWith({ forEach: "channel" })],
        quiet: [{ ruleId: "rule", value: "orders", why: "grouped" }],
      },
      [own("alert-grouped")],
    ],
    [
      "without the value that a rule follows",
      { deliveries: [], rules: [ruleWith({ forEach: "tag.service" })] },
      [own("rule-not-met")],
    ],
    [
      "what ends an alert, also if it matches the rule",
      { deliveries: [], rules: [ruleWith({ resolve: "channel:orders" })] },
      [own("alert-end")],
    ],
    [
      "what only ends an alert",
      { deliveries: [], rules: [ruleWith({ q: "name:nothing", resolve: "channel:orders" })] },
      [own("alert-end")],
    ],
    [
      "backdated",
      { deliveries: [], event: { ...event, createdAt: new Date(arrivedMs - day).toISOString() } },
      [forAll("backdated")],
    ],
    ["expired", { deliveries: [], nowMs: arrivedMs + 31 * day }, [forAll("expired")]],
    [
      "not a member then",
      { deliveries: [], people: person({ joinedMs: arrivedMs + 1 }) },
      [own("not-a-member-then")],
    ],
    [
      "turned off",
      { deliveries: toBell, people: person({ destinations: [bell, { ...phone, enabled: false }] }) },
      [own("off", "browser")],
    ],
    [
      "added later",
      {
        deliveries: toBell,
        people: person({ destinations: [bell, { ...phone, createdMs: arrivedMs + 1 }] }),
      },
      [own("added-later", "browser")],
    ],
    [
      "no device",
      { deliveries: toBell, people: person({ destinations: [bell] }) },
      [own("no-device", "browser")],
    ],
    [
      "email is not configured",
      { deliveries: known.deliveries.slice(0, 2), isEmailAvailable: false },
      [own("email-unavailable", "email")],
    ],
    [
      "folded into a burst",
      {
        deliveries: [],
        rules: [ruleWith({ when: { type: "burst", minutes: 5 } })],
        folded: [
          { id: "1", ruleId: "rule", eventId: "first", fromMs: arrivedMs - day, toMs: arrivedMs - 1 },
          { id: "2", ruleId: "another", eventId: "first", fromMs: arrivedMs - 1, toMs: arrivedMs + 1 },
          { id: "3", ruleId: "rule", eventId: "first", fromMs: arrivedMs - 1, toMs: arrivedMs + 1 },
        ],
      },
      [own("burst", null, "3")],
    ],
    [
      "to be folded into a digest",
      {
        deliveries: [],
        rules: [ruleWith({ when: { type: "digest", every: "day", at: "08:00", timeZone: "UTC" } })],
      },
      [own("rule-digest")],
    ],
    [
      "below the threshold of a count",
      { deliveries: [], rules: [ruleWith({ when: { type: "count", above: 5, minutes: 1 } })] },
      [own("rule-not-met")],
    ],
    [
      "below the threshold of a number",
      { deliveries: [], rules: [ruleWith({ when: { type: "number", tag: "amount", above: 10 } })] },
      [own("rule-not-met")],
    ],
    [
      "a sign of life",
      { deliveries: [], rules: [ruleWith({ when: { type: "silence", minutes: 5 } })] },
      [own("rule-not-met")],
    ],
    [
      "too many for somebody who wants all",
      { deliveries: [], rules: [], people: person({ follows: new Set(["phone"]) }) },
      [own("too-many")],
    ],
  ];
  const slack = { id: "slack", kind: "slack", name: "#ops", enabled: true, createdMs: 0 };
  const toSlack = { everyone: false, members: [], schedules: [], destinations: ["slack"], fallback: null };
  const ofSlack = (reason: string) => ({
    account: null,
    kind: "slack",
    label: "#ops",
    destination: "slack",
    reason,
  });
  cases.push(
    ["a destination that no rule names", { projectDestinations: [slack] }, [ofSlack("no-rule")]],
    [
      "a destination that is off",
      { projectDestinations: [{ ...slack, enabled: false }], rules: [ruleWith({ to: toSlack })] },
      [ofSlack("off")],
    ],
    [
      "a destination that was added later",
      { projectDestinations: [{ ...slack, createdMs: arrivedMs + 1 }] },
      [ofSlack("added-later")],
    ],
    [
      "a destination that got it",
      {
        projectDestinations: [slack],
        deliveries: [...known.deliveries, { accountId: null, destinationId: "slack" }],
      },
      [],
    ],
    [
      "a destination for which a rule folds it",
      {
        projectDestinations: [slack],
        rules: [ruleWith(), ruleWith({ id: "b", to: toSlack, when: { type: "burst", minutes: 5 } })],
      },
      [{ ...ofSlack("burst"), rule: { id: "b", name: "Orders" } }],
    ],
  );
  for (const [what, change, explanations] of cases) {
    test(what, () => expect(explain({ ...known, ...change })).toMatchObject(explanations as object[]));
  }
});

describe("why nobody was notified, as a sentence", () => {
  const silence = (change: Partial<Known>) =>
    explainNoDelivery(explain({ ...known, deliveries: [], ...change }));
  const cases: [change: Partial<Known>, sentence: string][] = [
    [{ rules: [] }, "Nobody was notified. No active rule matches it."],
    [{ nowMs: arrivedMs + 31 * day }, "The delivery log has expired: it is kept for 30 days."],
    [
      { rules: [ruleWith({ when: { type: "burst", minutes: 5 } })] },
      'Nobody was notified of this event by itself. "Orders" had already alerted on an earlier event, so this one will be counted in a summary.',
    ],
    [
      { rules: [ruleWith({ when: { type: "number", tag: "amount", above: 10 } })] },
      'Nobody was notified of this event by itself. "Orders" notifies if the tag "amount" is above 10, and it is "5".',
    ],
    [
      {
        rules: [
          ruleWith({
            to: { everyone: false, members: ["bob"], schedules: [], destinations: [], fallback: null },
          }),
        ],
      },
      "Nobody was notified. The rules that match it reach nobody.",
    ],
  ];
  test.each(cases)("%#", (change, sentence) => expect(silence(change)).toBe(sentence));
});
