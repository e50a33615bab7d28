import { clsx } from "clsx";
import { ArrowDown, ArrowUp } from "lucide-react";
import type { CSSProperties } from "react";
import type { TileDataOf } from "../../server/schemas/tile-data.ts";
import { metricText } from "../../server/schemas/tile-texts.ts";
import { amountText, changeOf } from "./amounts.ts";
import { type ShownTile, useTileSource } from "./boards.ts";
import { isLastPartial } from "./buckets.ts";
import { DrillDownLink, drillDownsOf } from "./drill-down.tsx";
import type { BoardRange } from "./ranges.ts";
import { Sparkline } from "./sparkline.tsx";

type NumberProps = { tile: ShownTile; data: TileDataOf<"number">; range: BoardRange };

/** A number as large as its tile allows, its change, and a small line. */
export function NumberBody({ tile, data, range }: NumberProps) {
  const { project } = useTileSource();
  const metric = metricText("metric" in tile ? tile : {});
  return (
    <div className="tile-number">
      <p
        className="tile-value"
        style={charactersOf(amountText(data.value))}
        title={`${metric}: ${amountText(data.value)}`}
      >
        <DrillDownLink
          project={project}
          drillDown={data.value === null ? null : drillDownsOf(tile, { data, range })?.main}
          className="tile-drill-down"
          more={` (${metric}): show what is counted`}
        >
          {amountText(data.value)}
        </DrillDownLink>
      </p>
      <Change value={data.value} before={data.before} />
      <Sparkline values={data.values} isLastPartial={isLastPartial(data)} />
    </div>
  );
}

/** The length of a number, which its size depends on. */
export function charactersOf(text: string): CSSProperties {
  return { "--characters": text.length } as CSSProperties;
}

type ChangeProps = { value: number | null; before: number | null | undefined; compact?: boolean };

/**
 * "12% from 1,020", with an arrow: the change against the period before. Not by color alone, and more is not always
 * better.
 */
export function Change({ value, before, compact = false }: ChangeProps) {
  const change = changeOf(value, before);
  if (!change) return null;
  const { text, isUp, isSame } = change;
  const Arrow = isUp ? ArrowUp : ArrowDown;
  return (
    <p
      className={clsx("tile-change", isSame ? "text-faint" : "text-muted")}
      title={`Before: ${amountText(before ?? null)}`}
    >
      {!isSame && <Arrow aria-hidden className="tile-arrow" />}
      {!isSame && <span className="sr-only">{isUp ? "Up " : "Down "}</span>}
      <span className={clsx(!isSame && "font-medium text-ink")}>{text}</span>
      {!compact && before !== null && before !== undefined && !isSame && ` from ${amountText(before)}`}
    </p>
  );
}
