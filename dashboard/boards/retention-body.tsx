import { countedTitle, countedWords } from "../../server/schemas/group-texts.ts";
import { stepNameOf } from "../../server/schemas/step-name.ts";
import type { TileDataOf } from "../../server/schemas/tile-data.ts";
import { titleOf } from "../../server/schemas/tile-texts.ts";
import { formatDate } from "../components/dates.ts";
import { formatShare } from "../components/locale.ts";
import { amountText } from "./amounts.ts";
import { perOf, type ShownTile, useTileSource } from "./boards.ts";
import { cohortDrillDown, DrillDownLink } from "./drill-down.tsx";
import { TileScroll } from "./tile-scroll.tsx";

/**
 * How much of the accent color a share of 100 % has, in percent. The muted text of weeks that aren't over needs a lighter
 * one (WCAG 2.2, 1.4.3).
 */
const shadeMax = 45;
const unfinishedShadeMax = 20;
/** Seven days may be an hour short. */
const weekMs = (7 * 24 - 1) * 3_600_000;

/** For each week, how many of its new users came back in the weeks after. Darker cells are larger shares. */
export function RetentionBody({ tile, data }: { tile: ShownTile; data: TileDataOf<"retention"> }) {
  const { project } = useTileSource();
  const { cohorts, starts, users, first } = data;
  if (users === 0)
    return <p className="tile-empty">{perOf(tile) ? `No ${perOf(tile)}` : "Nobody"} began in this period.</p>;
  const last = starts.length - 1;
  const isLastOver = Date.parse(data.to) - Date.parse(starts[last]!) >= weekMs;
  return (
    <TileScroll className="tile-scroll tile-rows" label={`Table of ${titleOf(tile)}`}>
      <table className="tile-retention">
        <caption className="tile-caption">
          By the week of their first {startText(tile)} {first === "range" ? "in this period" : "ever"}
        </caption>
        <thead>
          <tr>
            <th className="font-normal text-muted" scope="col">
              Week of
            </th>
            <th className="font-normal text-muted" scope="col">
              {countedTitle(perOf(tile))}
            </th>
            {starts.slice(1).map((start, index) => (
              <th
                key={start}
                className="font-normal text-muted"
                scope="col"
                abbr={laterText(index + 1)}
                title={`Came back ${laterText(index + 1)}`}
              >
                Week {index + 1}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {cohorts.map(({ users, returned }, index) => (
            <tr key={starts[index]}>
              <th className="font-normal text-muted" scope="row">
                {formatDate(starts[index]!, "day")}
              </th>
              <td>
                <DrillDownLink
                  project={project}
                  drillDown={users > 0 ? cohortDrillDown(tile, data, index) : null}
                  className="tile-drill-down"
                  more={` ${countedWords(perOf(tile))[1]} began in this week: show them`}
                >
                  {amountText(users)}
                </DrillDownLink>
              </td>
              {returned.slice(1).map((count, week) => {
                const share = users === 0 ? 0 : count / users;
                const isOver = isLastOver || index + week + 1 < last;
                const shade = Math.round(share * (isOver ? shadeMax : unfinishedShadeMax));
                const counted = `${amountText(count)} of ${amountText(users)}`;
                return (
                  <td
                    key={starts[index + week + 1]}
                    title={`${counted}${isOver ? "" : " so far: this week isn't over"}`}
                    // Low only because days are missing, which must not look like users who left.
                    className={isOver ? "" : "text-muted italic"}
                    style={{
                      background: `color-mix(in srgb, var(--accent) ${shade}%, transparent)`,
                    }}
                  >
                    {users > 0 && (
                      <DrillDownLink
                        project={project}
                        drillDown={count > 0 ? cohortDrillDown(tile, data, index, week + 1) : null}
                        className="tile-drill-down"
                        more={` (${counted}) came back ${laterText(week + 1)}${isOver ? "" : " so far"}: show them`}
                      >
                        {formatShare(share)}
                      </DrillDownLink>
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </TileScroll>
  );
}

/**
 * The event that users begin with: "event", "“Order placed”", "event in “orders”". Public boards don't have the search.
 */
function startText(tile: ShownTile): string {
  if (!("again" in tile)) return "matching event";
  if (tile.q.trim() === "") return "event";
  const name = stepNameOf(tile.q, undefined);
  if (name === null) return "matching event";
  return tile.q.trimStart().startsWith("channel:") ? `event in “${name}”` : `“${name}”`;
}

function laterText(weeks: number): string {
  return weeks === 1 ? "a week later" : `${weeks} weeks later`;
}
