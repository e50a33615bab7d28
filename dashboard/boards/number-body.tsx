import { clsx } from "clsx";
import { ArrowDown, ArrowUp } from "lucide-react";
import type { CSSProperties } from "react";
import type { TileDataOf } from "../../server/schemas/tile-data.ts";
import { metricText } from "../../server/schemas/tile-texts.ts";
import { changeOf, withUnit } from "./amounts.ts";
import { type ShownTile, useTileSource } from "./boards.ts";
import { isLastPartial } from "./buckets.ts";
import { DrillDownLink, drillDownsOf } from "./drill-down.tsx";
import type { BoardRange } from "./ranges.ts";
import { Sparkline } from "./sparkline.tsx";

type NumberProps = { tile: ShownTile; data: TileDataOf<"number">; range: BoardRange };

/** A number as large as its tile allows, its change, and a small line. */
export function NumberBody({ tile, data, range }: NumberProps) {
  const { project } = useTileSource();
  const metric = metricText("metric" in tile || "show" in tile ? tile : {});
  // Of other times than the board's.
  const bucket = "show" in tile && tile.show === "live" ? { from: data.from, to: data.to } : undefined;
  const drillDowns = drillDownsOf(tile, { data, range, ...(bucket && { bucket }) });
  return (
    <div className="tile-number">
      <p
        className="tile-value"
        style={charactersOf(withUnit(data.value, data.unit))}
        title={`${metric}: ${withUnit(data.value, data.unit)}`}
      >
        <DrillDownLink
          project={project}
          drillDown={data.value === null ? null : drillDowns?.main}
          className="tile-drill-down"
          more={` (${metric}): show what is counted`}
        >
          {withUnit(data.value, data.unit)}
        </DrillDownLink>
      </p>
      <Change value={data.value} before={data.before} unit={data.unit} />
      <Sparkline values={data.values} isLastPartial={isLastPartial(data)} />
    </div>
  );
}

/** The length of a number, which its size depends on. */
export function charactersOf(text: string): CSSProperties {
  return { "--characters": text.length } as CSSProperties;
}

type ChangeProps = {
  value: number | null;
  before: number | null | undefined;
  compact?: boolean;
  unit?: TileDataOf<"number">["unit"];
};

/**
 * "12% from 1,020", with an arrow: the change against the period before. Not by color alone, and more is not always
 * better.
 */
export function Change({ value, before, compact = false, unit }: ChangeProps) {
  const change = changeOf(value, before);
  if (!change) return null;
  const { text, isUp, isSame } = change;
  const Arrow = isUp ? ArrowUp : ArrowDown;
  return (
    <p
      className={clsx("tile-change", isSame ? "text-faint" : "text-muted")}
      title={`Before: ${withUnit(before ?? null, unit)}`}
    >
      {!isSame && <Arrow aria-hidden className="tile-arrow" />}
      {!isSame && <span className="sr-only">{isUp ? "Up " : "Down "}</span>}
      <span className={clsx(!isSame && "font-medium text-ink")}>{text}</span>
      {!compact && before !== null && before !== undefined && !isSame && ` from ${withUnit(before, unit)}`}
    </p>
  );
}
