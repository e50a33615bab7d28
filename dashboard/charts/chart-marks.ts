import type uPlot from "uplot";
import { colorOf, type SeriesColor } from "./colors.ts";

/** A moment or a day that a chart marks, such as a deployment. */
export type ChartMark = {
  key: string;
  name: string;
  icon: string | null;
  color: SeriesColor;
  fromMs: number;
  /** The end of a day; null for a moment. */
  toMs: number | null;
  /** The event that it marks. */
  eventId: string | null;
};

/** The marks in a time: moments in it, and days that it touches. */
export function marksBetween(marks: readonly ChartMark[], fromMs: number, toMs: number): ChartMark[] {
  return marks.filter((mark) => mark.fromMs < toMs && (mark.toMs ?? mark.fromMs + 1) > fromMs);
}

/** Marks by name, each as the first of those that have it, with how many these are. */
export function marksByName(marks: readonly ChartMark[]): (ChartMark & { count: number })[] {
  return [...Map.groupBy(marks, ({ name }) => name).values()].map((same) => ({
    ...same[0]!,
    count: same.length,
  }));
}

const flagPx = 4;
const lineOpacity = 0.45;
const dayOpacity = 0.12;

/** Draws a line with a flag at its top for each moment, and a band for each day. */
export function drawMarks(u: uPlot, marks: readonly ChartMark[], isDark: boolean): void {
  const { ctx, bbox } = u;
  const right = bbox.left + bbox.width;
  const scale = devicePixelRatio;
  ctx.save();
  for (const { fromMs, toMs, color } of marks) {
    const from = u.valToPos(fromMs, "x", true);
    const to = toMs === null ? from : u.valToPos(toMs, "x", true);
    if (to < bbox.left || from > right) continue;
    ctx.fillStyle = colorOf(color, isDark);
    if (toMs !== null) {
      const left = Math.max(from, bbox.left);
      const width = Math.max(Math.min(to, right) - left, scale);
      ctx.globalAlpha = dayOpacity;
      ctx.fillRect(left, bbox.top, width, bbox.height);
      ctx.globalAlpha = 1;
      ctx.fillRect(left, bbox.top, width, 2 * scale);
      continue;
    }
    const x = Math.round(from);
    ctx.globalAlpha = lineOpacity;
    ctx.fillRect(x - scale / 2, bbox.top, scale, bbox.height);
    ctx.globalAlpha = 1;
    ctx.beginPath();
    ctx.moveTo(x - flagPx * scale, bbox.top);
    ctx.lineTo(x + flagPx * scale, bbox.top);
    ctx.lineTo(x, bbox.top + 1.5 * flagPx * scale);
    ctx.fill();
  }
  ctx.restore();
}
