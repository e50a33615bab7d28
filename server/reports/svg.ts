import { shorten } from "../notifications/shorten.ts";
import { palettes } from "../schemas/chart-palette.ts";

/** Elements of pictures: always light, as pictures in messages can't follow the reader's theme. */
export const colors = {
  page: "#f7f5f2",
  card: palettes.light.surface,
  line: "#e6e1da",
  ink: "#26241f",
  muted: "#6b655e",
  rest: palettes.light.rest,
};

/** The color of a series by its place; others than the palette's are drawn as the rest. */
export function seriesColor(index: number, isRest: boolean): string {
  return isRest ? colors.rest : (palettes.light.series[index] ?? colors.rest);
}

/**
 * The font of a text. resvg doesn't find missing letters in another font by itself, so a text has one: the dashboard's,
 * whose file has Western European letters, or one with those of most alphabets. `width` is about that of a character,
 * in shares of the font size.
 */
function fontOf(content: string): { family: string; width: number } {
  return /^[\u0020-\u00ff\u0152\u0153\u2000-\u206f\u20ac\u2122\u2191\u2193\u2212]*$/.test(content)
    ? { family: "Hanken Grotesk", width: 0.54 }
    : { family: "DejaVu Sans", width: 0.6 };
}

type TextStyle = {
  size: number;
  color?: string;
  anchor?: "start" | "middle" | "end";
  isStrong?: boolean;
  /** Longer texts are shortened to about this many pixels. */
  width?: number;
};

/** A line of text, with its baseline at `y`. */
export function textAt(
  x: number,
  y: number,
  content: string,
  { size, color = colors.ink, anchor = "start", isStrong = false, width }: TextStyle,
): string {
  const line = withoutControls(content.replace(/\s+/g, " "));
  const font = fontOf(line);
  const fitting =
    width === undefined ? line : shorten(line, Math.max(1, Math.floor(width / (size * font.width))));
  // A font's file has one weight, and a thin outline makes a bolder one of it.
  const outline = isStrong ? ` stroke="${color}" stroke-width="${size / 45}"` : "";
  return `<text x="${round(x)}" y="${round(y)}" font-family="${font.family}" font-size="${size}" fill="${color}" text-anchor="${anchor}"${outline}>${Bun.escapeHTML(fitting)}</text>`;
}

export function rectangle(x: number, y: number, width: number, height: number, attributes: string): string {
  return `<rect x="${round(x)}" y="${round(y)}" width="${round(Math.max(0, width))}" height="${round(Math.max(0, height))}" ${attributes}/>`;
}

type Point = readonly [x: number, y: number] | null;

/** A line through points; null begins a new one. A point without another beside it is drawn as a dot. */
export function lineThrough(
  points: readonly Point[],
  { color, width, attributes = "" }: { color: string; width: number; attributes?: string },
): string {
  const line = `<path d="${pathThrough(points)}" fill="none" stroke="${color}" stroke-width="${width}"${attributes}/>`;
  const isAlone = (index: number) =>
    (points[index - 1] ?? null) === null && (points[index + 1] ?? null) === null;
  const dots = points.map((point, index) =>
    point !== null && isAlone(index)
      ? `<circle cx="${round(point[0])}" cy="${round(point[1])}" r="${1.5 * width}" fill="${color}"/>`
      : "",
  );
  return line + dots.join("");
}

/** The commands of a line through points; null begins a new one. */
export function pathThrough(points: readonly Point[]): string {
  let isOpen = false;
  return points
    .map((point) => {
      const command = isOpen ? "L" : "M";
      isOpen = point !== null;
      return point === null ? "" : `${command}${round(point[0])} ${round(point[1])}`;
    })
    .join("");
}

/** Two decimals are enough, and keep the text short. */
export function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** XML allows no control characters, and no half of a pair. */
function withoutControls(content: string): string {
  return content.toWellFormed().replace(/[\p{Cc}\uFFFE\uFFFF]/gu, "");
}
