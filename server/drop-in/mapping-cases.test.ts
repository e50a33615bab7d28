/** What each client's messages become, case by case: what the published clients of the other tests don't send. */
import { describe, expect, test } from "bun:test";
import { applyChanges } from "../users/user-change.ts";
import * as cloudEvents from "./cloudevents/events.ts";
import type { Item } from "./item.ts";
import { groupsOf, itemsOf } from "./otlp/logs.ts";
import * as postHog from "./posthog/messages.ts";
import * as segment from "./segment/messages.ts";
import * as slack from "./slack/message.ts";

type Case = [what: string, message: Record<string, unknown>, expected: object];

const nowMs = Date.UTC(2026, 0, 2);
const at = "2026-01-01T10:00:00.000Z";
const nanoseconds = `${Date.parse(at)}000000`;

const wires: Record<string, { map: (message: Record<string, unknown>) => Item; cases: Case[] }> = {
  Segment: {
    map: (message) => segment.itemOf(message, message.type, nowMs),
    cases: [
      [
        "the client's other time",
        { type: "track", event: "e", originalTimestamp: at },
        { event: { createdAt: at } },
      ],
      [
        "no user, but an anonymous one",
        { type: "track", event: "e", anonymousId: "a" },
        { event: { userId: "a", tags: {} } },
      ],
      [
        "what is about the client",
        {
          type: "track",
          event: "e",
          integrations: { All: true },
          _metadata: { a: 1 },
          sentAt: at,
          context: { library: { name: "l" } },
        },
        { event: { tags: {} } },
      ],
      [
        "a page's category in its properties",
        { type: "page", properties: { category: "C" } },
        { event: { name: "Viewed C Page" } },
      ],
      ["a screen without a name", { type: "screen" }, { event: { name: "Loaded a Screen" } }],
      [
        "traits in the context",
        { type: "identify", userId: "u", context: { traits: { a: 1 } } },
        { user: { userId: "u", set: { a: 1 } } },
      ],
    ],
  },
  PostHog: {
    map: (message) => postHog.itemOf(message, nowMs),
    cases: [
      [
        "the user in the properties",
        { event: "e", properties: { distinct_id: "u" } },
        { event: { userId: "u", tags: {} } },
      ],
      [
        "the time in the properties",
        { event: "e", distinct_id: "u", properties: { timestamp: at } },
        { event: { createdAt: at } },
      ],
      [
        "what is about the client",
        {
          event: "e",
          distinct_id: "u",
          properties: { $lib: "l", $lib_version: "1", $is_server: true, $geoip_disable: true, token: "t" },
        },
        { event: { tags: {} } },
      ],
      [
        "properties set beside the others",
        { event: "$set", distinct_id: "u", $set: { a: 1 } },
        { user: { userId: "u", set: { a: 1 } } },
      ],
      [
        "an exception of an older library",
        {
          event: "$exception",
          distinct_id: "u",
          properties: { $exception_type: "RangeError", $exception_message: "too far" },
        },
        { event: { name: "RangeError: too far", tags: { $exception_type: "RangeError" } } },
      ],
      [
        "an exception of which nothing is known",
        { event: "$exception", distinct_id: "u", properties: { $exception_list: [null] } },
        { event: { name: "$exception" } },
      ],
    ],
  },
  CloudEvents: {
    map: (message) =>
      cloudEvents.itemOf(
        { specversion: "1.0", source: "/s", id: "1", type: "t", ...message },
        "cloudevents",
        nowMs,
      ),
    cases: [
      ["the channel of an extension", { channel: "orders" }, { event: { channel: "orders" } }],
      ["no channel", {}, { event: { channel: "cloudevents", name: "t", tags: { source: "/s" } } }],
      ["notify as a text", { notify: "true" }, { event: { notify: true } }],
      [
        "data with the name of an attribute",
        { subject: "s", data: { subject: "d" } },
        { event: { tags: { subject: "s", "data.subject": "d" } } },
      ],
      ["data that is a number", { data: 5 }, { event: { tags: { data: "5" } } }],
      ["another version", { specversion: "9.9" }, { fault: '"specversion" must be "1.0".' }],
      ["no source", { source: "" }, { fault: '"source" is missing. It must be a text.' }],
      ["an id that is a number", { id: 7 }, { fault: '"id" is missing. It must be a text.' }],
    ],
  },
  OpenTelemetry: {
    map: ({ resource, ...record }) =>
      [
        ...itemsOf(
          groupsOf({ resourceLogs: [{ resource, scopeLogs: [{ logRecords: [record] }] }] }),
          null,
          nowMs,
        ),
      ][0]!,
    cases: [
      ["no name, body or severity", {}, { event: { channel: "otlp", name: "Log" } }],
      [
        "the time of observation",
        { timeUnixNano: "0", observedTimeUnixNano: nanoseconds },
        { event: { createdAt: at } },
      ],
      [
        "a severity's number",
        { severityNumber: 21 },
        { event: { name: "FATAL", tags: { severity: "FATAL" } } },
      ],
      [
        "users by the names of any convention",
        { attributes: [{ key: "enduser.id", value: { stringValue: "u" } }] },
        { event: { userId: "u", tags: {} } },
      ],
      [
        "other attributes of the resource",
        { resource: { attributes: [{ key: "host.name", value: { stringValue: "h" } }] } },
        { event: { tags: {} } },
      ],
      [
        "bytes and integers",
        {
          body: {
            kvlistValue: {
              values: [
                { key: "i", value: { intValue: "9007199254740993" } },
                { key: "b", value: { bytesValue: "AQI=" } },
              ],
            },
          },
        },
        { event: { tags: { "body.i": "9007199254740993", "body.b": "AQI=" } } },
      ],
    ],
  },
  Slack: {
    map: (message) => slack.itemOf(message, { channel: "slack", notify: false }, nowMs)!,
    cases: [
      [
        "a link and an entity in the name",
        { text: "<https://x.example|Build> 1 &lt; 2" },
        { event: { name: "Build 1 < 2", description: "[Build](https://x.example) 1 < 2" } },
      ],
      [
        "several lines",
        { text: "first\nsecond" },
        { event: { name: "first", description: "first\nsecond" } },
      ],
      ["a mention of all", { text: "<!channel> down" }, { event: { name: "@channel down", notify: true } }],
      ["an attachment only", { attachments: [{ fallback: "Fell back" }] }, { event: { name: "Fell back" } }],
      ["another channel", { text: "t", channel: "@ada" }, { event: { channel: "ada" } }],
    ],
  },
};

for (const [wire, { map, cases }] of Object.entries(wires))
  describe(wire, () => {
    test.each(cases)("%s", (_, message, expected) => {
      expect(map(message)).toMatchObject(expected);
      const { tags } = (expected as { event?: { tags?: object } }).event ?? {};
      if (tags && Object.keys(tags).length === 0) expect(map(message).event!.tags).toEqual({});
    });
  });

test("texts are cut to what an event may have", () => {
  const { event } = segment.itemOf(
    { type: "track", event: "n".repeat(300), properties: { ["k".repeat(80)]: "v".repeat(1_100) } },
    "track",
    nowMs,
  );
  expect([...(event!.name as string)]).toHaveLength(200);
  const [[key, value]] = Object.entries(event!.tags as Record<string, string>) as [[string, string]];
  expect([key.length, value.length, value.at(-1)]).toEqual([64, 1_000, "…"]);
  expect(event!.description).toContain("\n\n```json\n");
});

test("what doesn't fit stands in the description", () => {
  const name = "n".repeat(300);
  const described = (message: object) =>
    segment.itemOf({ type: "track", ...message }, "track", nowMs).event!.description;
  expect(described({ event: name })).toBe(name);
  expect(described({ event: "short" })).toBeUndefined();
  const [line] = [
    ...itemsOf(
      groupsOf({
        resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: `${name}\nmore` } }] }] }],
      }),
      "c".repeat(70),
      nowMs,
    ),
  ];
  expect(line!.event!.description).toBe(
    `${name}\nmore\n\n\`\`\`json\n{\n  "channel": "${"c".repeat(70)}"\n}\n\`\`\``,
  );
  const options = { channel: "slack", notify: false };
  const message = slack.itemOf({ text: name, icon_emoji: `:${"i".repeat(70)}:` }, options, nowMs);
  expect(message!.event!.icon).toBeUndefined();
  expect(message!.event!.description).toStartWith(`${name}\n\n\`\`\`json\n{\n  "icon": ":iii`);
});

test("a property that is set once stays as it is", () => {
  const { user } = postHog.itemOf(
    { event: "e", distinct_id: "u", properties: { $set_once: { a: 2, b: 2 } } },
    nowMs,
  );
  expect(applyChanges({ a: 1 }, [user!])).toEqual({ a: 1, b: 2 });
});

test("a group of PostHog's is accepted, and nothing is made of it", () => {
  const sent = { event: "$groupidentify", distinct_id: "u", properties: { $group_set: { a: 1 } } };
  expect(postHog.itemOf(sent, nowMs)).toEqual({ sent });
});
