import { useEffect, useRef, useState } from "react";
import type { TileDataOf } from "../../server/wire/tile-data.ts";
import { assignChannelColors } from "../channels/channel-colors.ts";
import { useChannelColors } from "../channels/use-channel-colors.ts";
import { assignColors, type SeriesColor } from "../charts/colors.ts";
import { Legend } from "../charts/legend.tsx";
import { TimeChart, type TimeSeries } from "../charts/time-chart.tsx";
import { amountText, labelOf, metricText, shortAmount, titleOf } from "./amounts.ts";
import { type ShownTile, useTileSource } from "./boards.ts";

type ChartData = TileDataOf<"line">;
type LegendSeries = TimeSeries & { total: number | null };

const kinds = { line: "line", area: "area", bar: "bars" } as const;

/** A chart over time. Areas and bars of a split are stacked. */
export function ChartBody({ tile, data }: { tile: ShownTile; data: ChartData }) {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [box, height] = useHeight();
  /** A value keeps its color while others come and go. */
  const colors = useRef<Map<string, number>>(new Map());
  const isSplit = "split" in tile && tile.split !== undefined;
  // On a public board, which leads to no channels, the names alone decide.
  const channelColors = useChannelColors(useTileSource().project ?? "");
  const isCount = !("metric" in tile) || tile.metric === "events" || tile.metric === "users";
  if (data.series.length === 0) return <p className="tile-empty">No events in this period.</p>;

  const values = data.series.flatMap(({ value }) => (value === null ? [] : [value]));
  colors.current = assignColors(values, colors.current);
  const isByChannel = "split" in tile && tile.split === "channel";
  const shownColors = isByChannel ? assignChannelColors(values, channelColors) : colors.current;
  const colorFor = (value: string | null): SeriesColor =>
    value !== null ? (shownColors.get(value) ?? "rest") : isSplit ? "rest" : 0;
  const series: LegendSeries[] = data.series.map(({ value, values, total }) => ({
    // No value contains this character.
    key: value ?? "\0rest",
    name: labelOf(value, isSplit, metricText("metric" in tile ? tile : {})),
    color: colorFor(value),
    values,
    total,
  }));
  if (data.before && !isSplit && data.type === "line") {
    const { values, total } = data.before;
    series.push({ key: "\0before", name: "Before", color: "rest", values, total });
  }
  const shown = series.filter(({ key }) => !hidden.has(key));
  return (
    <div className="tile-chart">
      <div ref={box} className="tile-plot">
        {height > 0 && (
          <TimeChart
            label={titleOf(tile)}
            kind={kinds[data.type]}
            isStacked={data.type !== "line"}
            starts={data.starts.map((start) => Date.parse(start))}
            endMs={Date.parse(data.to)}
            series={shown}
            height={height}
            isCount={isCount}
            format={amountText}
          />
        )}
      </div>
      {series.length > 1 && (
        <div className="tile-legend">
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
