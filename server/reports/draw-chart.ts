import type { TileOf } from "../schemas/tile.ts";
import type { TileDataOf } from "../schemas/tile-data.ts";
import { labelOf } from "../schemas/tile-texts.ts";
import { shortAmount } from "./report-amounts.ts";
import { colors, lineThrough, pathThrough, rectangle, round, seriesColor, textAt } from "./svg.ts";

type ChartData = TileDataOf<"line" | "area" | "bar">;
type Chart = {
  tile: TileOf<"line" | "area" | "bar">;
  data: ChartData;
  /** Drawn as a dashed line behind a chart of one series. */
  before: ChartData | null;
  timeZone: string;
};
type Box = { x: number; y: number; width: number; height: number };

const axisWidth = 44;
const axisHeight = 20;
const legendHeight = 20;
const ticksMax = 4;
const labelsMax = 7;
/** Of a time on the axis. */
const labelWidth = 44;

/** The chart of a tile: axes, grid, series, and a legend if there are several. */
export function drawChart({ tile, data, before, timeZone }: Chart, box: Box): string {
  const isSplit = tile.split !== undefined;
  const legend = isSplit ? drawLegend(data.series, box) : "";
  const plot = {
    x: box.x + axisWidth,
    y: box.y + (isSplit ? legendHeight : 0) + 8,
    width: box.width - axisWidth,
    height: box.height - axisHeight - (isSplit ? legendHeight : 0) - 8,
  };
  const isStacked = tile.type !== "line";
  const layers = layersOf(data.series, isStacked);
  const earlier = !isSplit && before ? before.values.slice(0, data.starts.length) : [];
  const all = [...layers.flatMap(({ tops }) => tops), ...earlier].filter((value) => value !== null);
  const { low, high, ticks } = scaleOf(Math.min(0, ...all), Math.max(0, ...all));
  const y = (value: number) => plot.y + plot.height * (1 - (value - low) / (high - low));
  const count = data.starts.length;
  const step = plot.width / Math.max(1, tile.type === "bar" ? count : count - 1);
  const x = (index: number) =>
    count === 1 || tile.type === "bar" ? plot.x + step * (index + 0.5) : plot.x + step * index;
  const grid = ticks.map(
    (tick) =>
      `<path d="M${round(plot.x)} ${round(y(tick))}h${round(plot.width)}" stroke="${colors.line}"/>` +
      textAt(plot.x - 8, y(tick) + 4, shortAmount(tick), { size: 11, color: colors.muted, anchor: "end" }),
  );
  const dashed =
    earlier.length > 1
      ? lineThrough(
          earlier.map((value, index) => (value === null ? null : [x(index), y(value)])),
          { color: colors.rest, width: 1.5, attributes: ` stroke-dasharray="4 4"` },
        ) +
        textAt(plot.x + plot.width, box.y + 2, "dashed: before", {
          size: 11,
          color: colors.muted,
          anchor: "end",
        })
      : "";
  const series = layers.map(({ bottoms, tops, color }) =>
    tile.type === "bar"
      ? tops
          .map((top, index) => {
            if (top === null) return "";
            const [from, to] = [y(bottoms[index]!), y(top)];
            const width = Math.min(step * 0.72, 48);
            return rectangle(
              x(index) - width / 2,
              Math.min(from, to),
              width,
              Math.abs(from - to),
              `fill="${color}"`,
            );
          })
          .join("")
      : drawLine({ tops, bottoms, color, isArea: tile.type === "area" }, x, y),
  );
  return [...grid, dashed, ...series, drawTimes(data, timeZone, x, plot.y + plot.height + 16), legend].join(
    "",
  );
}

type Layer = { tops: (number | null)[]; bottoms: number[]; color: string };

/** Where the values of each series are drawn: on top of each other, if they are stacked. */
function layersOf(series: ChartData["series"], isStacked: boolean): Layer[] {
  const sums: number[] = [];
  return series.map(({ value, values }, index) => {
    const bottoms = values.map((_, bucket) => (isStacked ? (sums[bucket] ?? 0) : 0));
    const tops = values.map((each, bucket) => (each === null ? null : bottoms[bucket]! + each));
    for (const [bucket, top] of tops.entries()) if (top !== null) sums[bucket] = top;
    return { tops, bottoms, color: seriesColor(index, series.length > 1 && value === null) };
  });
}

function drawLine(
  { tops, bottoms, color, isArea }: Layer & { isArea: boolean },
  x: (index: number) => number,
  y: (value: number) => number,
): string {
  const points = tops.map((top, index): [number, number] | null =>
    top === null ? null : [x(index), y(top)],
  );
  const known = points.filter((point) => point !== null);
  const line = lineThrough(points, { color, width: 2, attributes: ` stroke-linejoin="round"` });
  if (!isArea || known.length === 1) return line;
  const below = bottoms.map((bottom, index): [number, number] => [x(index), y(bottom)]).reverse();
  const above = tops.map((top, index): [number, number] => [x(index), y(top ?? bottoms[index]!)]);
  return `<path d="${pathThrough([...above, ...below])}Z" fill="${color}" fill-opacity="0.25"/>${line}`;
}

/** Round bounds and up to four lines between them. */
function scaleOf(min: number, max: number): { low: number; high: number; ticks: number[] } {
  const span = max - min || 1;
  const rough = span / ticksMax;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= rough * 0.999)!;
  const first = Math.floor(min / step);
  const last = Math.max(first + 1, Math.ceil(max / step - 1e-9));
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
  return { low: first * step, high: last * step, ticks };
}

function drawTimes(
  { by, starts }: ChartData,
  timeZone: string,
  x: (index: number) => number,
  y: number,
): string {
  const format = new Intl.DateTimeFormat("en", {
    timeZone,
    hourCycle: "h23",
    ...(by === "minute" || by === "hour"
      ? { hour: "2-digit", minute: "2-digit" }
      : { day: "numeric", month: "short" }),
  });
  const every = Math.ceil(starts.length / labelsMax);
  const last = starts.length - 1;
  return starts
    .map((start, index) => {
      if (index % every !== 0) return "";
      const isAtEnd = index === last && x(last) - x(last - 1) < labelWidth;
      const style = { size: 11, color: colors.muted, anchor: isAtEnd ? "end" : "middle" } as const;
      return textAt(x(index), y, format.format(new Date(start)), style);
    })
    .join("");
}

function drawLegend(series: ChartData["series"], { x, y, width }: Box): string {
  const share = width / Math.max(1, series.length);
  return series
    .map((each, index) => {
      const { value } = each;
      const left = x + share * index;
      return (
        rectangle(
          left,
          y + 1,
          9,
          9,
          `rx="2" fill="${seriesColor(index, series.length > 1 && value === null)}"`,
        ) +
        textAt(left + 14, y + 10, labelOf(each, true), { size: 11, color: colors.muted, width: share - 22 })
      );
    })
    .join("");
}
