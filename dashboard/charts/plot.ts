import { palettes } from "../../server/schemas/chart-palette.ts";
import "./valid-language.ts";
import uPlot from "uplot";
import "./chart.css";
import { shortCount } from "../components/counts.ts";
import { browserZone, zone } from "../components/zone.ts";
import { colorOf, patternOf, type SeriesColor } from "./colors.ts";
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
  /** The last bucket isn't over. */
  isLastPartial: boolean;
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
const lineDashes: number[][] = [[], [8, 3], [8, 3, 2, 3]];
/** Of what leads to a bucket that isn't over. */
const partialDash = [2, 4];

export function drawPlot(options: uPlot.Options, data: uPlot.AlignedData, into: HTMLElement): uPlot {
  return new uPlot(options, data, into);
}

/**
 * The data for uPlot: times, then the series. Stacked series are in reverse, because each covers a part of the one
 * before. If the last bucket isn't over, each series is split in two, because the part that leads to that bucket looks
 * different.
 */
export function plotData(
  starts: readonly number[],
  series: readonly TimeSeries[],
  { kind, isStacked, isLastPartial }: Pick<PlotLook, "kind" | "isStacked" | "isLastPartial">,
): uPlot.AlignedData {
  const values = series.map((each) => each.values);
  const drawn: (number | null)[][] = isStacked ? stack(values).reverse() : values.map((each) => [...each]);
  if (!isLastPartial) return [[...starts], ...drawn];
  const last = starts.length - 1;
  // A line leads there from the point before.
  const firstPartial = kind === "bars" ? last : last - 1;
  return [
    [...starts],
    ...drawn.flatMap((each) => [
      each.map((value, index) => (index === last ? null : value)),
      each.map((value, index) => (index >= firstPartial ? value : null)),
    ]),
  ];
}

/** The range of the x axis, and values that the y axis includes; both are read again at each change of the data. */
type PlotRange = { times: () => [fromMs: number, toMs: number]; thresholds: () => readonly number[] };

/** uPlot's options for a chart. */
export function plotOptions(
  look: PlotLook,
  { times, thresholds }: PlotRange,
  size: { width: number; height: number },
): uPlot.Options {
  const { kind, isCount, format } = look;
  const styles = getComputedStyle(document.documentElement);
  const color = (name: string) => styles.getPropertyValue(`--${name}`).trim();
  const axis = { stroke: color("faint"), font: axisFont };
  const drawn = look.isStacked ? look.series.toReversed() : look.series;
  const ticksShown: uPlot.Axis.Filter = ({ data: [starts = []] }, ticks) =>
    ticksOf(ticks, starts.length > 1 ? starts[1]! - starts[0]! : 0);
  return {
    ...size,
    ms: 1,
    ...(zone() !== browserZone && { tzDate: (ms: number) => uPlot.tzDate(new Date(ms), zone()) }),
    legend: { show: false },
    // At the right, half of the last label of the time axis.
    padding: [6, 26, 0, 0],
    scales: {
      x: { time: true, range: times },
      // From zero, so that heights are proportional; an empty chart has an axis, too.
      y: {
        range: (_, min, max) => [
          Math.min(0, min ?? 0, ...thresholds()),
          headroom(Math.max(max ?? 0, ...thresholds()), isCount),
        ],
      },
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
    series: [
      {},
      ...drawn.flatMap((each) => [
        seriesOptions(look, each.color, false),
        ...(look.isLastPartial ? [seriesOptions(look, each.color, true)] : []),
      ]),
    ],
    cursor: {
      y: false,
      points: { show: kind !== "bars" },
      drag: { x: true, y: false, setScale: false, dist: 4 },
    },
  };
}

function seriesOptions(
  { kind, isStacked, isDark, isLastPartial }: PlotLook,
  of: SeriesColor,
  isPartial: boolean,
): uPlot.Series {
  const color = colorOf(of, isDark);
  const fullFill = isPartial ? hatching(of, isDark) : patternFill(of, isDark);
  if (kind === "bars") {
    return {
      fill: fullFill,
      width: 0,
      points: { show: false },
      paths: uPlot.paths.bars!({ size: [1, Number.POSITIVE_INFINITY], align: 1, gap: barsGapPx }),
    };
  }
  // An area under a stacked one must cover everything behind it.
  const fill = kind === "line" ? {} : { fill: isStacked ? fullFill : `${color}33` };
  const dash = isPartial ? partialDash : lineDashes[patternOf(of)]!;
  // Areas end in their edges. A single value has none, so it is a point.
  const points: uPlot.Series.Points =
    isStacked || isPartial || isLastPartial
      ? { show: ({ data: [starts] }) => (isStacked || isPartial) && starts.length === 1 }
      : { space: pointSpacePx };
  return { stroke: color, width: 1.5, points, ...fill, ...(dash.length > 0 && { dash }) };
}

/** The width of a bucket. Labels within one, such as noon of a day, would tell nothing. */
function bucketPx({ data: [starts] }: uPlot, min: number, max: number, width: number): number {
  const [first = 0, second = first] = starts;
  // A day that summer time begins on is shorter than others.
  return 0.9 * width * ((second - first) / (max - min || 1));
}

/**
 * The fill of a series. It is opaque, because stacked series cover each other. Its stripes and dots are wide apart and
 * in half of the color, since narrow ones in full contrast seem to flicker.
 */
function patternFill(of: SeriesColor, isDark: boolean): uPlot.Series.Fill {
  const color = colorOf(of, isDark);
  const pattern = patternOf(of);
  if (pattern === 0) return color;
  return tiled(8, (context) => {
    context.fillStyle = color;
    context.fillRect(0, 0, 8, 8);
    context.fillStyle = surfaceOf(isDark);
    context.globalAlpha = 0.55;
    if (pattern === 1) context.fillRect(0, 0, 8, 2);
    else
      for (const [x, y] of [
        [0, 0],
        [4, 4],
      ] as const)
        context.fillRect(x, y, 2, 2);
  });
}

/** The fill of a bucket that isn't over: slanting stripes of the color. */
function hatching(of: SeriesColor, isDark: boolean): uPlot.Series.Fill {
  return tiled(6, (context) => {
    context.fillStyle = surfaceOf(isDark);
    context.fillRect(0, 0, 6, 6);
    context.fillStyle = context.strokeStyle = colorOf(of, isDark);
    context.globalAlpha = 0.25;
    context.fillRect(0, 0, 6, 6);
    context.globalAlpha = 1;
    context.lineWidth = 2;
    context.beginPath();
    // The corners, so that the stripes of neighbors meet.
    for (const x of [-6, 0, 6]) {
      context.moveTo(x, 6);
      context.lineTo(x + 6, 0);
    }
    context.stroke();
  });
}

/** Repeats a drawing of some pixels of the page. */
function tiled(sizePx: number, draw: (context: CanvasRenderingContext2D) => void): uPlot.Series.Fill {
  const scale = Math.max(1, Math.round(devicePixelRatio));
  const tile = document.createElement("canvas");
  tile.width = tile.height = sizePx * scale;
  const context = tile.getContext("2d")!;
  context.scale(scale, scale);
  draw(context);
  return context.createPattern(tile, "repeat")!;
}

function surfaceOf(isDark: boolean): string {
  return (isDark ? palettes.dark : palettes.light).surface;
}

function headroom(max: number, isCount: boolean): number {
  if (max <= 0) return 1;
  return isCount ? max : max * 1.05;
}
