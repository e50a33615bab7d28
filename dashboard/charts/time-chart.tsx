import { type KeyboardEvent, useEffect, useImperativeHandle, useMemo, useRef, useState } from "react";
import type uPlot from "uplot";
import { formatNumber } from "../components/locale.ts";
import { zone } from "../components/zone.ts";
import { useDark } from "../theme/theme.ts";
import { bucketText } from "./bucket-text.ts";
import { type ChartMark, marksBetween } from "./chart-marks.ts";
import { bucketLabel, soFar } from "./labels.ts";
import { markHooks, noMarks } from "./marks.ts";
import { onPickIn } from "./pick.ts";
import { drawPlot, plotData, plotOptions } from "./plot.ts";
import { chartPng } from "./png.ts";
import { Readout } from "./readout.tsx";
import type { TimeChartProps } from "./time-chart-props.ts";
import { followTouch } from "./touch.ts";

export type { TimeSeries } from "./plot.ts";
export type { ChartHandle, TimeRange } from "./time-chart-props.ts";

const noAnnotations: readonly ChartMark[] = [];

type Selection = { first: number; last: number };

/**
 * A chart of values over time, drawn by uPlot. Hovering, touching and the arrow keys read a bucket out; dragging or
 * Shift and the arrow keys select several.
 */
export function TimeChart({
  label,
  kind,
  isStacked = false,
  starts,
  endMs,
  series,
  height,
  isCount = true,
  format = formatNumber,
  onSelect,
  onZoomOut,
  onPick,
  isLastPartial = false,
  totals,
  marks = noMarks,
  annotations = noAnnotations,
  ref,
}: TimeChartProps) {
  const isDark = useDark();
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const [active, setActive] = useState<number | null>(null);
  // Keys may come faster than renders.
  const lastActive = useRef<number | null>(null);
  /** The bucket at which a selection with the keyboard began. */
  const anchor = useRef<number | null>(null);
  // For uPlot's callbacks, which are made only once.
  const latest = useRef({ starts, endMs, onSelect, onZoomOut, onPick, marks, annotations });
  latest.current = { starts, endMs, onSelect, onZoomOut, onPick, marks, annotations };

  // uPlot is created again only if its series or its look change, not for new values.
  const look = { kind, isStacked, isLastPartial, isDark, isCount, format, series };
  const lookKey = JSON.stringify([
    kind,
    isStacked,
    isLastPartial,
    isDark,
    isCount,
    zone(),
    series.map((each) => [each.key, each.color]),
  ]);
  const marksKey = JSON.stringify([marks, annotations]);
  const data = useMemo(
    () => plotData(starts, series, { kind, isStacked, isLastPartial }),
    [starts, series, kind, isStacked, isLastPartial],
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the look
  useEffect(() => {
    const element = container.current!;
    const options = plotOptions(
      look,
      {
        times: () => [latest.current.starts[0] ?? 0, latest.current.endMs],
        thresholds: () => latest.current.marks.thresholds,
      },
      { width: Math.max(element.clientWidth, 1), height },
    );
    options.cursor!.bind = {
      dblclick: () => () => {
        latest.current.onZoomOut?.();
        return null;
      },
    };
    options.hooks = {
      ...markHooks(() => ({ ...latest.current.marks, annotations: latest.current.annotations, isDark })),
      setCursor: [
        (u) => {
          const isOver = u.cursor.idx != null && (u.cursor.left ?? -1) >= 0;
          lastActive.current = isOver ? bucketAt(u) : null;
          setActive(lastActive.current);
        },
      ],
      setSelect: [
        (u) => {
          // A chart that was replaced while somebody dragged over it still hears the mouse.
          if (u !== plot.current || u.select.width === 0) return;
          selectPixels(u, u.select.left, u.select.left + u.select.width);
        },
      ],
    };
    if (!latest.current.onSelect) options.cursor!.drag = { x: false, y: false };
    const u = drawPlot(options, data, element);
    plot.current = u;
    const stopTouch = followTouch(u, (left, right) => selectPixels(u, left, right));
    const stopPicking = onPickIn(u, (left) => {
      const bucket = bucketAt(u, left);
      latest.current.onPick?.(bucket, middleOf(u, bucket));
    });
    const resized = new ResizeObserver(() => {
      const width = element.clientWidth;
      if (width > 0 && width !== u.width) u.setSize({ width, height });
    });
    resized.observe(element);
    return () => {
      stopTouch();
      stopPicking();
      resized.disconnect();
      plot.current = null;
      u.destroy();
    };
  }, [lookKey, height]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: marks are read while it draws
  useEffect(() => {
    plot.current?.setData(data);
  }, [data, marksKey]);

  useImperativeHandle(ref, () => ({
    toPng: (title) => chartPng(plot.current!.ctx.canvas, title, series, isDark),
  }));

  function labelOf(index: number): string {
    const label = bucketLabel(starts[index]!, endOf(index));
    return isLastPartial && index === starts.length - 1 ? soFar(label) : label;
  }

  function endOf(index: number): number {
    return latest.current.starts[index + 1] ?? latest.current.endMs;
  }

  /** The bucket under the cursor: uPlot's own index is that of the nearest start. */
  function bucketAt(u: uPlot, left = u.cursor.left ?? 0): number {
    const at = u.posToVal(left, "x");
    const index = latest.current.starts.findLastIndex((start) => start <= at);
    return Math.max(0, index);
  }

  /** The middle of a bucket, in pixels from the chart's left edge. */
  function middleOf(u: uPlot, bucket: number): number {
    const left = (ms: number) => u.valToPos(ms, "x");
    return u.over.offsetLeft + (left(latest.current.starts[bucket]!) + left(endOf(bucket))) / 2;
  }

  function select({ first, last }: Selection) {
    anchor.current = null;
    plot.current?.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    latest.current.onSelect?.({ fromMs: latest.current.starts[first]!, toMs: endOf(last) });
  }

  function selectPixels(u: uPlot, left: number, right: number) {
    container.current?.focus({ preventScroll: true });
    select({ first: bucketAt(u, left), last: bucketAt(u, Math.max(left, right - 1)) });
  }

  /** Moves the cursor to a bucket, and draws the keyboard's selection. */
  function moveTo(index: number) {
    const u = plot.current!;
    const left = (ms: number) => u.valToPos(ms, "x");
    const [first, last] = [
      Math.min(anchor.current ?? index, index),
      Math.max(anchor.current ?? index, index),
    ];
    const isSelecting = anchor.current !== null && anchor.current !== index;
    const from = left(starts[first]!);
    const width = isSelecting ? left(endOf(last)) - from : 0;
    u.setSelect({ left: from, top: 0, width, height: u.over.clientHeight }, false);
    u.setCursor({ left: (left(starts[index]!) + left(endOf(index))) / 2, top: 0 });
    lastActive.current = index;
  }

  function onKey(event: KeyboardEvent) {
    const last = starts.length - 1;
    const current = lastActive.current ?? last;
    const targets: Record<string, number> = {
      ArrowLeft: lastActive.current === null ? last : current - 1,
      ArrowRight: current + 1,
      PageUp: current - 10,
      PageDown: current + 10,
      Home: 0,
      End: last,
    };
    const target = targets[event.key];
    if (last < 0) return;
    if (target !== undefined) {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      anchor.current = event.shiftKey && onSelect ? (anchor.current ?? current) : null;
      moveTo(Math.min(last, Math.max(0, target)));
    } else if (event.key === "Enter" && lastActive.current !== null && onSelect) {
      const from = anchor.current ?? current;
      select({ first: Math.min(from, current), last: Math.max(from, current) });
    } else if (event.key === "Enter" && lastActive.current !== null && onPick) {
      onPick(current, middleOf(plot.current!, current));
    } else if (event.key === "Escape" && anchor.current !== null) {
      anchor.current = null;
      moveTo(current);
    } else if (event.key === "Escape" && onZoomOut) {
      onZoomOut();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function leave() {
    anchor.current = null;
    plot.current?.setCursor({ left: -10, top: -10 });
  }

  const shown = active !== null && active < starts.length ? active : null;
  const title = shown === null ? "" : labelOf(shown);
  const total = shown === null ? undefined : totals?.[shown];
  const inBucket = shown === null ? [] : marksBetween(annotations, starts[shown]!, endOf(shown));
  const text =
    shown === null
      ? undefined
      : bucketText({ title, series, bucket: shown, total, marks: inBucket, format, isPickable: !!onPick });

  return (
    <div className="relative" style={{ height }}>
      <div
        ref={container}
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, starts.length - 1)}
        aria-valuenow={shown ?? Math.max(0, starts.length - 1)}
        aria-valuetext={text ?? "No bar chosen. Use the arrow keys."}
        onKeyDown={onKey}
        onBlur={leave}
        data-picks={onPick ? "" : undefined}
        className="absolute inset-0 touch-pan-y rounded data-picks:[&_.u-over]:cursor-pointer outline-offset-[-2px] [&_.u-cursor-x]:border-faint [&_.u-select]:bg-accent/20"
      />
      {shown !== null && (
        <Readout
          title={title}
          rows={series.map(({ key, name, color, values }) => ({
            key,
            name,
            color,
            value: values[shown] ?? null,
          }))}
          total={totals ? (totals[shown] ?? null) : isStacked && series.length > 1 ? "sum" : null}
          marks={inBucket}
          hint={onPick ? "Click for events and users" : undefined}
          format={format}
          isDark={isDark}
          at={(plot.current?.cursor.left ?? 0) + (plot.current?.over.offsetLeft ?? 0)}
          width={container.current?.clientWidth ?? 0}
        />
      )}
    </div>
  );
}
