import { countedWords } from "../../server/schemas/group-texts.ts";
import type { TileDataOf } from "../../server/schemas/tile-data.ts";
import { titleOf } from "../../server/schemas/tile-texts.ts";
import { countOf } from "../components/counts.ts";
import { formatShare } from "../components/locale.ts";
import { activityDrillDown } from "./activity-drill-down.ts";
import { amountText } from "./amounts.ts";
import { perOf, type ShownTile, useTileSource } from "./boards.ts";
import { DrillDownLink } from "./drill-down.tsx";
import { TileScroll } from "./tile-scroll.tsx";

type StickinessData = TileDataOf<"stickiness">;

const windowNames: Record<number, string> = { 7: "DAU/WAU", 30: "DAU/MAU" };

/** On how many days users were active, and which share of a week's and a month's users is active on a day. */
export function StickinessBody({ tile, data }: { tile: ShownTile; data: StickinessData }) {
  const { project } = useTileSource();
  const { users, average, stickiness, distribution, ratios, by } = data;
  const [one, several] = countedWords(perOf(tile));
  if (users === 0) return <p className="tile-empty">No {one} was active in this period.</p>;
  const most = Math.max(...distribution);
  const last = distribution.findLastIndex((count) => count > 0);
  const links = (which: Parameters<typeof activityDrillDown>[2]) => activityDrillDown(tile, data, which);
  return (
    <TileScroll label={`Numbers of ${titleOf(tile)}`}>
      <dl className="tile-facts">
        {ratios.map((window) => (
          <div key={window.days}>
            <dt>{windowNames[window.days]}</dt>
            <dd>
              {formatShare(window.ratio ?? 0)}
              <span className="font-normal text-muted">
                {" "}
                {amountText(Math.round(window.average))} of{" "}
                <DrillDownLink
                  project={project}
                  drillDown={links({ last: window.days })}
                  className="tile-drill-down"
                  more={` ${several} of the last ${window.days} days: show them`}
                >
                  {amountText(window.users)}
                </DrillDownLink>
              </span>
            </dd>
          </div>
        ))}
        <div>
          <dt>An average {by}</dt>
          <dd>
            {formatShare(stickiness ?? 0)}
            <span className="font-normal text-muted">
              {" "}
              {amountText(Math.round(average))} of {amountText(users)}
            </span>
          </dd>
        </div>
      </dl>
      <ol className="tile-times">
        {distribution.slice(0, last + 1).map((count, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: each is a number of days
          <li key={index}>
            <span className="text-muted">{countOf(index + 1, by)}</span>
            <span className="tile-step-bar" aria-hidden>
              <span style={{ width: `${(count / most) * 100}%` }} />
            </span>
            <DrillDownLink
              project={project}
              drillDown={count > 0 ? links({ periods: index + 1 }) : null}
              className="tile-drill-down text-right"
              more={` ${several} (${formatShare(count / users)}) were active on so many ${by}s: show them`}
            >
              {amountText(count)}
            </DrillDownLink>
          </li>
        ))}
      </ol>
    </TileScroll>
  );
}
