import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { limits } from "../core/limits.ts";
import { itemOf as postHogItemOf } from "../drop-in/posthog/messages.ts";
import { itemOf as segmentItemOf } from "../drop-in/segment/messages.ts";
import { convertColumns } from "./column-map.ts";
import { converters, tagsOf } from "./formats.ts";
import { timeOf } from "./time-of.ts";

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
        createdAt: "2026-01-01T00:00:00.000Z",
      },
    });
  });

  const posthog = {
    uuid: "018f3c1e-0000-0000-0000-000000000001",
    event: "signed up",
    distinct_id: "u1",
    timestamp: "2030-01-31 09:30:00.123000+00",
  };
  const pastPosthog = { ...posthog, timestamp: "2026-01-31 09:30:00.123000+00" };

  test("PostHog: an event as its endpoint makes it, and the person's properties", () => {
    const properties = '{"plan":"pro","$browser":"Firefox","$lib":"web","$set":{"seats":5},"deep":{"a":[1]}}';
    const record = { ...pastPosthog, properties, person_properties: { name: "Ada", seats: 4 } };
    const live = postHogItemOf(
      { ...record, timestamp: "2026-01-31T09:30:00.123Z", properties: JSON.parse(properties) },
      Date.now(),
    );
    expect(converters.posthog(record, undefined)).toEqual({
      event: live.event!,
      user: { userId: "u1", set: { name: "Ada", seats: 5 }, setOnce: {} },
    });
    expect(converters.posthog(record, "web").event).toMatchObject({
      channel: "web",
      userId: "u1",
      tags: { plan: "pro", $browser: "Firefox", "deep.a": "[1]" },
      createdAt: "2026-01-31T09:30:00.123Z",
    });
    expect(converters.posthog({ event: "$identify", distinct_id: "u1", $set: { a: 1 } }, undefined)).toEqual({
      user: { userId: "u1", set: { a: 1 }, setOnce: {}, identifies: true },
    });
    const person = { person_id: "p", distinct_id: "u2", properties: { plan: "free" } };
    expect(converters.posthog(person, undefined)).toEqual({ user: { userId: "u2", set: { plan: "free" } } });
  });

  test("a time that can't be used is no reason to take that of the import", () => {
    const future = { ...posthog, timestamp: Date.now() + 3 * 86_400_000 };
    expect(converters.posthog(future, undefined).fault).toContain("is in the future");
    expect(converters.segment({ event: "e", timestamp: "soon" }, undefined).fault).toContain("can't be read");
    expect(converters.logsnag({ channel: "c", event: "e", timestamp: {} }, undefined).fault).toContain("{}");
  });

  test("Segment: what its endpoint makes, identify and group as properties", () => {
    const about = { anonymousId: "a1", messageId: "m1", timestamp: "2026-01-31T09:30:00Z" };
    const page = { ...about, type: "page", name: "Pricing", properties: { path: "/pricing" } };
    expect(converters.segment({ ...page, properties: '{"path":"/pricing"}' }, undefined)).toEqual({
      event: segmentItemOf(page, "page", Date.now()).event!,
    });
    expect(converters.segment({ ...about, type: "identify", traits: { plan: "pro" } }, "web")).toEqual({
      user: { userId: "a1", set: { plan: "pro" } },
    });
    expect(converters.segment({ ...about, type: "group", groupId: "g" }, "web")).toEqual({
      user: { userId: "a1", set: { "group.id": "g" } },
      groups: [{ type: "company", id: "g", set: {}, userId: "a1" }],
    });
    expect(converters.segment({ ...about, type: "delete" }, "web").fault).toContain('"type" must be one of');
  });

  test("LogSnag: insights, and identify as properties", () => {
    expect(converters.logsnag({ title: "Users", value: 7 }, undefined).event).toMatchObject({
      channel: "insights",
      name: "Users",
      tags: { value: "7" },
    });
    expect(converters.logsnag({ user_id: "u1", properties: { plan: "pro" } }, undefined)).toEqual({
      user: { userId: "u1", set: { plan: "pro" }, identifies: true },
    });
  });

  test("users of an export, checked", () => {
    const user = { type: "user", userId: "u1", properties: { seats: 5, note: null } };
    expect(converters.tidings(user, undefined)).toEqual({
      user: { userId: "u1", set: { seats: 5, note: null } },
    });
    expect(converters.tidings({ ...user, known: true, ids: ["a", "b"] }, undefined)).toEqual({
      user: { userId: "u1", set: { seats: 5, note: null }, identifies: true },
      joinings: [
        { id: "a", userId: "u1", by: "identify" },
        { id: "b", userId: "u1", by: "identify" },
      ],
    });
    expect(converters.tidings({ ...user, ids: ["a"] }, undefined).joinings).toEqual([
      { id: "a", userId: "u1", by: "alias" },
    ]);
    const group = {
      type: "group",
      groupType: "team",
      id: "t1",
      properties: { size: 2 },
      members: ["a", "b"],
    };
    const team = { type: "team", id: "t1" };
    expect(converters.tidings(group, undefined)).toEqual({
      groups: [
        { ...team, set: { size: 2 } },
        { ...team, userId: "a" },
        { ...team, userId: "b" },
      ],
    });
    for (const [fault, says] of [
      [{ groupType: "user" }, '"groupType" must not be a field of searches'],
      [{ id: 7 }, '"id" must be a string'],
      [{ members: "a" }, '"members" must be an array'],
      [{ members: [""] }, "must not be empty"],
      [{ properties: { a: {} } }, '"properties.a"'],
    ] as const)
      expect(converters.tidings({ ...group, ...fault }, undefined).fault).toContain(says);
    expect(converters.tidings({ ...user, ids: "a" }, undefined).fault).toContain('"ids" must be an array');
    expect(converters.tidings({ ...user, ids: [""] }, undefined).fault).toContain("must not be empty");
    expect(converters.tidings({ ...user, userId: "" }, undefined).fault).toBe('"userId" must not be empty.');
    expect(converters.tidings({ ...user, properties: { a: {} } }, undefined).fault).toContain(
      '"properties.a" must be a string',
    );
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

test("columns become fields, and all others tags", () => {
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
  // As our own export writes them.
  const exported = { what: "Done", "tags.plan b": "pro", tags: '{"size":"2 GB"}' };
  expect(convert(exported, "c").event?.tags).toEqual({ "plan b": "pro", size: "2 GB" });
  expect(convert({ what: "Done", tags: "{a" }, "c").event?.tags).toEqual({ tags: "{a" });
  expect(convert({ what: "Done" }, "other").event).toEqual({ channel: "other", name: "Done" });
});
