import type { Ref } from "react";
import type { ChartMark } from "./chart-marks.ts";
import type { Marks } from "./marks.ts";
import type { PlotKind, TimeSeries } from "./plot.ts";

export type TimeRange = { fromMs: number; toMs: number };

export type ChartHandle = { toPng: (title: string) => Promise<Blob> };

export type TimeChartProps = {
  /** The chart's name for screen readers: "Events over time". */
  label: string;
  kind: PlotKind;
  isStacked?: boolean;
  /** When each bucket starts, in milliseconds since 1970. The last one ends at `endMs`. */
  starts: readonly number[];
  endMs: number;
  /** From the bottom up if they are stacked. Hidden ones are left out by the caller. */
  series: readonly TimeSeries[];
  /** In pixels, with axes; reserved from the start, so nothing moves when the chart appears. */
  height: number;
  isCount?: boolean;
  format?: (value: number) => string;
  /**
   * Called with the buckets that were dragged over or chosen with the keyboard. Without it, nothing can be selected.
   */
  onSelect?: (range: TimeRange) => void;
  /** Called on double click and Escape. */
  onZoomOut?: () => void;
  /**
   * Called with a bucket that was clicked, tapped a second time or chosen with Enter, and where it is, in pixels from
   * the chart's left edge.
   */
  onPick?: (bucket: number, leftPx: number) => void;
  /** The last bucket isn't over: it looks different, and its label says so. */
  isLastPartial?: boolean;
  /** The total of all series in each bucket. By default, stacked series are added up. */
  totals?: readonly (number | null)[] | undefined;
  /** Thresholds and times that stand out. */
  marks?: Marks;
  /** Deployments, notes and others. */
  annotations?: readonly ChartMark[];
  ref?: Ref<ChartHandle>;
};
