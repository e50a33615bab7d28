import { expect, test } from "bun:test";
import fc from "fast-check";
import { limits } from "../../server/core/limits.ts";
import { checkEvent } from "../../server/event/check-event.ts";
import { codeBlock, eventLimits, fitLine, fitLines } from "./event-text.ts";

test("the limits are the server's", () => {
  expect(eventLimits).toEqual({
    name: limits.nameCharacters,
    userId: limits.userIdCharacters,
    description: limits.descriptionCharacters,
    tags: limits.tags,
    tagKey: limits.tagKeyCharacters,
    tagValue: limits.tagValueCharacters,
  });
});

/** Every kind of UTF-16: controls, line ends, emoji, lone surrogates, and more of them than fits. */
const anyText = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("\ud83d", "\ude00", "\n", "\u0085", "````", "💰"),
    ),
    {
      maxLength: 20,
    },
  )
  .chain((parts) => fc.constantFrom(1, 30, 400).map((count) => parts.join("").repeat(count)));

test("the server accepts any text once it fits", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const checked = checkEvent(
        {
          channel: "c",
          name: `n ${fitLine(text, eventLimits.name - 2)}`,
          description: codeBlock(text),
          tags: { [`k ${fitLine(text, eventLimits.tagKey - 2)}`]: fitLines(text, eventLimits.tagValue) },
        },
        Date.now(),
      );
      expect(Array.isArray(checked) ? checked : []).toEqual([]);
    }),
  );
});

test("texts that fit stay as they are, others end with an ellipsis", () => {
  expect(fitLine("Größe 💰", 7)).toBe("Größe 💰");
  expect(fitLine("Größe 💰💰", 7)).toBe("Größe …");
  expect(fitLine("two\r\n\tlines", 20)).toBe("two lines");
  expect(fitLines("two\r\n\tlines\u0000", 20)).toBe("two\r\n\tlines\ufffd");
});

test("a text can't end its code block", () => {
  expect(codeBlock("x".repeat(100), { language: "json", max: 30 })).toHaveLength(30);
  expect(codeBlock("at main ()\n```\n# heading")).toBe("````\nat main ()\n```\n# heading\n````");
});
