import { useLinkProps } from "@tanstack/react-router";
import { sankeyLinkHorizontal } from "d3-sankey";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { stepNameOf } from "../../server/schemas/step-name.ts";
import type { TileDataOf } from "../../server/schemas/tile-data.ts";
import { othersText, titleOf } from "../../server/schemas/tile-texts.ts";
import { colorOf, colorsOfValues, type SeriesColor } from "../charts/colors.ts";
import { countOf } from "../components/counts.ts";
import { secondsText } from "../components/durations.ts";
import { formatShare } from "../components/locale.ts";
import { useDark } from "../theme/theme.ts";
import { shortAmount } from "./amounts.ts";
import { type ShownTile, useTileSource } from "./boards.ts";
import type { DrillDown } from "./drill-down.tsx";
import { pathDrillDown } from "./path-drill-down.ts";
import { usePathLinks } from "./path-links.ts";
import { hasRoom, type LaidLink, type LaidNode, layOut, nodeWidthPx } from "./paths-layout.ts";
import { PathsTable, quoted } from "./paths-table.tsx";
import "./paths.css";

type PathsData = TileDataOf<"paths">;
export type PathsBodyProps = { tile: ShownTile; data: PathsData; isTable: boolean };

const pathOf = sankeyLinkHorizontal();
/** The line below the diagram, which says what the marks of nodes are. */
const notePx = 20;

/** The steps of users after or before an event: as a Sankey diagram, or a table if that is chosen or all that fits. */
export default function PathsBody({ tile, data, isTable }: PathsBodyProps) {
  const box = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState<{ width: number; height: number } | null>(null);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() =>
      setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const anchor = anchorOf(tile);
  if (data.users === 0) return <p className="tile-empty">No user had {quoted(anchor)} in this period.</p>;
  return (
    <div ref={box} className="h-full">
      {size &&
        (isTable || !hasRoom(data, size.width) ? (
          <PathsTable tile={tile} data={data} anchor={anchor} />
        ) : (
          <Diagram tile={tile} data={data} anchor={anchor} width={size.width} height={size.height - notePx} />
        ))}
    </div>
  );
}

/** The name of the event that paths begin or end at. Public boards don't have its search. */
function anchorOf(tile: ShownTile): string {
  if ("anchor" in tile) return stepNameOf(tile.anchor, tile.anchorName) ?? tile.anchor;
  return ("anchorName" in tile && tile.anchorName) || "The event";
}

type DiagramProps = { tile: ShownTile; data: PathsData; anchor: string; width: number; height: number };

function Diagram({ tile, data, anchor, width, height }: DiagramProps) {
  const source = useTileSource();
  const isDark = useDark();
  const { stop, focused, handlers } = usePathLinks();
  const { nodes, links } = useMemo(() => layOut(data, width, height), [data, width, height]);
  const names = data.nodes.flatMap(({ name }) => name ?? []);
  // The same as in charts that are split by name.
  const colors = colorsOfValues(`${source.project ?? source.key.join(" ")} name`, [...new Set(names)]);
  const color = ({ step, name }: LaidNode): string => {
    const series: SeriesColor = name === null ? (step === 0 ? 0 : "rest") : (colors.get(name) ?? "rest");
    return colorOf(series, isDark);
  };
  const nameOf = (node: LaidNode) => (node.step === 0 ? anchor : (node.name ?? othersText(node)));
  // Links are drawn below nodes, but the keyboard reaches each after the node that it comes from.
  const order = useMemo(() => orderOf(data), [data]);
  const lead = (target: string, from?: string) => {
    const place = order.get(keyOf(target, from)) ?? 0;
    const isStop = place === (stop < order.size ? stop : 0);
    return { drillDown: pathDrillDown(tile, data, target, from), order: place, isStop };
  };
  const label = `${titleOf(tile)}: ${countOf(data.users, "user")} with ${quoted(anchor)}.`;
  // An image has no links in it. A public board's leads nowhere.
  const role = source.project === null ? "img" : "group";
  return (
    <>
      <svg
        role={role}
        aria-label={`${label} The tile's menu shows the steps as a table.`}
        width={width}
        height={height}
        className="tile-paths"
        {...handlers}
      >
        {links.map((link) => {
          const { source: left, target: right } = link as { source: LaidNode; target: LaidNode };
          // The one nearer to the anchor comes first in an address.
          const [near, far] = data.direction === "before" ? [right, left] : [left, right];
          return (
            <Lead
              key={`${near.id} ${far.id}`}
              {...lead(far.id, near.id)}
              title={`${nameOf(left)} → ${nameOf(right)}: ${countOf(link.users, "user")}, ${formatShare(link.users / near.users)} of ${nameOf(near)}`}
            >
              <path
                d={pathOf(link as LaidLink) ?? ""}
                stroke={color(far)}
                strokeWidth={Math.max(1, link.width ?? 0)}
              />
            </Lead>
          );
        })}
        {nodes.map((node) => (
          <NodeMark
            key={node.id}
            {...{ data, node, lead }}
            name={nameOf(node)}
            color={color(node)}
            widthPx={width}
          />
        ))}
      </svg>
      {focused === null ? (
        <p className="tile-paths-note tile-paths-legend">
          {data.direction === "before" ? "Nothing before" : "Nothing more"}
          {"windowSeconds" in tile && ` within ${secondsText(tile.windowSeconds)}`}
        </p>
      ) : (
        <p aria-hidden className="tile-paths-note">
          <span className="hostile-line">{focused}</span>
        </p>
      )}
    </>
  );
}

function keyOf(target: string, from: string | undefined): string {
  return from === undefined ? target : `${from} ${target}`;
}

/** The order of what leads to users: each node, then the links from it and the end of those who took no other step. */
function orderOf({ nodes, links }: PathsData): Map<string, number> {
  const keys = nodes.flatMap(({ id, ended }) => [
    id,
    ...links.filter(({ source }) => source === id).map(({ target }) => keyOf(target, id)),
    ...(ended ? [keyOf("end", id)] : []),
  ]);
  return new Map(keys.map((key, index) => [key, index]));
}

type NodeProps = {
  data: PathsData;
  node: LaidNode;
  lead: (target: string, from?: string) => Pick<LeadProps, "drillDown" | "order" | "isStop">;
  name: string;
  color: string;
  widthPx: number;
};

const charPx = 6.4;
const labelGapPx = 5;

/** A node: its bar with its name, and a mark as high as the share of its users who took no other step. */
function NodeMark({ data, node, lead, name, color, widthPx }: NodeProps) {
  const { x0 = 0, x1 = 0, y0 = 0, y1 = 0, users, ended } = node;
  const isBefore = data.direction === "before";
  const endedPx = ended ? ((y1 - y0) * ended) / users : 0;
  const columns = Math.max(...data.nodes.map(({ step }) => step)) + 1;
  const room = widthPx / columns - nodeWidthPx - 2 * labelGapPx;
  const count = shortAmount(users);
  const shown = Math.max(3, Math.floor(room / charPx) - count.length - 1);
  const text = [...name].length > shown ? `${[...name].slice(0, shown - 1).join("")}…` : name;
  const middle = (y0 + y1) / 2;
  return (
    <>
      <Lead {...lead(node.id)} title={`${name}: ${countOf(users, "user")}`}>
        <rect x={x0} y={y0} width={x1 - x0} height={Math.max(1, y1 - y0)} fill={color} rx={1.5} />
      </Lead>
      <Lead {...lead(node.id)} isLabel title={`${name}: ${countOf(users, "user")}`}>
        <text x={x1 + labelGapPx} y={middle}>
          <tspan className="tile-paths-name">{text}</tspan>
          <tspan dx={4} className="tile-paths-count">
            {count}
          </tspan>
        </text>
      </Lead>
      {endedPx > 0 && (
        <Lead
          {...lead("end", node.id)}
          title={`${isBefore ? "Nothing before" : "Nothing after"} ${name}: ${countOf(ended!, "user")}, ${formatShare(ended! / users)}`}
        >
          <rect
            x={isBefore ? x0 - 3 : x1}
            y={y1 - endedPx}
            width={3}
            height={Math.max(1, endedPx)}
            className="tile-paths-ended"
          />
        </Lead>
      )}
    </>
  );
}

type LeadProps = {
  /** Null if it leads nowhere. */
  drillDown: DrillDown | null;
  /** Its place among all of the diagram, for the keyboard. */
  order: number;
  /** Whether Tab reaches it. */
  isStop: boolean;
  /** Leads to the same as the part before it, for the mouse only. */
  isLabel?: boolean;
  title: string;
  children: ReactNode;
};

/** A part of the diagram that leads to its users. */
function Lead(props: LeadProps) {
  const { project } = useTileSource();
  const { drillDown, title, children } = props;
  if (project !== null && drillDown) return <LeadLink {...props} project={project} drillDown={drillDown} />;
  return (
    <g>
      <title>{title}</title>
      {children}
    </g>
  );
}

type LinkProps = LeadProps & { project: string; drillDown: DrillDown };

function LeadLink({ project, drillDown, order, isStop, isLabel = false, title, children }: LinkProps) {
  const { href, onClick } = useLinkProps({
    to: "/p/$project/who",
    params: { project },
    search: drillDown.search,
  });
  const attributes = isLabel
    ? { "aria-hidden": true, tabIndex: -1 }
    : { "aria-label": title, "data-order": order, tabIndex: isStop ? 0 : -1 };
  return (
    <a href={href} onClick={onClick} {...attributes}>
      <title>{title}</title>
      {children}
    </a>
  );
}
