import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isEventId, stampOfId } from "../event/id.ts";
import { limits } from "../limits.ts";
import { convertColumns } from "./column-map.ts";
import { converters, tagsOf } from "./formats.ts";
import { importId } from "./import-id.ts";
import { timeOf } from "./time-of.ts";

const sha256 = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest("hex");

describe("other products' records", () => {
  test("LogSnag: seconds, numbers as tags, and the user", () => {
    const record = {
      project: "shop",
      channel: "orders",
      event: "Order",
      user_id: 7,
      tags: { n: 1, ok: true },
    };
    expect(converters.logsnag({ ...record, timestamp: 1_767_225_600 }, undefined)).toEqual({
      event: {
        channel: "orders",
        name: "Order",
        userId: "7",
        tags: { n: "1", ok: "true" },
        createdAt: 1_767_225_600_000,
      },
    });
  });

  test("PostHog: properties become tags, and the person's those of the user", () => {
    const record = {
      uuid: "018f3c1e-0000-0000-0000-000000000001",
      event: "signed up",
      distinct_id: "u1",
      timestamp: "2030-01-31 09:30:00.123000+00",
      properties: '{"plan":"pro","$browser":"Firefox","$ip":"::1","$set":{"seats":5},"deep":{"a":[1]}}',
      person_properties: { name: "Ada" },
    };
    expect(converters.posthog(record, undefined)).toEqual({
      event: {
        channel: "posthog",
        name: "signed up",
        userId: "u1",
        tags: { plan: "pro", browser: "Firefox", deep: '{"a":[1]}' },
        createdAt: "2030-01-31T09:30:00.123000+00:00".replace("T", " "),
      },
      sourceId: record.uuid,
      user: { userId: "u1", properties: { name: "Ada", seats: 5 } },
    });
    expect(converters.posthog({ event: "$identify", distinct_id: "u1", $set: { a: 1 } }, undefined)).toEqual({
      user: { userId: "u1", properties: { a: 1 } },
    });
  });

  test("Segment: track, page and identify; nothing else", () => {
    const about = { anonymousId: "a1", messageId: "m1", timestamp: "2030-01-31T09:30:00Z" };
    const { event, sourceId } = converters.segment({ ...about, type: "page", name: "Pricing" }, "web");
    expect(event).toMatchObject({ channel: "web", name: "Viewed Pricing Page", userId: "a1" });
    expect(sourceId).toBe("m1");
    expect(converters.segment({ ...about, type: "identify", traits: { plan: "pro" } }, "web")).toEqual({
      user: { userId: "a1", properties: { plan: "pro" } },
    });
    expect(converters.segment({ ...about, type: "group", traits: { plan: "pro" } }, "web")).toEqual({});
  });

  test("tags always fit", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ maxLength: 200 }), fc.jsonValue()), (properties) => {
        const tags = Object.entries(tagsOf(properties));
        expect(tags.length).toBeLessThanOrEqual(limits.tags);
        for (const [key, value] of tags) {
          expect([...key].length).toBeLessThanOrEqual(limits.tagKeyCharacters);
          expect([...value].length).toBeLessThanOrEqual(limits.tagValueCharacters);
        }
      }),
    );
  });
});

test("times of other products", () => {
  const times: [unknown, unknown][] = [
    [1_767_225_600, 1_767_225_600_000],
    ["1767225600.5", 1_767_225_600_500],
    [1_767_225_600_123, 1_767_225_600_123],
    ["2030-01-31", "2030-01-31T00:00:00Z"],
    ["2030-01-31 09:30:00", "2030-01-31T09:30:00Z"],
    ["2030-01-31 09:30:00 UTC", "2030-01-31 09:30:00Z"],
    ["2030-01-31T09:30:00+0200", "2030-01-31T09:30:00+02:00"],
    ["soon", "soon"],
    [null, undefined],
  ];
  for (const [from, to] of times) expect(timeOf(from)).toEqual(to);
});

test("the ID of an imported event is a UUIDv7 with its time, the same for the same event only", () => {
  const ms = fc.integer({ min: 0, max: 4_000_000_000_000 });
  fc.assert(
    fc.property(fc.string(), fc.string(), ms, (a, b, createdAtMs) => {
      const id = importId(a, createdAtMs, sha256);
      expect(isEventId(id)).toBe(true);
      expect(stampOfId(id).ms).toBe(createdAtMs);
      expect(importId(b, createdAtMs, sha256) === id).toBe(a === b);
    }),
  );
  const own = "0192f0c1-9c4a-7d3e-8b1f-2a6b7c8d9e0f";
  expect(importId(own.toUpperCase(), 5, sha256)).toBe(own);
});

test("a map names columns, and tags=* the others", () => {
  const convert = convertColumns([
    ["channel", "area"],
    ["name", "what"],
    ["createdAt", "when"],
    ["tags.plan", "p"],
    ["tags", "*"],
  ]);
  const row = { area: "ops", what: "Done", when: "1767225600", p: "pro", size: "2 GB", empty: "" };
  expect(convert(row, undefined).event).toEqual({
    channel: "ops",
    name: "Done",
    createdAt: 1_767_225_600_000,
    tags: { plan: "pro", size: "2 GB" },
  });
  expect(convert({ what: "Done" }, "other").event).toEqual({ channel: "other", name: "Done" });
});
