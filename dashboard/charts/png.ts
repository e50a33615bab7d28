import { palettes } from "../../server/schemas/chart-palette.ts";
import { colorOf, markShapeOf } from "./colors.ts";
import type { TimeSeries } from "./plot.ts";

const marginPx = 16;
const linePx = 20;
const gapPx = 16;

/** A chart as a picture, with its title, and its series' names below. `plot` is uPlot's canvas. */
export async function chartPng(
  plot: HTMLCanvasElement,
  title: string,
  series: readonly Pick<TimeSeries, "name" | "color">[],
  isDark: boolean,
): Promise<Blob> {
  const scale = plot.width / Math.max(1, plot.clientWidth);
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d")!;
  const font = `12px ${getComputedStyle(document.body).fontFamily}`;
  context.font = font;
  const legend = rowsOf(context, series, plot.clientWidth);
  const heightPx = 2 * marginPx + linePx + plot.clientHeight + 8 + legend.length * linePx;
  canvas.width = plot.width + 2 * marginPx * scale;
  canvas.height = heightPx * scale;
  context.scale(scale, scale);
  context.fillStyle = (isDark ? palettes.dark : palettes.light).surface;
  context.fillRect(0, 0, canvas.width, canvas.height);
  const ink = getComputedStyle(document.body).color;
  context.font = `600 ${font}`;
  context.textBaseline = "middle";
  context.fillStyle = ink;
  context.fillText(title, marginPx, marginPx + linePx / 2, plot.clientWidth);
  context.drawImage(plot, marginPx, marginPx + linePx, plot.clientWidth, plot.clientHeight);
  context.font = font;
  for (const [row, items] of legend.entries()) {
    const y = marginPx + linePx + plot.clientHeight + 8 + row * linePx + linePx / 2;
    for (const { name, color, x } of items) {
      context.fillStyle = colorOf(color, isDark);
      context.translate(marginPx + x, y - 4);
      context.fill(new Path2D(markShapeOf(color)), "evenodd");
      context.translate(-marginPx - x, 4 - y);
      context.fillStyle = ink;
      context.fillText(name, marginPx + x + 14, y, plot.clientWidth - x);
    }
  }
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture couldn't be made."))));
  });
}

/** Breaks the legend into rows that fit. */
function rowsOf(
  context: CanvasRenderingContext2D,
  series: readonly Pick<TimeSeries, "name" | "color">[],
  widthPx: number,
) {
  const rows: (Pick<TimeSeries, "name" | "color"> & { x: number })[][] = [];
  let x = Number.POSITIVE_INFINITY;
  for (const { name, color } of series) {
    const width = 14 + context.measureText(name).width;
    if (x + width > widthPx) {
      rows.push([]);
      x = 0;
    }
    rows.at(-1)!.push({ name, color, x });
    x += width + gapPx;
  }
  return rows;
}

/** Offers a file for download. */
export function download(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
