import { describe, expect, test } from "bun:test";
import type { Event } from "../event/event.ts";
import type { WhenOf } from "../rules/rule-kind.ts";
import { formatDuration } from "./format-duration.ts";
import { messageOfEvent } from "./message.ts";
import { growMessage, messageOfNotification, type Notification } from "./notification-message.ts";

const atMs = Date.UTC(2026, 0, 31, 9, 30);
const minute = 60_000;
const hour = 60 * minute;
const rule = { name: "Payment failed", q: 'channel:payments name:"Payment failed"' };
const about = {
  id: "7",
  baseUrl: "https://tidings.example.com",
  project: { slug: "shop", name: "Shop" },
  ruleId: "r1",
  urgent: true,
};
const event: Event = {
  id: "019c12f0-64c0-7000-8000-000000000001",
  name: "Backup done",
  channelId: "backups",
  userId: "",
  notify: true,
  tags: { host: "db1" },
  createdAt: new Date(atMs).toISOString(),
};

function render(
  notification: Exclude<Notification, { type: "email-digest" | "report" }>,
  of: Event | null = null,
  newest: Event[] = [],
) {
  return messageOfNotification(notification, { event: of, newest }, about);
}

const summary = {
  type: "summary" as const,
  atMs,
  count: 214,
  total: 215,
  fromMs: atMs - 5 * minute,
  firstId: "x",
  newestIds: [event.id],
  groups: [{ channel: "payments", name: "Payment failed", count: 214 }],
  rule,
};

describe("a metric", () => {
  const when: WhenOf<"metric"> = {
    type: "metric",
    measure: { metric: "average", tag: "ms" },
    minutes: 60,
    against: null,
    above: 500,
    clear: 400,
    pendingMinutes: 5,
    noData: "ok",
  };
  const read = { sinceMs: atMs - 25 * minute, atMs, rule };
  const ratio: WhenOf<"metric"> = {
    ...{ ...when, measure: { metric: "ratio", of: "" }, above: undefined, below: -30, against: "week" },
  };

  test("says its value and threshold, and leads to its line", () => {
    expect(render({ type: "metric", ...read, value: 512.3456, when })).toMatchObject({
      type: "metric",
      title: "Average of ms is 512.3, above 500: Payment failed",
      text: "Measured over 1 hour. It alerts above 500 for 5 minutes, and ends at 400.",
      url: expect.stringMatching(/\/rules\/[^/]+$/),
      metric: {
        value: 512.3456,
        from: new Date(atMs - hour).toISOString(),
        to: new Date(atMs).toISOString(),
      },
      event: null,
      matches: null,
    });
  });

  test("says that it is back", () => {
    expect(render({ type: "metric-recovery", ...read, value: 380, when })).toMatchObject({
      title: "Average of ms is 380 again, after 25 minutes: Payment failed",
      icon: "✅",
      urgent: false,
    });
  });

  test("says a change, and that there is no value", () => {
    expect(render({ type: "metric", ...read, value: -42, when: ratio }).title).toBe(
      "Ratio fell by 42%, below -30%: Payment failed",
    );
    expect(render({ type: "metric", ...read, value: null, when }).title).toBe(
      "Average of ms has no value: Payment failed",
    );
  });
});

test("a summary says how many more events came, and links to a search for them", () => {
  const message = render(summary);
  expect(message).toMatchObject({
    id: "7",
    type: "summary",
    title: "Payment failed: 214 more in 5 minutes",
    text: null,
    fields: [],
    event: null,
    matches: { count: 214, from: "2026-01-31T09:25:00.000Z", to: "2026-01-31T09:30:00.000Z" },
    createdAt: "2026-01-31T09:30:00.000Z",
    rule: { id: "r1", name: "Payment failed" },
    urgent: true,
  });
  const url = new URL(message.url);
  expect(url.origin + url.pathname).toBe("https://tidings.example.com/p/shop");
  expect(Object.fromEntries(url.searchParams)).toEqual({
    q: rule.q,
    from: "2026-01-31T09:25:00.000Z",
    to: "2026-01-31T09:30:00.000Z",
  });
});

test("a summary shows its newest event, and counts by name if there are several", () => {
  const groups = [
    { channel: "payments", name: "Payment failed", count: 210 },
    { channel: "backups", name: "Backup done", count: 4 },
  ];
  expect(render({ ...summary, groups }, null, [event])).toMatchObject({
    text: "- **Payment failed** in payments: 210\n- **Backup done** in backups: 4",
    event: null,
    newest: [event],
    fields: [
      { name: "Channel", value: "backups" },
      { name: "host", value: "db1" },
    ],
  });
});

test("the message of the event that began a burst grows, and keeps what it said", () => {
  const first = messageOfEvent(
    { ...event, name: "Database down", icon: "🔥", description: "No *answer*.", tags: { host: "db2" } },
    { ...about, url: "https://tidings.example.com/p/shop/events/x", rule: null },
  );
  const grown = growMessage(first, summary, render(summary, null, [event]));
  expect(grown).toMatchObject({
    id: "7",
    type: "summary",
    title: "Database down × 215",
    icon: "🔥",
    text: "No *answer*.\n\n214 more in 5 minutes.",
    newest: [event],
    urgent: true,
    createdAt: first.createdAt,
  });
  expect(grown.fields).toContainEqual({ name: "host", value: "db2" });
  expect(new URL(grown.url).searchParams.get("to")).toBe("2026-01-31T09:30:00.000Z");
});

test("a digest counts events by name and channel, and those that have no count of their own", () => {
  const groups = [
    { channel: "payments", name: "Payment *failed*", count: 1_200 },
    { channel: "c", name: "n", count: 3 },
  ];
  const digest = {
    type: "digest" as const,
    atMs,
    count: 1_210,
    fromMs: atMs - hour,
    newestIds: [],
    groups,
    rule,
  };
  expect(render(digest)).toMatchObject({
    type: "digest",
    title: "Payment failed: 1,210 events",
    text: "- **Payment \\*failed\\*** in payments: 1,200\n- **n** in c: 3\n- others: 7",
    matches: { count: 1_210 },
  });
  expect(render({ ...digest, count: 1, groups: [{ ...groups[1]!, count: 1 }] })).toMatchObject({
    title: "Payment failed: 1 event",
    text: "- **n** in c: 1",
  });
});

test("a silence says for how long there was no event, and links to the last ones", () => {
  const message = render(
    {
      type: "silence",
      atMs,
      sinceMs: atMs - 26 * hour,
      newestIds: [event.id],
      rule: { name: "Backup missing", q: "" },
    },
    null,
    [event],
  );
  expect(message).toMatchObject({
    type: "silence",
    title: "No event for 26 hours: Backup missing",
    newest: [event],
    fields: [{ value: "backups" }, { name: "host", value: "db1" }],
    matches: null,
    url: "https://tidings.example.com/p/shop",
  });
});

test("a recovery and a threshold show the event", () => {
  expect(render({ type: "recovery", atMs, afterMs: 27 * hour, rule }, event)).toMatchObject({
    type: "recovery",
    title: "Again after 27 hours: Payment failed",
    icon: "✅",
    urgent: false,
    event,
    newest: [event],
    matches: null,
    fields: [
      { name: "Channel", value: "backups" },
      { name: "host", value: "db1" },
    ],
  });
  expect(render({ type: "threshold", atMs, count: 51, minutes: 10, rule }, event)).toMatchObject({
    type: "threshold",
    title: "More than 50 in 10 minutes: Payment failed",
    event,
    matches: { count: 51, from: "2026-01-31T09:20:00.000Z", to: "2026-01-31T09:30:00.000Z" },
  });
});

describe("durations", () => {
  for (const [ms, text] of [
    [1_000, "1 minute"],
    [5 * minute, "5 minutes"],
    [hour, "1 hour"],
    [90 * minute, "1 hour 30 minutes"],
    [26 * hour, "26 hours"],
    [71 * hour, "71 hours"],
    [72 * hour, "3 days"],
    [31 * 24 * hour + 5 * hour, "31 days 5 hours"],
  ] as const) {
    test(text, () => expect(formatDuration(ms)).toBe(text));
  }
});
