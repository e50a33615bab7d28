import { palettes } from "../../server/schemas/chart-palette.ts";
import { hashOf } from "../components/hash.ts";
import { markColors, markShapes, shapeOf } from "../components/marks.ts";

/**
 * A series' color: a place in the palette, or the neutral one of everything that has no series of its own. Places from
 * 8 on have the same colors with another shape, or another pattern in an area.
 */
export type SeriesColor = number | "rest";

export function colorOf(color: SeriesColor, isDark: boolean): string {
  const { series, rest } = isDark ? palettes.dark : palettes.light;
  return color === "rest" ? rest : series[color % series.length]!;
}

/** The outline of a series' mark in legends, in a box of 8 by 8. */
export function markShapeOf(color: SeriesColor): string {
  return shapeOf(color === "rest" ? 0 : color);
}

/** The pattern of a series. Series of one color differ by it: 0 full, 1 divided by lines, 2 pierced by dots. */
export function patternOf(color: SeriesColor): number {
  return color === "rest" ? 0 : Math.floor(color / markColors) % markShapes.length;
}

const all = markColors * markShapes.length;
/** The colors of values, by dimension. */
const known = new Map<string, Map<string, number>>();
const valuesMax = 500;

/**
 * The colors of values, from 0 to 23. A value has the same color in all charts of its dimension, even if a chart leaves
 * out others. In one chart, no two are the same.
 *
 * @param of - the dimension, such as a project's tag
 */
export function colorsOfValues(of: string, values: readonly string[]): Map<string, number> {
  let given = known.get(of);
  if (!given) {
    given = new Map();
    known.set(of, given);
  }
  for (const value of values) {
    if (given.has(value)) continue;
    const free = freeColor(hashOf(value) % markColors, new Set(given.values()));
    if (given.size >= valuesMax) given.delete(given.keys().next().value!);
    given.set(value, free ?? hashOf(value) % all);
  }
  return distinctColors(values, given);
}

/**
 * The colors of the series of one chart. If several have the same, it stays with the one that had it first; the others
 * get free ones.
 */
export function distinctColors(
  values: readonly string[],
  colors: ReadonlyMap<string, number>,
): Map<string, number> {
  const shown = new Map<string, number>();
  const used = new Set<number>();
  const wanted = new Set(values);
  // The ones that had their color first keep it.
  for (const [value, color] of colors) {
    if (!wanted.has(value) || used.has(color)) continue;
    shown.set(value, color);
    used.add(color);
  }
  for (const value of values) {
    if (shown.has(value)) continue;
    const color = freeColor(colors.get(value) ?? 0, used);
    if (color === null) break;
    shown.set(value, color);
    used.add(color);
  }
  return shown;
}

/** The next free color after a preferred one; other shapes only when all colors are used. Null if none is free. */
function freeColor(preferred: number, used: ReadonlySet<number>): number | null {
  for (let shape = 0; shape < markShapes.length; shape++)
    for (let step = 0; step < markColors; step++) {
      const color = shape * markColors + ((preferred + step) % markColors);
      if (!used.has(color)) return color;
    }
  return null;
}
