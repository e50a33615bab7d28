import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { palettes } from "../../server/schemas/chart-palette.ts";
import { markColors } from "../components/marks.ts";
import { colorsOfValues, distinctColors } from "./colors.ts";

type Triple = [number, number, number];

const linear = (channel: number) =>
  channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;

function rgbOf(hex: string): Triple {
  return [1, 3, 5].map((at) => linear(Number.parseInt(hex.slice(at, at + 2), 16) / 255)) as Triple;
}

function multiply(matrix: Triple[], [a, b, c]: Triple): Triple {
  return matrix.map((row) => row[0] * a + row[1] * b + row[2] * c) as Triple;
}

/** Machado, Oliveira and Fernandes 2009, at full severity, on linear RGB. */
const visions: Record<string, Triple[]> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
};

/** https://bottosson.github.io/posts/oklab: equal distances look equally different. */
function oklab(rgb: Triple): Triple {
  const cones = multiply(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    rgb.map((channel) => Math.min(1, Math.max(0, channel))) as Triple,
  ).map(Math.cbrt) as Triple;
  return multiply(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    cones,
  );
}

function contrast(a: string, b: string): number {
  const [light, dark] = [a, b]
    .map((hex) => multiply([[0.2126, 0.7152, 0.0722]], rgbOf(hex))[0] + 0.05)
    .toSorted((x, y) => y - x) as [number, number];
  return light / dark;
}

for (const [theme, { surface, series, rest }] of Object.entries(palettes)) {
  describe(`the ${theme} palette`, () => {
    const colors = [...series, rest];

    test("stands out from the surface", async () => {
      const styles = await Bun.file(`${import.meta.dir}/../styles.css`).text();
      const block = theme === "dark" ? styles.slice(styles.indexOf(".dark {")) : styles;
      expect(/--surface: (#\w+)/.exec(block)?.[1]).toBe(surface);
      expect([...block.matchAll(/--mark-\d: (#\w+)/g)].slice(0, 8).map(([, color]) => color)).toEqual(series);
      expect(series).toHaveLength(markColors);
      for (const color of colors) expect(contrast(color, surface), color).toBeGreaterThanOrEqual(3);
    });

    for (const [vision, matrix] of Object.entries(visions)) {
      test(`has no two colors that look alike with ${vision} vision`, () => {
        for (const [index, one] of colors.entries()) {
          for (const other of colors.slice(index + 1)) {
            const [a, b] = [one, other].map((hex) => oklab(multiply(matrix, rgbOf(hex)))) as [Triple, Triple];
            expect(Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]), `${one} ${other}`).toBeGreaterThan(0.1);
          }
        }
      });
    }
  });
}

describe("the colors of values", () => {
  const texts = fc.uniqueArray(fc.string({ maxLength: 5 }), { maxLength: 24 });

  test("are all different in a chart, in color or shape", () => {
    fc.assert(
      fc.property(fc.uuid(), fc.array(texts, { maxLength: 4 }), (of, charts) => {
        for (const values of charts) {
          const colors = colorsOfValues(of, values);
          expect([...colors.keys()].toSorted()).toEqual(values.toSorted());
          expect(new Set(colors.values()).size).toBe(values.length);
          for (const color of colors.values()) expect(color).toBeWithin(0, 24);
        }
      }),
    );
  });

  test("stay the same when a filter leaves values out, and when it comes off again", () => {
    fc.assert(
      fc.property(fc.uuid(), texts, fc.array(fc.nat(), { maxLength: 24 }), (of, values, picked) => {
        const before = colorsOfValues(of, values);
        const some = values.filter((_, index) => picked.includes(index));
        const others = ["new", "ones", ...some.toReversed()].filter(
          (value, at, own) => own.indexOf(value) === at,
        );
        const filtered = colorsOfValues(of, others);
        for (const value of some) expect(filtered.get(value)).toBe(before.get(value)!);
        expect(colorsOfValues(of, values)).toEqual(before);
      }),
    );
  });

  test("are first of all full ones that differ in color", () => {
    const eight = colorsOfValues("eight", ["a", "b", "c", "d", "e", "f", "g", "h"]);
    expect([...eight.values()].toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  test("of two channels with the same color in one chart, one gets another", () => {
    const same = new Map([
      ["a", 3],
      ["b", 3],
      ["c", 4],
    ]);
    expect([...distinctColors(["a", "b", "c"], same)]).toEqual([
      ["a", 3],
      ["c", 4],
      ["b", 5],
    ]);
  });
});
