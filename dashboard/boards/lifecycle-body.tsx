import { Suspense, useEffect, useRef, useState } from "react";
import { countedWords } from "../../server/schemas/group-texts.ts";
import type { TileDataOf } from "../../server/schemas/tile-data.ts";
import { titleOf } from "../../server/schemas/tile-texts.ts";
import { bucketLabel } from "../charts/labels.ts";
import { Legend } from "../charts/legend.tsx";
import { MarkTable } from "../charts/mark-table.tsx";
import { TimeChart } from "../charts/time-chart.tsx";
import { TimeTable } from "../charts/time-table.tsx";
import { lazyPart } from "../components/lazy-part.tsx";
import { activityDrillDown } from "./activity-drill-down.ts";
import { amountText, shortAmount } from "./amounts.ts";
import { perOf, type ShownTile, useTileSource } from "./boards.ts";
import type { ChartMenuProps } from "./chart-menu.tsx";
import { NewNote } from "./new-note.tsx";
import type { BoardRange } from "./ranges.ts";
import { TileScroll } from "./tile-scroll.tsx";
import { useBoardMarks } from "./use-board-marks.ts";

const ChartMenu = lazyPart<ChartMenuProps>(async () => (await import("./chart-menu.tsx")).default);

type LifecycleBodyProps = {
  tile: ShownTile;
  data: TileDataOf<"lifecycle">;
  range: BoardRange;
  isTable: boolean;
};

const none: ReadonlySet<string> = new Set();

/** New and returning users over time. */
export function LifecycleBody({ tile, data, range, isTable }: LifecycleBodyProps) {
  const { project } = useTileSource();
  const box = useRef<HTMLDivElement>(null);
  const [height, setHeight] = useState(0);
  const [hidden, setHidden] = useState(none);
  const [picked, setPicked] = useState<{ bucket: number; leftPx: number } | null>(null);
  const [noted, setNoted] = useState<Date | null>(null);
  const { marks, omitted } = useBoardMarks(range);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  if (data.users === 0)
    return <p className="tile-empty">No {countedWords(perOf(tile))[0]} was active in this period.</p>;
  const starts = data.starts.map((start) => Date.parse(start));
  const endMs = Date.parse(data.to);
  const series = [
    { key: "returning" as const, name: "Returning", color: 0, values: data.returning },
    { key: "new" as const, name: "New", color: 2, values: data.new },
  ];
  const shown = series.filter(({ key }) => !hidden.has(key));
  const isLastPartial = endMs > Date.now() - 60_000;
  if (isTable)
    return (
      <TileScroll label={`${titleOf(tile)}, as a table`}>
        <TimeTable
          caption={`Times without ${countedWords(perOf(tile))[1]} are left out.`}
          {...{ starts, endMs, series, format: amountText, isLastPartial }}
        />
        {project !== null && <MarkTable marks={marks} omitted={omitted} project={project} />}
      </TileScroll>
    );

  function menuOf({ bucket, leftPx }: NonNullable<typeof picked>): ChartMenuProps | null {
    const linkTo = (users: "new" | "returning" | "all") =>
      activityDrillDown(tile, data, { period: bucket, start: data.starts[bucket]!, users });
    const all = linkTo("all");
    if (project === null || !all) return null;
    const leading = shown.map(({ key, name, color, values }) => {
      return { key, name, color, value: amountText(values[bucket]!), drillDown: linkTo(key)! };
    });
    const close = () => {
      setPicked(null);
      box.current?.querySelector<HTMLElement>("[role=slider]")?.focus();
    };
    const title = bucketLabel(starts[bucket]!, starts[bucket + 1] ?? endMs);
    const annotate = () => setNoted(new Date(starts[bucket]!));
    return { project, title, series: leading, users: all, counted: perOf(tile), leftPx, close, annotate };
  }
  const menu = picked && picked.bucket < starts.length ? menuOf(picked) : null;
  return (
    <div className="tile-chart">
      <div ref={box} className="tile-plot">
        {height > 0 && (
          <TimeChart
            label={titleOf(tile)}
            kind="bars"
            isStacked
            {...{
              starts,
              endMs,
              height,
              isLastPartial,
              series: shown,
              format: amountText,
              annotations: marks,
            }}
            {...(project !== null && {
              onPick: (bucket: number, leftPx: number) => setPicked({ bucket, leftPx }),
            })}
          />
        )}
        {menu && (
          <Suspense fallback={null}>
            <ChartMenu key={picked!.bucket} {...menu} />
          </Suspense>
        )}
        {noted && <NewNote at={noted} close={() => setNoted(null)} />}
      </div>
      <div className="tile-legend">
        <Legend
          items={series.map(({ key, name, color, values }) => {
            // Users who return count in each period, so that only new ones add up.
            const total = values.reduce((sum, count) => sum + count, 0);
            return { key, name, color, ...(key === "new" && { total: shortAmount(total) }) };
          })}
          hidden={hidden}
          toggle={(key) => {
            const next = new Set(hidden);
            if (!next.delete(key)) next.add(key);
            setHidden(next);
          }}
        />
      </div>
    </div>
  );
}
