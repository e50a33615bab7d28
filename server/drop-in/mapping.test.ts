import { expect, test } from "bun:test";
import fc from "fast-check";
import { limits } from "../core/limits.ts";
import { checkEvent } from "../event/check-event.ts";
import { isEventId } from "../event/id.ts";
import { UserProperties } from "../schemas/user.ts";
import { applyChanges } from "../users/user-change.ts";
import * as cloudEvents from "./cloudevents/events.ts";
import { eventOf, timeOf } from "./event.ts";
import type { Item } from "./item.ts";
import { eventIdFor } from "./message-id.ts";
import { groupsOf, itemsOf } from "./otlp/logs.ts";
import * as postHog from "./posthog/messages.ts";
import * as segment from "./segment/messages.ts";
import { sha256, sha256InJavaScript } from "./sha256.ts";
import * as slack from "./slack/message.ts";
import { tagsOf } from "./tags.ts";
import { cut, type JsonObject } from "./text.ts";
import { propertiesOf } from "./user-properties.ts";

const nowMs = Date.UTC(2026, 0, 2);
/** Texts with what events may not contain, and longer than they may be. */
const hostileText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({
    unit: fc.constantFrom("a", "💰", "\ud800", "\u0000", "\u009f", "\r\n", "\t", " ", "`"),
    maxLength: 12,
  }),
  fc.constantFrom("__proto__", "constructor", "a.b", "").map((text) => text),
  fc
    .tuple(fc.constantFrom("x", "💰", "\n"), fc.integer({ min: 60, max: 1_100 }))
    .map(([unit, n]) => unit.repeat(n)),
);
const json = fc.jsonValue({ depthSize: "medium", stringUnit: "binary" });
const properties = fc.dictionary(
  hostileText,
  fc.oneof(hostileText, json, fc.constant(Number.POSITIVE_INFINITY)),
  { maxKeys: 80 },
) as fc.Arbitrary<JsonObject>;

test("whatever a client's properties are, the event is valid or only its user or name is not", () => {
  fc.assert(
    fc.property(
      properties,
      hostileText,
      fc.option(hostileText, { nil: undefined }),
      (all, text, description) => {
        const event = eventOf(
          { channel: "c", name: "n", userId: text.slice(0, 100), icon: text, description, properties: all },
          nowMs,
        );
        const checked = checkEvent(JSON.parse(JSON.stringify(event)), nowMs);
        expect(checked).not.toBeArray();
      },
    ),
    { numRuns: 500 },
  );
});

/** Members of all wires, with values that don't fit. */
const member = fc.constantFrom(
  ...[
    "type",
    "event",
    "userId",
    "anonymousId",
    "properties",
    "traits",
    "context",
    "timestamp",
    "messageId",
    "name",
  ],
  ...[
    "distinct_id",
    "uuid",
    "$set",
    "source",
    "id",
    "data",
    "time",
    "text",
    "blocks",
    "attachments",
    "fields",
    "title",
  ],
  ...[
    "resourceLogs",
    "scopeLogs",
    "logRecords",
    "attributes",
    "body",
    "key",
    "value",
    "kvlistValue",
    "arrayValue",
  ],
  ...["values", "intValue", "stringValue", "elements", "batch", "notify", "icon", "channel", "resource"],
);
const { message } = fc.letrec<{ message: JsonObject; value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    hostileText,
    fc.constantFrom(
      "track",
      "page",
      "identify",
      "header",
      "section",
      "rich_text",
      "$identify",
      null,
      true,
      1e13,
      -1,
    ),
    fc.array(tie("value"), { maxLength: 3 }),
    tie("message"),
  ),
  message: fc.dictionary(member, tie("value"), { maxKeys: 8 }) as fc.Arbitrary<JsonObject>,
}));

test("no message makes a wire fail, and none but a wrong field of its own makes an invalid event", () => {
  const wires: Record<string, (sent: JsonObject) => (Item | null)[]> = {
    segment: (sent) => [segment.itemOf(sent, sent.type, nowMs)],
    postHog: (sent) => [postHog.itemOf(sent, nowMs)],
    cloudEvents: (sent) => [cloudEvents.itemOf(sent, "c", nowMs)],
    slack: (sent) => [slack.itemOf(sent, { channel: "c", notify: false }, nowMs)],
    otlp: (sent) => [
      ...itemsOf(
        groupsOf({ resourceLogs: [{ resource: sent, scopeLogs: [{ scope: sent, logRecords: [sent] }] }] }),
        null,
        nowMs,
      ),
    ],
  };
  const ownFields = /^\/(?:channel|name|userId|notify)$/;
  fc.assert(
    fc.property(message, (sent) => {
      for (const map of Object.values(wires)) {
        for (const item of map(sent)) {
          if (item?.user) expect(UserProperties.safeParse(item.user.set ?? {}).success).toBe(true);
          if (!item?.event) continue;
          const checked = checkEvent(JSON.parse(JSON.stringify(item.event)), nowMs);
          const faults = Array.isArray(checked) ? checked.map(({ pointer }) => pointer) : [];
          expect(faults.filter((pointer) => !ownFields.test(pointer))).toEqual([]);
        }
      }
    }),
    { numRuns: 1_000 },
  );
});

test("what fits becomes tags as it is; what doesn't is in the description", () => {
  const fitting = {
    text: "a\nb",
    number: 1.5,
    truth: false,
    empty: "",
    list: [1, { a: null }],
    deep: { er: { x: "y" } },
    no: null,
  };
  expect(eventOf({ channel: "c", name: "n", properties: fitting }, nowMs)).toEqual({
    channel: "c",
    name: "n",
    tags: {
      text: "a\nb",
      number: "1.5",
      truth: "false",
      empty: "",
      list: '[1,{"a":null}]',
      "deep.er.x": "y",
    },
  });
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`k${index}`, index]));
  const event = eventOf({ channel: "c", name: "n", description: "Own", properties: many }, nowMs);
  expect(Object.keys(event.tags as object)).toEqual(Object.keys(many).slice(0, 50));
  expect(event.description).toBe(`Own\n\n\`\`\`json\n${JSON.stringify(many, null, 2)}\n\`\`\``);
  const long = eventOf({ channel: "c", name: "n", properties: { a: "💰".repeat(20_000) } }, nowMs);
  expect([...(long.tags as { a: string }).a]).toHaveLength(limits.tagValueCharacters);
  expect((long.tags as { a: string }).a).toEndWith("💰…");
  expect([...(long.description as string)]).toHaveLength(limits.descriptionCharacters);
  expect(long.description).toEndWith("…\n```");
});

test("a text is cut by characters", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme", maxLength: 30 }),
      fc.integer({ min: 1, max: 20 }),
      (text, max) => {
        const characters = [...text];
        const expected = characters.length <= max ? text : `${characters.slice(0, max - 1).join("")}…`;
        expect(cut(text, max)).toBe(expected);
      },
    ),
  );
});

test("tags with any keys are kept", () => {
  expect(Object.entries(tagsOf(JSON.parse('{"__proto__":"a","constructor":"b"}')).tags)).toEqual([
    ["__proto__", "a"],
    ["constructor", "b"],
  ]);
});

test("an id depends on the message alone", () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1 }),
      fc.string({ minLength: 1 }),
      fc.option(fc.integer(), { nil: undefined }),
      (a, b, ms) => {
        const id = eventIdFor("wire", a, ms);
        expect(isEventId(id)).toBe(true);
        expect(eventIdFor("wire", a, ms)).toBe(id);
        expect(eventIdFor("wire", b, ms) === id).toBe(a === b);
        expect(eventIdFor("other", a, ms)).not.toBe(id);
      },
    ),
  );
  const uuid = "0192F0C1-9C4A-7D3E-8B1F-2A6B7C8D9E0F";
  expect(eventIdFor("wire", uuid, 1)).toBe(uuid.toLowerCase());
  expect(eventIdFor("wire", "x", 0x0192f0c19c4a)).toStartWith("0192f0c1-9c4a-7");
});

test("times that can't be read or are too far ahead are left out", () => {
  const dated = (createdAtMs: number | undefined) =>
    eventOf({ channel: "c", name: "n", createdAtMs }, nowMs).createdAt;
  expect(dated(timeOf("2026-01-02T03:04:05.678901+01:00"))).toBe("2026-01-02T02:04:05.678Z");
  for (const value of ["yesterday", "2026-01-02", 5, null]) expect(timeOf(value)).toBeUndefined();
  expect(dated(nowMs + limits.maxClockSkewMs)).toBeString();
  for (const ms of [nowMs + limits.maxClockSkewMs + 1, -1, undefined]) expect(dated(ms)).toBeUndefined();
});

test("user properties merge in order, and a full user keeps what it has", () => {
  const set = propertiesOf({ a: 1, b: { c: true, d: [1] }, e: null, f: "x\u0000" });
  expect(set).toEqual({ a: 1, "b.c": true, "b.d": "[1]", e: null, f: "x\ufffd" });
  const changes = [
    { userId: "u", set: { a: 2 }, setOnce: { a: 3, new: 1 } },
    { userId: "u", set: { a: 4 } },
  ];
  expect(applyChanges({ a: 1, z: 1 }, changes)).toEqual({ a: 4, z: 1, new: 1 });
  const removal = { userId: "u", set: { a: null, unknown: null }, setOnce: { a: 5, none: null } };
  expect(applyChanges({ a: 1, z: 1 }, [removal])).toEqual({ z: 1, a: 5 });
  const full = Object.fromEntries(
    Array.from({ length: limits.userProperties }, (_, index) => [`p${index}`, 0]),
  );
  expect(applyChanges(full, [{ userId: "u", set: { p0: 1, more: 1 } }])).toEqual({ ...full, p0: 1 });
  // What is removed makes room, whatever the order.
  const { p0: _, ...others } = full;
  expect(applyChanges(full, [{ userId: "u", set: { more: 1, p0: null } }])).toEqual({ ...others, more: 1 });
});

test("browsers and servers make the same IDs", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(sha256InJavaScript(text)).toBe(sha256(text));
    }),
  );
});
