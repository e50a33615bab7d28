import type uPlot from "uplot";
import { type ChartMark, drawMarks } from "./chart-marks.ts";

/** Lines at some values of a chart, and times that stand out. */
export type Marks = {
  thresholds: readonly number[];
  /** Milliseconds since 1970. */
  spans: readonly { fromMs: number; toMs: number }[];
};

/** Also deployments, notes and others, which are drawn over the values. */
type DrawnMarks = Marks & { annotations: readonly ChartMark[]; isDark: boolean };

export const noMarks: Marks = { thresholds: [], spans: [] };

/** How narrow a span can get, in pixels of the canvas. */
const spanPxMin = 2;
const dash = [6, 4];

/** Draws marks in a chart: spans behind its values, and thresholds over them. @param marks - read at each drawing */
export function markHooks(marks: () => DrawnMarks): Pick<uPlot.Hooks.Arrays, "drawAxes" | "draw"> {
  return {
    drawAxes: [(u) => drawSpans(u, marks())],
    draw: [
      (u) => {
        const drawn = marks();
        drawThresholds(u, drawn);
        drawMarks(u, drawn.annotations, drawn.isDark);
      },
    ],
  };
}

function drawSpans(u: uPlot, { spans }: Marks): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.fillStyle = colorOf("danger");
  for (const { fromMs, toMs } of spans) {
    const from = Math.max(u.valToPos(fromMs, "x", true), bbox.left);
    const to = Math.min(u.valToPos(toMs, "x", true), bbox.left + bbox.width);
    if (to < bbox.left || from > bbox.left + bbox.width) continue;
    const width = Math.max(to - from, spanPxMin);
    ctx.globalAlpha = 0.16;
    ctx.fillRect(from, bbox.top, width, bbox.height);
    // An edge at the bottom, which is seen without colors, too.
    ctx.globalAlpha = 1;
    ctx.fillRect(from, bbox.top + bbox.height - spanPxMin, width, spanPxMin);
  }
  ctx.restore();
}

function drawThresholds(u: uPlot, { thresholds }: Marks): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.strokeStyle = colorOf("danger");
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash(dash.map((px) => px * devicePixelRatio));
  for (const threshold of thresholds) {
    const y = Math.round(u.valToPos(threshold, "y", true));
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
  }
  ctx.restore();
}

function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
