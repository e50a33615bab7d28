import { expect } from "bun:test";
import fc from "fast-check";
import { limits } from "../core/limits.ts";
import { type Event, NewEvent } from "../event/event.ts";
import type { Search } from "../event/search.ts";

/** The members that a sent event may have. */
export const eventMembers = Object.keys(NewEvent.shape) as (keyof typeof NewEvent.shape)[];

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are excluded
const disallowed = /[\u0000-\u001f\u007f-\u009f\ud800-\udfff]/u;

/** A character that an event's text may contain, from any script and plane. */
const character = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(..."abcXYZ019 _-.:/\\\"'{}[]<>&=+%#*") },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      ..."äßéñøжשلاमन中文字日本한국ไทย",
      "💰",
      "👩‍🚀",
      "🏳️‍🌈",
      "e\u0301",
      "\u202e",
      "\ufeff",
      "\u200d",
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .string({ unit: "binary", minLength: 1, maxLength: 1 })
      .filter((text) => !disallowed.test(text)),
  },
);

const filled = (max: number) => texts(max).filter((text) => text.trim() !== "");

/** Strings of up to `max` code points that an event may contain. */
function texts(max: number, unit: fc.Arbitrary<string> = character): fc.Arbitrary<string> {
  return fc.string({ unit, maxLength: Math.min(max, 40) }).map((text) => [...text].slice(0, max).join(""));
}

const lines = (max: number) =>
  texts(max, fc.oneof({ weight: 5, arbitrary: character }, fc.constantFrom("\t", "\n", "\r\n")));

/** Channel names. A project has room for a limited number, so they come from a pool of half as many. */
const channel = fc.constantFrom(
  ...fc.sample(filled(limits.channelCharacters), { numRuns: limits.channels / 2, seed: 1 }),
);

/** Tag keys, including ones that careless code mishandles. */
const tagKey = fc.oneof(
  filled(limits.tagKeyCharacters),
  fc.constantFrom(
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "10",
    "2",
    "0",
    "-1",
    "plan",
    "a.b",
    "a=b",
    "ä",
  ),
);

/** Tags as JSON parses them, in which `__proto__` is an ordinary key. */
const tags: fc.Arbitrary<Record<string, string>> = fc
  .uniqueArray(fc.tuple(tagKey, lines(limits.tagValueCharacters)), { selector: ([key]) => key, maxLength: 6 })
  .map((pairs) =>
    JSON.parse(`{${pairs.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join()}}`),
  );

/** Valid events, as a client sends them. */
export const validEvent = fc.record(
  {
    channel,
    name: filled(limits.nameCharacters),
    event: filled(limits.nameCharacters),
    userId: texts(limits.userIdCharacters),
    icon: texts(limits.iconCharacters),
    notify: fc.boolean(),
    tags,
    description: lines(limits.descriptionCharacters),
  },
  { requiredKeys: ["channel", "name"] },
);

const anyText = fc.oneof(
  texts(40),
  lines(40),
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.constantFrom(
    "",
    " ",
    "\u00a0",
    "\u3000",
    "\ud800",
    "a\udc00",
    "\u0000",
    "\u007f",
    "\u0085",
    "a\tb",
    "a\nb",
    "\ufeff",
  ),
  // Just below, at and above the limits, in characters of one and two UTF-16 units.
  fc
    .tuple(
      fc.constantFrom(64, 200, 1_000, 10_000),
      fc.constantFrom(-1, 0, 1),
      fc.constantFrom("x", "💰", "e\u0301"),
    )
    .map(([length, more, unit]) => unit.repeat(length + more)),
);

const anything = fc.oneof(
  { weight: 5, arbitrary: anyText },
  fc.constantFrom(null, true, false, 0, -1, 1.5, 1e300, "true", "1"),
  fc.constantFrom([], {}, [[]], { a: {} }, ["a"]),
);

const anyId = fc.oneof(
  fc.uuid({ version: 7 }),
  fc.uuid({ version: 7 }).map((id) => id.toUpperCase()),
  fc.uuid(),
  fc.uuid({ version: 7 }).map((id) => `${id} `),
  anything,
);

const anyTimestamp = fc.oneof(
  fc
    .date({ min: new Date(0), max: new Date("2030-01-01"), noInvalidDate: true })
    .map((date) => date.toISOString()),
  fc.date({ noInvalidDate: true }).map((date) => date.getTime()),
  fc.constantFrom(
    "2026-01-31T10:30:00+01:00",
    "2026-01-31 10:30Z",
    "2026-02-30T10:30:00Z",
    "2026-01-31",
    "2026-01-31T10:30:00",
    "2026-01-31T10:30:00+99:00",
    "2026-01-31T24:00:00Z",
    "2026-01-31T10:30:00.123456789Z",
    "2026-01-31T10:30:00.Z",
    "Sat, 31 Jan 2026 10:30:00 GMT",
    1_769_855_400,
    1_769_855_400_000,
    0,
    -0,
  ),
  anything,
);

const anyTags = fc.oneof(
  tags,
  fc
    .integer({ min: 48, max: 53 })
    .map((count) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, "v"]))),
  fc.dictionary(fc.oneof(tagKey, anyText), anything, { maxKeys: 4, noNullPrototype: true }),
  anything,
);

/** Bodies of every kind, mostly objects that are almost valid events. */
export const anyBody: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 1, arbitrary: fc.oneof(anything, fc.jsonValue()) },
  { weight: 3, arbitrary: validEvent },
  {
    weight: 8,
    arbitrary: fc
      .tuple(
        validEvent,
        fc.record(
          {
            channel: anything,
            name: anything,
            event: anything,
            userId: anything,
            user_id: anything,
            icon: anything,
            notify: anything,
            tags: anyTags,
            description: anything,
            id: anyId,
            createdAt: anyTimestamp,
          },
          { requiredKeys: [] },
        ),
        // At most two changes at a time; with more, hardly anything would be accepted.
        fc.subarray(eventMembers, { maxLength: 2 }),
        fc.option(fc.constantFrom("__proto__", "constructor", "Name", "channelId", "user", ""), { freq: 12 }),
        fc.option(fc.constantFrom("channel", "name"), { freq: 12 }),
      )
      .map(([event, changes, changed, unknown, missing]) => {
        const members = new Map<string, unknown>(Object.entries(event));
        for (const member of changed)
          if (Object.hasOwn(changes, member)) members.set(member, changes[member]);
        if (unknown !== null) members.set(unknown, "x");
        if (missing !== null) members.delete(missing);
        // Through JSON, in which `__proto__` is an ordinary member.
        return JSON.parse(
          `{${[...members].map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join()}}`,
        );
      }),
  },
);

/** Searches of the given leaves, combined and negated. */
export function searchesOf(leaf: fc.Arbitrary<Search>, maxDepth: number): fc.Arbitrary<Search> {
  return fc.letrec<{ search: Search }>((tie) => ({
    search: fc.oneof(
      { maxDepth, depthSize: "small" },
      leaf,
      fc.record({
        kind: fc.constantFrom("all" as const, "any" as const),
        of: fc.array(tie("search"), { minLength: 2, maxLength: 3 }),
      }),
      fc.record({ kind: fc.constant("not" as const), of: tie("search") }),
    ),
  })).search;
}

/** Page sizes: mostly large enough for a listing of few pages, sometimes as small as one event. */
export const pageLimit = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 20, max: 60 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 20 }) },
);

/** Like `toEqual`, but much faster for hundreds of events. */
export function expectSameEvents(events: Event[], expected: Event[]): void {
  if (JSON.stringify(events) !== JSON.stringify(expected)) expect(events).toEqual(expected);
}
