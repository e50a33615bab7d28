import { type SankeyGraph, type SankeyLink, type SankeyNode, sankey } from "d3-sankey";
import type { TileDataOf } from "../../server/schemas/tile-data.ts";

type PathsData = TileDataOf<"paths">;
type Node = PathsData["nodes"][number];
type Link = { users: number; value: number };

export type LaidNode = SankeyNode<Node, Link>;
export type LaidLink = SankeyLink<Node, Link>;

export const nodeWidthPx = 8;
/** As much as a line of text needs. */
const nodeGapPx = 15;
/** Below this width, a column has no room for names. */
const columnPxMin = 92;

/** Whether a tile is wide enough for a diagram with names. */
export function hasRoom(data: PathsData, widthPx: number): boolean {
  return widthPx >= columnPxMin * columnsOf(data);
}

/** Places the nodes of paths in a column for each step, and the links between them. */
export function layOut(data: PathsData, widthPx: number, heightPx: number): SankeyGraph<Node, Link> {
  const columns = columnsOf(data);
  const isBefore = data.direction === "before";
  const columnOf = ({ step }: Node) => (isBefore ? columns - 1 - step : step);
  // Ids are unique; names would not be.
  const nodes = data.nodes.map((node) => ({ ...node, fixedValue: node.users }));
  const links = data.links.map(({ source, target, users }) =>
    isBefore
      ? { source: target, target: source, users, value: users }
      : { source, target, users, value: users },
  );
  return sankey<Node, Link>()
    .nodeId(({ id }) => id)
    .nodeAlign(columnOf)
    .nodeWidth(nodeWidthPx)
    .nodePadding(nodeGapPx)
    .extent([
      [0, 4],
      [Math.max(widthPx - widthPx / columns, 1), Math.max(heightPx - 4, 5)],
    ])({ nodes, links });
}

/** Steps without a node have no column. */
function columnsOf({ nodes }: PathsData): number {
  return Math.max(...nodes.map(({ step }) => step)) + 1;
}
