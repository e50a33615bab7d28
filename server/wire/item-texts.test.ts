import { expect, test } from "bun:test";
import fc from "fast-check";
import { ItemTexts } from "./item-texts.ts";

const space = fc.constantFrom("", " ", "\n\t", "\r\n  ");

test("an item's text is the item, whatever stands around it, in whatever order it is asked for", () => {
  const item = fc.oneof(
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc.jsonValue().map((value) => JSON.stringify(value, null, 2)),
    fc.constantFrom('"\\\\"', '"\\","', '"[{"', '{"]":"}"}', "[[],{}]", '"\\u0022,"'),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(space, item, space), { minLength: 1 }), fc.gen(), (items, random) => {
      const texts = new ItemTexts(Buffer.from(` [${items.map((parts) => parts.join("")).join(",")}] `));
      const order = random(() => fc.shuffledSubarray([...items.keys()]));
      for (const index of order) expect(texts.at(index)).toBe(items[index]![1].trim());
    }),
  );
});
