import { describe, expect, test } from "bun:test";
import { weekdays } from "../schemas/rule.ts";
import {
  type Candidate,
  decide,
  defaultSettings,
  levelKey,
  type MemberPreferences,
} from "./apply-preferences.ts";

const none: MemberPreferences = { ...defaultSettings, isUnsubscribed: false, levels: new Map(), mutes: [] };
const push: Candidate = {
  destinationId: "phone",
  kind: "browser",
  event: { channelId: "orders", name: "Order placed" },
  isUrgent: false,
  isByRule: true,
};
const email: Candidate = { ...push, destinationId: "mail", kind: "email" };
const bell: Candidate = { ...push, destinationId: "bell", kind: "dashboard" };
const all = (candidate: Candidate) => ({ ...candidate, isByRule: false });
const urgent = (candidate: Candidate) => ({ ...candidate, isUrgent: true });
const withoutEvent = (candidate: Candidate) => ({ ...candidate, event: null });
const ms = (text: string) => Date.parse(text);

const noon = ms("2026-03-27T12:00:00Z");
// 29 March 2026, when Berlin's clocks go from 2:00 to 3:00, is a Sunday.
const night = ms("2026-03-28T23:00:00Z");
const berlin: MemberPreferences = {
  ...none,
  timeZone: "Europe/Berlin",
  quietHours: { days: [...weekdays], from: "22:00", to: "07:00" },
};
const daily: MemberPreferences = {
  ...none,
  timeZone: "Europe/Berlin",
  emailDigest: { every: "day", at: "06:30" },
};
const send = { action: "send" as const };
const levels = (entries: Record<string, "all" | "matters" | "none">) => ({
  ...none,
  levels: new Map(Object.entries(entries)),
});
const muted = (mute: { name?: string; channel?: string; untilMs?: number | null }) => ({
  ...none,
  mutes: [{ channel: "orders", name: "", untilMs: null, ...mute }],
});
const skipped = (reason: string, untilMs: number | null = null) => ({ action: "skip", reason, untilMs });

describe("what becomes of a notification", () => {
  const cases: [what: string, MemberPreferences, Candidate, nowMs: number, decision: unknown][] = [
    ["without preferences: sent", none, push, noon, send],
    ["without preferences, by email: sent at once", none, email, noon, send],
    ["an event without a rule: for nobody", none, all(push), noon, null],
    ["none for the channel", levels({ [levelKey("orders", "phone")]: "none" }), push, noon, skipped("level")],
    ["none for another channel", levels({ [levelKey("x", "phone")]: "none" }), push, noon, send],
    ["none for another device", levels({ [levelKey("orders", "tablet")]: "none" }), push, noon, send],
    ["none for the project", levels({ [levelKey("", "phone")]: "none" }), push, noon, skipped("level")],
    [
      "none for the project, but what matters for the channel",
      levels({ [levelKey("", "phone")]: "none", [levelKey("orders", "phone")]: "matters" }),
      push,
      noon,
      send,
    ],
    [
      "none for the project, without an event",
      levels({ [levelKey("", "phone")]: "none" }),
      withoutEvent(push),
      noon,
      skipped("level"),
    ],
    [
      "none, also if it is urgent",
      levels({ [levelKey("", "phone")]: "none" }),
      urgent(push),
      noon,
      skipped("level"),
    ],
    ["all of the channel", levels({ [levelKey("orders", "phone")]: "all" }), all(push), noon, send],
    ["all of the project", levels({ [levelKey("", "phone")]: "all" }), all(push), noon, send],
    ["all, on another device", levels({ [levelKey("", "tablet")]: "all" }), all(push), noon, null],
    [
      "all by email: never one by one",
      levels({ [levelKey("", "mail")]: "all" }),
      all(email),
      noon,
      { action: "collect", reason: "email-digest", dueMs: ms("2026-03-27T13:00:00Z") },
    ],
    ["a muted channel", muted({}), push, noon, skipped("muted")],
    ["a muted channel, in the bell", muted({}), bell, noon, skipped("muted")],
    ["a muted channel, urgent", muted({}), urgent(push), noon, skipped("muted")],
    ["a muted channel, without an event", muted({}), withoutEvent(push), noon, send],
    ["muted until later", muted({ untilMs: noon + 1 }), push, noon, skipped("muted", noon + 1)],
    ["muted until now", muted({ untilMs: noon }), push, noon, send],
    ["a muted name", muted({ name: "Order placed" }), push, noon, skipped("muted")],
    ["another muted name", muted({ name: "Order sent" }), push, noon, send],
    ["another muted channel", muted({ channel: "payments" }), push, noon, send],
    ["before quiet hours", berlin, push, noon, send],
    ["in quiet hours", berlin, push, night, skipped("quiet-hours", ms("2026-03-29T05:00:00Z"))],
    ["in quiet hours, in the bell", berlin, bell, night, send],
    ["in quiet hours, urgent", berlin, urgent(push), night, send],
    ["in quiet hours, urgent by email", berlin, urgent(email), night, send],
    [
      "in quiet hours, by email",
      berlin,
      email,
      night,
      { action: "collect", reason: "quiet-hours", dueMs: ms("2026-03-29T05:00:00Z") },
    ],
    [
      "on a day without quiet hours",
      { ...berlin, quietHours: { days: ["sunday"], from: "22:00", to: "07:00" } },
      push,
      night,
      send,
    ],
    [
      "for the digest, over a change of the clock",
      daily,
      email,
      night,
      { action: "collect", reason: "email-digest", dueMs: ms("2026-03-29T04:30:00Z") },
    ],
    ["for the digest, urgent", daily, urgent(email), night, send],
    ["for the digest, but a push", daily, push, night, send],
    [
      "for a digest that is due in quiet hours",
      { ...daily, quietHours: berlin.quietHours },
      email,
      night,
      { action: "collect", reason: "email-digest", dueMs: ms("2026-03-29T05:00:00Z") },
    ],
    ["unsubscribed", { ...none, isUnsubscribed: true }, email, noon, skipped("unsubscribed")],
    ["unsubscribed, urgent", { ...none, isUnsubscribed: true }, urgent(email), noon, skipped("unsubscribed")],
    ["unsubscribed, but a push", { ...none, isUnsubscribed: true }, push, noon, send],
  ];
  for (const [what, preferences, candidate, nowMs, decision] of cases) {
    test(what, () => expect(decide(preferences, candidate, nowMs)).toEqual(decision as never));
  }
});
