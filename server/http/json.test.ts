import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { limits } from "../core/limits.ts";
import { ProblemError } from "../core/problems.ts";
import { JsonArray, parseForeignJson } from "./json.ts";

const space = fc.constantFrom("", " ", "\n\t", "\r\n  ");
const item = fc.oneof(
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc.jsonValue().map((value) => JSON.stringify(value, null, 2)),
  fc.constantFrom('"\\\\"', '"\\","', '"[{"', '{"]":"}"}', "[[],{}]", '"\\u0022,"', '"\ufeff"'),
);
const read = (text: string) => JsonArray.read(Buffer.from(text), "server");

test("items match those of JSON.parse, and texts are as sent", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(space, item, space)), fc.gen(), async (parts, random) => {
      const text = ` [${parts.map((part) => part.join("")).join(",")}] `;
      const array = await read(text);
      expect(array.items(0, array.length)).toEqual(JSON.parse(text));
      for (const index of random(() => fc.shuffledSubarray([...parts.keys()]))) {
        expect(array.textOf(index)).toBe(parts[index]![1].trim());
      }
    }),
  );
});

test("a foreign body has as many items as it likes, but no object with too many members", async () => {
  const max = limits.foreignObjectMembers;
  const members = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`,{[${index}`, [1, 2]]));
  const parse = (body: unknown) => parseForeignJson(Buffer.from(JSON.stringify(body)));
  const fits = { batch: [members(max), { nested: members(max) }, ...Array(max + 1).fill({ a: 1 })] };
  expect(await parse(fits)).toEqual(fits);
  for (const wide of [members(max + 1), [{ properties: members(max + 1) }]]) {
    const error = await parse(wide).catch((error) => error as ProblemError);
    expect((error as ProblemError).options.detail).toBe(
      "The JSON has an object with more than 2,000 members.",
    );
  }
});

test("rejects what JSON.parse rejects", async () => {
  const damage = fc.constantFrom(
    "",
    ",",
    "]",
    "[",
    "}",
    "{",
    '"',
    "\\",
    ":",
    "\0",
    "\ufeff",
    "]]",
    ",,",
    "1",
  );
  await fc.assert(
    fc.asyncProperty(fc.array(item), fc.nat(), damage, async (items, place, extra) => {
      const whole = `[${items.join(",")}]`;
      const at = place % (whole.length + 1);
      const text = whole.slice(0, at) + extra + whole.slice(extra === "" ? at + 1 : at);
      let expected: unknown;
      try {
        expected = JSON.parse(text);
      } catch {
        expected = undefined;
      }
      if (!/^\s*\[/.test(text)) return;
      const found = await read(text).then(
        (array) => array.items(0, array.length),
        (error) => {
          expect((error as ProblemError).code).toBe("body-malformed");
          return undefined;
        },
      );
      expect(found).toEqual(expected as unknown[] | undefined);
    }),
    { numRuns: 500 },
  );
});

describe("an item that would take too much memory", () => {
  const code = async (text: string) => {
    const array = await read(`[1,${text},{"a":2}]`);
    const [before, found, after] = array.items(0, array.length);
    expect([before, after]).toEqual([1, { a: 2 }]);
    return found instanceof ProblemError ? found.code : "parsed";
  };

  test("is rejected without being parsed, unlike its neighbors", async () => {
    const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
    expect(await code(nested(limits.jsonLevels))).toBe("parsed");
    expect(await code(nested(limits.jsonLevels + 1))).toBe("body-invalid");
    expect(await code(nested(100_000))).toBe("body-invalid");
    expect(
      await code(
        `[${Array(limits.jsonValues - 1)
          .fill("0")
          .join(",")}]`,
      ),
    ).toBe("parsed");
    expect(await code(`[${Array(limits.jsonValues).fill("0").join(",")}]`)).toBe("body-invalid");
    expect(await code(`"${"[{,".repeat(10_000)}"`)).toBe("parsed");
    expect(await code(`"${"x".repeat(limits.eventBytes)}"`)).toBe("body-too-large");
  });
});

test("too many items are rejected while they are counted, whatever follows", async () => {
  const error = await read(`[${"0,".repeat(limits.batchEvents + 1)}`).catch((error) => error);
  expect((error as ProblemError).code).toBe("body-too-large");
});
