import type { TileDataOf } from "../../server/schemas/tile-data.ts";
import { othersText, titleOf } from "../../server/schemas/tile-texts.ts";
import { formatShare } from "../components/locale.ts";
import { amountText } from "./amounts.ts";
import { type ShownTile, useTileSource } from "./boards.ts";
import { DrillDownLink } from "./drill-down.tsx";
import { pathDrillDown } from "./path-drill-down.ts";
import { TileScroll } from "./tile-scroll.tsx";

type PathsData = TileDataOf<"paths">;
type Props = {
  tile: ShownTile;
  data: PathsData;
  /** The name of the event that paths begin or end at. */
  anchor: string;
};

/** Paths as a table: for each step, who came from where, and whose path ended there. */
export function PathsTable({ tile, data, anchor }: Props) {
  const { project } = useTileSource();
  const { nodes, links, direction } = data;
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const nameOf = (id: string) => {
    const node = byId.get(id)!;
    return node.step === 0 ? anchor : (node.name ?? othersText(node));
  };
  const nothing = direction === "before" ? "Nothing before" : "Nothing more";
  const rows = nodes.flatMap(({ id, step, users, ended }) => [
    ...links
      .filter(({ source }) => source === id)
      .toSorted((a, b) => b.users - a.users)
      .map((link) => ({
        ...{ step: step + 1, source: id, target: link.target, name: nameOf(link.target) },
        ...{ users: link.users, share: link.users / users },
      })),
    ...(ended
      ? [{ step: step + 1, source: id, target: "end", name: nothing, users: ended, share: ended / users }]
      : []),
  ]);
  return (
    <TileScroll label={`${titleOf(tile)}, as a table`}>
      <table className="tile-table tile-paths-table">
        <caption className="tile-caption">
          {amountText(data.users)} users, {direction} their first{" "}
          {anchor === "Any event" ? "event" : quoted(anchor)} in this period
        </caption>
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col">{direction === "before" ? "Before" : "After"}</th>
            <th scope="col">Event</th>
            <th scope="col">Users</th>
            <th scope="col">Share</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ step, source, target, name, users, share }) => (
            <tr key={`${source} ${target}`}>
              <td>{step}</td>
              <td>
                <span className="hostile-line">{nameOf(source)}</span>
              </td>
              <th scope="row">
                <span className={`hostile-line ${target === "end" ? "text-muted" : ""}`}>{name}</span>
              </th>
              <td>
                <DrillDownLink
                  project={project}
                  drillDown={pathDrillDown(tile, data, target, source)}
                  className="tile-drill-down"
                  more={` users, ${name} ${direction} ${nameOf(source)}: show them`}
                >
                  {amountText(users)}
                </DrillDownLink>
              </td>
              <td>{formatShare(share)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TileScroll>
  );
}

/** "“Order placed”", or "an event". */
export function quoted(anchor: string): string {
  return anchor === "Any event" ? "an event" : `“${anchor}”`;
}
