import { markColors, markShapes, shapeOf } from "../components/marks.ts";

/**
 * A series' color: a place in the palette, or the neutral one of everything that has no series of its own. Places from
 * 8 on have the same colors with another shape, or another pattern in an area.
 */
export type SeriesColor = number | "rest";

export const seriesColorsMax = markColors;

/**
 * Each color has a contrast of at least 3:1 with the surface (WCAG 1.4.11), and can be told from all others with normal
 * vision, protanopia and deuteranopia; `colors.test.ts` checks both. `styles.css` has the
 * same ones for the marks of channels.
 */
export const palettes = {
  light: {
    surface: "#fdfcfa",
    series: ["#0a6b7c", "#b465bd", "#558d12", "#448dfa", "#8f4100", "#624dba", "#790647", "#033884"],
    rest: "#958e82",
  },
  dark: {
    surface: "#1a1917",
    series: ["#5cc4d3", "#c16cb3", "#9aa024", "#7192f7", "#ebc34b", "#6d57b4", "#f9918e", "#7ef4b4"],
    rest: "#7a746a",
  },
};

export function colorOf(color: SeriesColor, isDark: boolean): string {
  const { series, rest } = isDark ? palettes.dark : palettes.light;
  return color === "rest" ? rest : series[color % series.length]!;
}

/** The outline of a series' mark in legends, in a box of 8 by 8. */
export function markShapeOf(color: SeriesColor): string {
  return shapeOf(color === "rest" ? 0 : color);
}

/** How a series is drawn, so that series of one color differ: 0 full, 1 divided by lines, 2 pierced by dots. */
export function patternOf(color: SeriesColor): number {
  return color === "rest" ? 0 : Math.floor(color / markColors) % markShapes.length;
}

/**
 * Gives each value a color, at most `seriesColorsMax`. Those that had one keep it, so that colors don't change places
 * when counts do.
 */
export function assignColors(
  values: readonly string[],
  previous: ReadonlyMap<string, number> = new Map(),
): Map<string, number> {
  const kept = values.filter((value) => previous.has(value));
  const colors = new Map(kept.map((value) => [value, previous.get(value)!]));
  const free = Array.from({ length: seriesColorsMax }, (_, color) => color).filter(
    (color) => !kept.some((value) => colors.get(value) === color),
  );
  for (const value of values) {
    if (colors.has(value)) continue;
    const color = free.shift();
    if (color === undefined) break;
    colors.set(value, color);
  }
  return colors;
}
