import { expect, test } from "bun:test";
import fc from "fast-check";
import { assignChannelColors } from "./channel-colors.ts";

const names = (max: number) => fc.uniqueArray(fc.string(), { maxLength: max });

test("eight channels differ in color, and 24 in color or shape", () => {
  fc.assert(
    fc.property(names(24), (ids) => {
      const colors = [...assignChannelColors(ids).values()];
      expect(new Set(colors).size).toBe(ids.length);
      const first = colors.slice(0, 8).map((color) => color % 8);
      expect(new Set(first).size).toBe(first.length);
      for (const color of colors) expect(color).toBeLessThan(24);
    }),
  );
});

test("a channel keeps its color when others are added", () => {
  fc.assert(
    fc.property(names(60), fc.nat(), (ids, at) => {
      const before = assignChannelColors(ids.slice(0, at % (ids.length + 1)));
      for (const colors of [assignChannelColors(ids), assignChannelColors(ids, before)])
        for (const [id, color] of before) expect(colors.get(id)).toBe(color);
    }),
  );
});
