import { Suspense, useEffect, useRef, useState } from "react";
import type { TileDataOf } from "../../server/schemas/tile-data.ts";
import { labelOf, metricText, overlapText, titleOf } from "../../server/schemas/tile-texts.ts";
import { assignChannelColors } from "../channels/channel-colors.ts";
import { useChannelColors } from "../channels/use-channel-colors.ts";
import { colorsOfValues, distinctColors, type SeriesColor } from "../charts/colors.ts";
import { bucketLabel } from "../charts/labels.ts";
import { Legend } from "../charts/legend.tsx";
import { MarkTable } from "../charts/mark-table.tsx";
import { TimeChart, type TimeSeries } from "../charts/time-chart.tsx";
import { TimeTable } from "../charts/time-table.tsx";
import { lazyPart } from "../components/lazy-part.tsx";
import { amountText, shortAmount } from "./amounts.ts";
import { perOf, type ShownTile, useTileSource } from "./boards.ts";
import { isLastPartial, lastEndOf } from "./buckets.ts";
import type { ChartMenuProps } from "./chart-menu.tsx";
import { drillDownsOf } from "./drill-down.tsx";
import { NewNote } from "./new-note.tsx";
import type { BoardRange } from "./ranges.ts";
import { TileScroll } from "./tile-scroll.tsx";
import { useBoardMarks } from "./use-board-marks.ts";

const ChartMenu = lazyPart<ChartMenuProps>(async () => (await import("./chart-menu.tsx")).default);

type ChartData = TileDataOf<"line">;
/** A null value is everything, or everything else. Undefined: it is of the period before. */
type LegendSeries = TimeSeries & { total: number | null; value: string | null | undefined };
type ChartBodyProps = {
  tile: ShownTile;
  data: ChartData;
  range: BoardRange;
  /** As a table of the values and the marks. */
  isTable: boolean;
};
type Picked = { bucket: number; leftPx: number };

const kinds = { line: "line", area: "area", bar: "bars" } as const;

/** A chart over time. Areas and bars of a split are stacked. */
export function ChartBody({ tile, data, range, isTable }: ChartBodyProps) {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [picked, setPicked] = useState<Picked | null>(null);
  const [noted, setNoted] = useState<Date | null>(null);
  const [box, height] = useHeight();
  const source = useTileSource();
  const { project } = source;
  const split = "split" in tile ? tile.split : undefined;
  const isSplit = split !== undefined;
  // On a public board, which leads to no channels, the names alone decide.
  const channelColors = useChannelColors(project ?? "");
  const metric = "metric" in tile ? tile.metric : "events";
  const overlap = overlapText(split, perOf(tile));
  const addsUp = (metric === "events" || metric === "sum") && overlap === null;
  const { marks, omitted } = useBoardMarks(range);
  if (data.series.length === 0) return <p className="tile-empty">No events in this period.</p>;

  const values = data.series.flatMap(({ value }) => (value === null ? [] : [value]));
  const colors =
    split === "channel"
      ? distinctColors(values, assignChannelColors(values, channelColors))
      : // The same as in the feed.
        colorsOfValues(`${project ?? source.key.join(" ")} ${split}`, values);
  const colorFor = (value: string | null): SeriesColor =>
    value !== null ? (colors.get(value) ?? "rest") : isSplit ? "rest" : 0;
  const series: LegendSeries[] = data.series.map(({ value, name, values, total }) => ({
    // No value contains this character.
    key: value ?? "\0rest",
    value,
    name: labelOf({ value, name }, isSplit, metricText("metric" in tile ? tile : {})),
    color: colorFor(value),
    values,
    total,
  }));
  if (data.before && !isSplit && data.type === "line") {
    const { values, total } = data.before;
    series.push({ key: "\0before", value: undefined, name: "Before", color: "rest", values, total });
  }
  const shown = series.filter(({ key }) => !hidden.has(key));
  const starts = data.starts.map((start) => Date.parse(start));
  const endMs = lastEndOf(data);

  function menuOf({ bucket, leftPx }: Picked): ChartMenuProps | null {
    const bounds = {
      from: new Date(Math.max(starts[bucket]!, Date.parse(data.from))).toISOString(),
      to: new Date(starts[bucket + 1] ?? data.to).toISOString(),
    };
    const all = drillDownsOf(tile, { data, range, bucket: bounds });
    if (project === null || !all) return null;
    const leading = shown.flatMap(({ key, value, name, color, values: amounts }) => {
      const amount = amounts[bucket];
      if (value === undefined || !amount) return [];
      const part = value === null ? { not: isSplit ? values : [] } : { value };
      const drillDown = drillDownsOf(tile, { data, range, bucket: bounds, part })?.main;
      return drillDown === undefined ? [] : [{ key, name, color, value: amountText(amount), drillDown }];
    });
    const title = bucketLabel(starts[bucket]!, starts[bucket + 1] ?? endMs);
    const close = () => {
      setPicked(null);
      box.current?.querySelector<HTMLElement>("[role=slider]")?.focus();
    };
    const annotate = () => setNoted(new Date(starts[bucket]!));
    const { events, users } = all;
    return { project, title, series: leading, events, users, counted: perOf(tile), leftPx, close, annotate };
  }
  if (isTable)
    return (
      <TileScroll label={`${titleOf(tile)}, as a table`}>
        <TimeTable
          caption="Times without events are left out."
          {...{ starts, endMs, series, format: amountText, isLastPartial: isLastPartial(data) }}
        />
        {project !== null && <MarkTable marks={marks} omitted={omitted} project={project} />}
      </TileScroll>
    );
  const menu = picked && picked.bucket < starts.length ? menuOf(picked) : null;
  const leadsOn = project !== null && "q" in tile;

  return (
    <div className="tile-chart">
      <div ref={box} className="tile-plot">
        {height > 0 && (
          <TimeChart
            label={titleOf(tile)}
            kind={kinds[data.type]}
            isStacked={data.type !== "line"}
            isLastPartial={isLastPartial(data)}
            starts={starts}
            endMs={endMs}
            series={shown}
            totals={totalsOf(data, shown, { isSplit, addsUp, isWhole: hidden.size === 0 })}
            height={height}
            isCount={metric === "events" || metric === "users"}
            format={amountText}
            annotations={marks}
            {...(leadsOn && { onPick: (bucket: number, leftPx: number) => setPicked({ bucket, leftPx }) })}
          />
        )}
        {menu && (
          <Suspense fallback={null}>
            <ChartMenu key={picked!.bucket} {...menu} />
          </Suspense>
        )}
        {noted && <NewNote at={noted} close={() => setNoted(null)} />}
      </div>
      {series.length > 1 && (
        <div className="tile-legend">
          {overlap && <p className="tile-overlap">{overlap}</p>}
          <Legend
            items={series.map(({ key, name, color, total }) => ({
              key,
              name,
              color,
              total: shortAmount(total),
            }))}
            hidden={hidden}
            toggle={(key) => {
              const next = new Set(hidden);
              if (!next.delete(key)) next.add(key);
              setHidden(next);
            }}
          />
        </div>
      )}
    </div>
  );
}

/**
 * The total of all series in each bucket. Events and sums add up. Users and groups don't, because a user or an event can
 * be in several series, and averages don't either: their total is known only if all series are shown.
 */
function totalsOf(
  data: ChartData,
  shown: readonly LegendSeries[],
  { isSplit, addsUp, isWhole }: { isSplit: boolean; addsUp: boolean; isWhole: boolean },
): readonly (number | null)[] | undefined {
  if (!isSplit || shown.length < 2) return undefined;
  if (isWhole) return data.values;
  if (!addsUp) return data.values.map(() => null);
  return data.starts.map((_, bucket) => shown.reduce((sum, { values }) => sum + (values[bucket] ?? 0), 0));
}

/** An element's height in pixels, which follows its tile's. */
function useHeight(): [ref: React.RefObject<HTMLDivElement | null>, height: number] {
  const ref = useRef<HTMLDivElement>(null);
  const [height, setHeight] = useState(0);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, height];
}
