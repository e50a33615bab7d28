import { useQuery } from "@tanstack/react-query";
import { Ellipsis } from "lucide-react";
import { type ReactNode, Suspense, useRef, useState } from "react";
import type { TileData } from "../../server/schemas/tile-data.ts";
import { titleOf } from "../../server/schemas/tile-texts.ts";
import { errorMessage } from "../api.ts";
import { lazyPart } from "../components/lazy-part.tsx";
import { LazyMenu } from "../components/ui/lazy-menu.tsx";
import { Skeleton } from "../components/ui/states.tsx";
import type { RuleForm } from "../rules/rule-form.ts";
import { AlertsBody } from "./alerts-body.tsx";
import { type ShownTile, tileDataQuery, useTileSource } from "./boards.ts";
import { FeedBody } from "./feed-body.tsx";
import { FunnelBody } from "./funnel-body.tsx";
import { NumberBody } from "./number-body.tsx";
import type { PathsBodyProps } from "./paths-body.tsx";
import type { BoardRange } from "./ranges.ts";
import { RetentionBody } from "./retention-body.tsx";
import { StickinessBody } from "./stickiness-body.tsx";
import { TableBody } from "./table-body.tsx";
import type { TileMenuProps } from "./tile-menu.tsx";
import { TimesBody } from "./times-body.tsx";
import { ValueBody } from "./value-body.tsx";

const ChartBody = lazyPart(async () => (await import("./chart-body.tsx")).ChartBody);
const LifecycleBody = lazyPart(async () => (await import("./lifecycle-body.tsx")).LifecycleBody);
const PathsBody = lazyPart<PathsBodyProps>(async () => (await import("./paths-body.tsx")).default);
const Markdown = lazyPart<{ text: string }>(async () => (await import("../event/markdown.tsx")).default);
const NewRuleDialog = lazyPart<{ close: () => void; initial?: RuleForm }>(
  async () => (await import("../rules/rule-dialogs.tsx")).NewRuleDialog,
);
const TileMenu = lazyPart<TileMenuProps>(async () => (await import("./tile-menu.tsx")).default);

type TileProps = {
  tile: ShownTile;
  range: BoardRange;
  /** Instead of the menu, while the board is edited. */
  actions?: ReactNode;
};

/** A tile: its title, menu and content. */
export function TileBox({ tile, range, actions }: TileProps) {
  const box = useRef<HTMLElement>(null);
  const [done, setDone] = useState(0);
  const [rule, setRule] = useState<RuleForm | null>(null);
  const [isTable, setTable] = useState(false);
  const { data, error, isFetching } = useQuery(tileDataQuery(useTileSource(), tile, range, setDone));
  const title = tile.title || (data?.type === "value" && data.insight?.title) || titleOf(tile);
  const isUnset = "key" in tile && tile.key === "";
  return (
    <section
      ref={box}
      aria-label={title}
      className="tile"
      data-type={tile.type}
      aria-busy={isFetching && !data}
    >
      <header className="tile-head">
        <h2 className="hostile-line">{title}</h2>
        {actions ?? (
          <LazyMenu
            menu={TileMenu}
            props={{ tile, data, range, box, alert: setRule, isTable, setTable }}
            label={`Menu of ${title}`}
            className="tile-menu"
          >
            <Ellipsis aria-hidden className="size-4" />
          </LazyMenu>
        )}
      </header>
      {rule && (
        <Suspense fallback={null}>
          <NewRuleDialog initial={rule} close={() => setRule(null)} />
        </Suspense>
      )}
      {isFetching && done > 0 && done < 1 && <TileProgress share={done} title={title} />}
      <div className="tile-body">
        {/* Of its own, so that the first chart doesn't hide the page while its code loads. */}
        <Suspense fallback={<Skeleton className="h-full w-full" />}>
          {tile.type === "text" ? (
            <div className="tile-text">
              <Markdown text={tile.text ?? ""} />
            </div>
          ) : isUnset ? (
            <p className="tile-empty">Enter the key of a value.</p>
          ) : error && !data ? (
            <p role="alert" className="hostile text-danger text-sm">
              {errorMessage(error)}
            </p>
          ) : data ? (
            <TileBody tile={tile} data={data} range={range} isTable={isTable} />
          ) : (
            <Skeleton className="h-full w-full" />
          )}
        </Suspense>
      </div>
    </section>
  );
}

/** How much of a long computation is done. It appears late, so that quick ones don't flicker. */
function TileProgress({ share, title }: { share: number; title: string }) {
  return (
    <div
      role="progressbar"
      aria-label={`Computing ${title}`}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
      className="tile-progress"
    >
      <div style={{ transform: `scaleX(${share})` }} />
    </div>
  );
}

type TileBodyProps = {
  tile: ShownTile;
  data: TileData;
  range: BoardRange;
  /** Whether a chart is shown as a table. */
  isTable: boolean;
};

function TileBody({ tile, data, range, isTable }: TileBodyProps) {
  switch (data.type) {
    case "number":
      return <NumberBody tile={tile} data={data} range={range} />;
    case "line":
    case "area":
    case "bar":
      return <ChartBody tile={tile} data={data} range={range} isTable={isTable} />;
    case "table":
      return <TableBody tile={tile} data={data} range={range} />;
    case "funnel":
      return "show" in tile && tile.show === "times" ? (
        <TimesBody tile={tile} data={data} />
      ) : (
        <FunnelBody tile={tile} data={data} />
      );
    case "retention":
      return <RetentionBody tile={tile} data={data} />;
    case "stickiness":
      return <StickinessBody tile={tile} data={data} />;
    case "lifecycle":
      return <LifecycleBody tile={tile} data={data} range={range} isTable={isTable} />;
    case "paths":
      return <PathsBody tile={tile} data={data} isTable={isTable} />;
    case "feed":
      return <FeedBody data={data} title={titleOf(tile)} />;
    case "alerts":
      return <AlertsBody data={data} title={titleOf(tile)} />;
    case "value":
      return <ValueBody data={data} />;
    default:
      return null;
  }
}
