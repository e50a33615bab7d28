import "./valid-language.ts";
import uPlot from "uplot";
import "./chart.css";
import { shortCount } from "../components/counts.ts";
import { colorOf, palettes, patternOf, type SeriesColor } from "./colors.ts";
import { tickLabels, ticksOf } from "./labels.ts";
import { stack, type Values } from "./stack.ts";

export type PlotKind = "bars" | "line" | "area";

export type TimeSeries = {
  /** Unique in its chart. */
  key: string;
  name: string;
  color: SeriesColor;
  /** One for each bucket; null where there is none. */
  values: Values;
};

export type PlotLook = {
  kind: PlotKind;
  isStacked: boolean;
  isDark: boolean;
  /** Values are whole numbers, so ticks between them make no sense. */
  isCount: boolean;
  format: (value: number) => string;
  series: readonly Pick<TimeSeries, "color">[];
};

const axisFont = "11px 'Hanken Grotesk', ui-sans-serif, system-ui, sans-serif";
const countSteps = [1, 2, 5]
  .flatMap((digit) => Array.from({ length: 13 }, (_, power) => digit * 10 ** power))
  .toSorted((a, b) => a - b);
const barsGapPx = 1;
/** Between two labels of the x axis, at least. */
const tickSpacePx = 72;
/** Lines with points that are closer have none. */
const pointSpacePx = 36;
const lineDashes: number[][] = [[], [6, 3], [2, 3]];

export function drawPlot(options: uPlot.Options, data: uPlot.AlignedData, into: HTMLElement): uPlot {
  return new uPlot(options, data, into);
}

/** What uPlot draws: times, then the series. Stacked ones are in reverse, because each covers a part of the one before. */
export function plotData(
  starts: readonly number[],
  series: readonly TimeSeries[],
  isStacked: boolean,
): uPlot.AlignedData {
  const values = series.map((each) => each.values);
  const drawn = isStacked ? stack(values).reverse() : values.map((each) => [...each]);
  return [[...starts], ...drawn];
}

/** uPlot's options for a chart whose x axis runs over `range`, which is read again at each change of the data. */
export function plotOptions(
  look: PlotLook,
  range: () => [fromMs: number, toMs: number],
  size: { width: number; height: number },
): uPlot.Options {
  const { kind, isDark, isCount, format } = look;
  const styles = getComputedStyle(document.documentElement);
  const color = (name: string) => styles.getPropertyValue(`--${name}`).trim();
  const axis = { stroke: color("faint"), font: axisFont };
  const drawn = look.isStacked ? look.series.toReversed() : look.series;
  const ticksShown: uPlot.Axis.Filter = ({ data: [starts = []] }, ticks) =>
    ticksOf(ticks, starts.length > 1 ? starts[1]! - starts[0]! : 0);
  return {
    ...size,
    ms: 1,
    legend: { show: false },
    // At the right, half of the last label of the time axis.
    padding: [6, 26, 0, 0],
    scales: {
      x: { time: true, range },
      // From zero, so that heights are proportional; an empty chart has an axis, too.
      y: { range: (_, min, max) => [Math.min(0, min ?? 0), headroom(max ?? 0, isCount)] },
    },
    axes: [
      {
        ...axis,
        size: 22,
        gap: 4,
        space: (u, _axis, min, max, width) => Math.max(tickSpacePx, bucketPx(u, min, max, width)),
        grid: { show: false },
        ticks: { stroke: color("line-strong"), width: 1, size: 4, filter: ticksShown },
        filter: ticksShown,
        border: { show: true, stroke: color("line-strong"), width: 1 },
        values: (_, ticks, __, ___, stepMs) => tickLabels(ticks, stepMs),
      },
      {
        ...axis,
        size: 44,
        gap: 6,
        // Steps are at most 2.5 times apart, so even a low chart has one besides zero.
        space: (_u, _axis, _min, _max, height) => Math.min(24, 0.36 * height),
        ...(isCount && { incrs: countSteps }),
        grid: { stroke: color("line"), width: 1 },
        ticks: { show: false },
        values: (_, ticks) => ticks.map((tick) => (isCount ? shortCount(tick) : format(tick))),
      },
    ],
    series: [{}, ...drawn.map((each) => seriesOptions(kind, look.isStacked, each.color, isDark))],
    cursor: {
      y: false,
      points: { show: kind !== "bars" },
      drag: { x: true, y: false, setScale: false, dist: 4 },
    },
  };
}

function seriesOptions(kind: PlotKind, isStacked: boolean, of: SeriesColor, isDark: boolean): uPlot.Series {
  const color = colorOf(of, isDark);
  const fullFill = patternFill(of, isDark);
  if (kind === "bars") {
    return {
      fill: fullFill,
      width: 0,
      points: { show: false },
      paths: uPlot.paths.bars!({ size: [1, Number.POSITIVE_INFINITY], align: 1, gap: barsGapPx }),
    };
  }
  // An area that others are stacked on must cover what is behind it.
  const fill = kind === "line" ? {} : { fill: isStacked ? fullFill : `${color}33` };
  const dash = lineDashes[patternOf(of)]!;
  // Areas end in their edges. A single value has none, so it is a point.
  const points: uPlot.Series.Points = isStacked
    ? { show: ({ data: [starts] }) => starts.length === 1 }
    : { space: pointSpacePx };
  return { stroke: color, width: 1.5, points, ...fill, ...(dash.length > 0 && { dash }) };
}

/** The width of a bucket. Labels within one, such as noon of a day, would tell nothing. */
function bucketPx({ data: [starts] }: uPlot, min: number, max: number, width: number): number {
  const [first = 0, second = first] = starts;
  // A day that summer time begins on is shorter than others.
  return 0.9 * width * ((second - first) / (max - min || 1));
}

/** In pixels of the screen. It is opaque, because stacked series cover each other. */
function patternFill(of: SeriesColor, isDark: boolean): uPlot.Series.Fill {
  const color = colorOf(of, isDark);
  const pattern = patternOf(of);
  if (pattern === 0) return color;
  const scale = Math.max(1, Math.round(devicePixelRatio));
  const tile = document.createElement("canvas");
  tile.width = tile.height = 4 * scale;
  const context = tile.getContext("2d")!;
  context.fillStyle = color;
  context.fillRect(0, 0, tile.width, tile.height);
  context.fillStyle = (isDark ? palettes.dark : palettes.light).surface;
  context.fillRect(0, 0, pattern === 1 ? tile.width : scale, scale);
  return context.createPattern(tile, "repeat")!;
}

function headroom(max: number, isCount: boolean): number {
  if (max <= 0) return 1;
  return isCount ? max : max * 1.05;
}
