import { countedWords } from "../../server/schemas/group-texts.ts";
import type { TileDataOf } from "../../server/schemas/tile-data.ts";
import { labelOf, metricText, overlapText, splitHead, titleOf } from "../../server/schemas/tile-texts.ts";
import { assignChannelColors, suggestedColor } from "../channels/channel-colors.ts";
import { useChannelColors } from "../channels/use-channel-colors.ts";
import { ChannelMark } from "../components/channel-mark.tsx";
import { formatShare } from "../components/locale.ts";
import { amountText } from "./amounts.ts";
import { perOf, type ShownTile, useTileSource } from "./boards.ts";
import { DrillDownLink, drillDownsOf } from "./drill-down.tsx";
import { Change } from "./number-body.tsx";
import type { BoardRange } from "./ranges.ts";

type Props = { tile: ShownTile; data: TileDataOf<"table">; range: BoardRange };

/** The largest values of a split, each with a bar for its share. */
export function TableBody({ tile, data, range }: Props) {
  const { project } = useTileSource();
  const channelColors = useChannelColors(project ?? "");
  const split = "split" in tile && tile.split ? tile.split : "name";
  if (data.rows.length === 0) return <p className="tile-empty">No events in this period.</p>;
  // Others together may be far more than each row.
  const shares = data.rows.map(({ value, total }) => (value === null ? 0 : Math.abs(total ?? 0)));
  const largest = Math.max(...shares, 0) || 1;
  const values = data.rows.flatMap(({ value }) => value ?? []);
  const colors = assignChannelColors(values, channelColors);
  const drillDowns = data.rows.map(({ value }) =>
    drillDownsOf(tile, { data, range, part: value === null ? { not: values } : { value } }),
  );
  const nameOf = (row: (typeof data.rows)[number]) =>
    (split === "tag.country" && countryOf(row.value)) || labelOf(row, true);
  const overlap = overlapText(split, perOf(tile));
  const several = countedWords(perOf(tile))[1];
  const metric = metricText("metric" in tile || "show" in tile ? tile : {});
  // Users with an event of the value are others than those whose sessions begin or end with it.
  const countsSessions = "show" in tile;
  const compares = data.rows.some(({ before }) => before !== undefined);
  const isShare = "metric" in tile ? tile.metric === "events" || tile.metric === "sum" : "show" in tile;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable by keyboard
    <section className="tile-scroll tile-rows" tabIndex={0} aria-label={`Table of ${titleOf(tile)}`}>
      <table className="tile-table">
        {overlap && <caption className="tile-caption">{overlap}</caption>}
        <thead>
          <tr>
            <th scope="col">{splitHead(split)}</th>
            <th scope="col" title={metric}>
              {metric}
            </th>
            {compares && (
              <th scope="col" title="Against the period before">
                Change
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {data.rows.map((row, index) => (
            <tr key={row.value ?? "\0"}>
              <th scope="row">
                <span
                  aria-hidden
                  className="tile-bar"
                  style={{ width: `${(shares[index]! / largest) * 100}%` }}
                />
                {split === "channel" && row.value !== null && (
                  <ChannelMark
                    color={colors.get(row.value) ?? suggestedColor(row.value)}
                    className="mr-1.5"
                  />
                )}
                <span className="hostile-line">
                  <DrillDownLink
                    project={project}
                    drillDown={drillDowns[index]?.events}
                    className="hover:underline"
                  >
                    {nameOf(row)}
                  </DrillDownLink>
                </span>
              </th>
              <td title={isShare && data.total ? formatShare((row.total ?? 0) / data.total) : undefined}>
                <DrillDownLink
                  project={project}
                  drillDown={countsSessions ? undefined : drillDowns[index]?.users}
                  className="tile-drill-down"
                  more={` (${labelOf(row, true)}): show the ${several}`}
                >
                  {amountText(row.total)}
                </DrillDownLink>
              </td>
              {compares && (
                <td>
                  <Change value={row.total} before={row.before} compact />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** "Germany" for "DE", in the reader's language; null for what is no code of a country (ISO 3166-1). */
function countryOf(value: string | null): string | null {
  if (value === null || !/^[A-Z]{2}$/.test(value)) return null;
  return new Intl.DisplayNames(navigator.languages, { type: "region" }).of(value) ?? null;
}
