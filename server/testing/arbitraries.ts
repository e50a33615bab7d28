import fc from "fast-check";
import { limits } from "../wire/limits.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is left out
const notInTexts = /[\u0000-\u001f\u007f-\u009f\ud800-\udfff]/u;

/** A character that a text of an event may hold, of any script and plane. */
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
      .filter((text) => !notInTexts.test(text)),
  },
);

const filled = (max: number) => texts(max).filter((text) => text.trim() !== "");

/** Texts of up to `max` code points that may stand on an event. */
function texts(max: number, unit: fc.Arbitrary<string> = character): fc.Arbitrary<string> {
  return fc.string({ unit, maxLength: Math.min(max, 40) }).map((text) => [...text].slice(0, max).join(""));
}

const lines = (max: number) =>
  texts(max, fc.oneof({ weight: 5, arbitrary: character }, fc.constantFrom("\t", "\n", "\r\n")));

/** Keys that a careless program stumbles over, among plain ones. */
export const tagKey = fc.oneof(
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

/** Tags as JSON parses them: `__proto__` is a key like any other. */
export const tags: fc.Arbitrary<Record<string, string>> = fc
  .uniqueArray(fc.tuple(tagKey, lines(limits.tagValueCharacters)), { selector: ([key]) => key, maxLength: 6 })
  .map((pairs) =>
    JSON.parse(`{${pairs.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join()}}`),
  );

/** Events that are accepted, as a client sends them. */
export const validEvent = fc.record(
  {
    channel: filled(limits.channelCharacters),
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
