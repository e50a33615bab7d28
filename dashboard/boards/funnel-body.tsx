import { Fragment } from "react";
import { countedTitle, countedWords } from "../../server/schemas/group-texts.ts";
import type { TileDataOf } from "../../server/schemas/tile-data.ts";
import { labelOf, overlapText, splitHead, titleOf } from "../../server/schemas/tile-texts.ts";
import { secondsText } from "../components/durations.ts";
import { formatShare } from "../components/locale.ts";
import { amountText, changeText, stepText } from "./amounts.ts";
import { perOf, type ShownTile, useTileSource } from "./boards.ts";
import { DrillDownLink, stepDrillDown } from "./drill-down.tsx";
import { TileScroll } from "./tile-scroll.tsx";

/**
 * A funnel's steps, each with a bar for the users who got there, and who dropped out after it; of a split, the shares
 * of each value.
 */
export function FunnelBody({ tile, data }: { tile: ShownTile; data: TileDataOf<"funnel"> }) {
  const { project } = useTileSource();
  const { steps, series, before } = data;
  const title = titleOf(tile);
  const several = countedWords(perOf(tile))[1];
  const overlap = overlapText(splitOf(tile), perOf(tile));
  if (!steps[0] || steps[0].users === 0)
    return <p className="tile-empty">No {several} took the first step in this period.</p>;
  const labels = steps.map((_, index) => stepText(tile, index));
  return (
    <TileScroll label={`Steps of ${title}`}>
      <ol>
        {steps.map(({ users, conversion, medianSeconds }, index) => {
          const next = steps[index + 1];
          const dropped = next ? users - next.users : 0;
          const change = before?.[index] && changeText(users, before[index].users);
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: two steps can have the same name
            <Fragment key={index}>
              <li className="tile-step">
                <p>
                  <span className="hostile-line">{labels[index]}</span>
                  <DrillDownLink
                    project={project}
                    drillDown={stepDrillDown(tile, data, index + 1)}
                    className="tile-drill-down font-semibold"
                    more={` ${several} took “${labels[index]}”: show them`}
                  >
                    {amountText(users)}
                  </DrillDownLink>
                  <span title={`Of the ${several} that took the first step`}>
                    {formatShare(conversion ?? 0)}
                  </span>
                </p>
                <div className="tile-step-bar">
                  <span style={{ width: `${(conversion ?? 0) * 100}%` }} />
                </div>
                <p className="tile-step-note">
                  {change && (
                    <span title={`Before: ${amountText(before[index]!.users)} ${several}`}>{change}</span>
                  )}
                  {medianSeconds !== null && <span>typically after {secondsText(medianSeconds)}</span>}
                </p>
              </li>
              {next && users > 0 && (
                <li className="tile-drop">
                  <DrillDownLink
                    project={project}
                    drillDown={stepDrillDown(tile, data, index + 1, { isDropped: true })}
                    className="tile-drill-down"
                    more={` ${several}, after “${labels[index]}”: show them`}
                  >
                    −{formatShare(dropped / users)} dropped out
                    <span className="text-faint"> · {amountText(dropped)}</span>
                  </DrillDownLink>
                </li>
              )}
            </Fragment>
          );
        })}
      </ol>
      {series && series.length > 0 && (
        <table className="tile-table">
          {overlap && <caption className="tile-caption">{overlap}</caption>}
          <thead>
            <tr>
              <th scope="col">
                {/^(?:user|group)\./.test(splitOf(tile)!) ? splitHead(splitOf(tile)!) : "First step by"}
              </th>
              <th scope="col">{countedTitle(perOf(tile))}</th>
              <th scope="col">All steps</th>
            </tr>
          </thead>
          <tbody>
            {series.map((each) => {
              const { value, steps } = each;
              const name = labelOf(each, true);
              const ofValue = value === null ? null : { value };
              return (
                <tr key={value ?? "\0"}>
                  <th scope="row">
                    <span className="hostile-line">{name}</span>
                  </th>
                  <td>
                    <DrillDownLink
                      project={project}
                      drillDown={ofValue && stepDrillDown(tile, data, 1, ofValue)}
                      className="tile-drill-down"
                      more={` ${several} of ${name}: show them`}
                    >
                      {amountText(steps[0]?.users ?? 0)}
                    </DrillDownLink>
                  </td>
                  <td>
                    <DrillDownLink
                      project={project}
                      drillDown={ofValue && stepDrillDown(tile, data, steps.length, ofValue)}
                      className="tile-drill-down"
                      more={` of ${name} took all steps: show them`}
                    >
                      {formatShare(steps.at(-1)?.conversion ?? 0)}
                    </DrillDownLink>
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </TileScroll>
  );
}

function splitOf(tile: ShownTile): string | undefined {
  return "split" in tile ? tile.split : undefined;
}
