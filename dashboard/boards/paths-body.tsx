import { useNavigate } from "@tanstack/react-router";
import { sankeyLinkHorizontal } from "d3-sankey";
import { useEffect, useMemo, useRef, useState } from "react";
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
import { pathDrillDown } from "./path-drill-down.ts";
import { hasRoom, type LaidLink, type LaidNode, layOut, nodeWidthPx } from "./paths-layout.ts";
import { PathsTable, quoted } from "./paths-table.tsx";
import "./paths.css";

type PathsData = TileDataOf<"paths">;
export type PathsBodyProps = { tile: ShownTile; data: PathsData; isTable: boolean };

const pathOf = sankeyLinkHorizontal();
/** The line below the diagram, which says what the marks of nodes are. */
const notePx = 20;

/** What users do after or before an event, as a Sankey diagram; as a table if that is chosen or the tile is narrow. */
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
          <>
            <Diagram
              tile={tile}
              data={data}
              anchor={anchor}
              width={size.width}
              height={size.height - notePx}
            />
            <p className="tile-paths-note">
              {data.direction === "before" ? "Nothing before" : "Nothing more"}
              {"windowSeconds" in tile && ` within ${secondsText(tile.windowSeconds)}`}
            </p>
          </>
        ))}
    </div>
  );
}

/** What the event is called that paths begin or end at. Public boards don't have its search. */
function anchorOf(tile: ShownTile): string {
  if ("anchor" in tile) return stepNameOf(tile.anchor, tile.anchorName) ?? tile.anchor;
  return ("anchorName" in tile && tile.anchorName) || "The event";
}

type DiagramProps = { tile: ShownTile; data: PathsData; anchor: string; width: number; height: number };

function Diagram({ tile, data, anchor, width, height }: DiagramProps) {
  const source = useTileSource();
  const isDark = useDark();
  const { nodes, links } = useMemo(() => layOut(data, width, height), [data, width, height]);
  const names = data.nodes.flatMap(({ name }) => name ?? []);
  // The same as in charts that are split by name.
  const colors = colorsOfValues(`${source.project ?? source.key.join(" ")} name`, [...new Set(names)]);
  const color = ({ step, name }: LaidNode): string => {
    const series: SeriesColor = name === null ? (step === 0 ? 0 : "rest") : (colors.get(name) ?? "rest");
    return colorOf(series, isDark);
  };
  const nameOf = (node: LaidNode) => (node.step === 0 ? anchor : (node.name ?? othersText(node)));
  return (
    <svg
      role="img"
      aria-label={`${titleOf(tile)}: ${countOf(data.users, "user")} with ${quoted(anchor)}. The tile's menu shows the steps as a table.`}
      width={width}
      height={height}
      className="tile-paths"
    >
      {links.map((link) => {
        const { source: left, target: right } = link as { source: LaidNode; target: LaidNode };
        // The one nearer to the anchor comes first in an address.
        const [near, far] = data.direction === "before" ? [right, left] : [left, right];
        return (
          <Lead
            key={`${near.id} ${far.id}`}
            tile={tile}
            data={data}
            target={far.id}
            source={near.id}
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
          {...{ tile, data, node, height }}
          name={nameOf(node)}
          color={color(node)}
          widthPx={width}
        />
      ))}
    </svg>
  );
}

type NodeProps = {
  tile: ShownTile;
  data: PathsData;
  node: LaidNode;
  name: string;
  color: string;
  widthPx: number;
  height: number;
};

const charPx = 6.4;
const labelGapPx = 5;

/** A node: its bar with its name, and a mark as high as the share of its users who took no other step. */
function NodeMark({ tile, data, node, name, color, widthPx }: NodeProps) {
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
      <Lead tile={tile} data={data} target={node.id} title={`${name}: ${countOf(users, "user")}`}>
        <rect x={x0} y={y0} width={x1 - x0} height={Math.max(1, y1 - y0)} fill={color} rx={1.5} />
        <text x={x1 + labelGapPx} y={middle}>
          <tspan className="tile-paths-name">{text}</tspan>
          <tspan dx={4} className="tile-paths-count">
            {count}
          </tspan>
        </text>
      </Lead>
      {endedPx > 0 && (
        <Lead
          tile={tile}
          data={data}
          target="end"
          source={node.id}
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
  tile: ShownTile;
  data: PathsData;
  target: string;
  source?: string;
  title: string;
  children: React.ReactNode;
};

/** A part of the diagram that leads to its users. */
function Lead({ tile, data, target, source, title, children }: LeadProps) {
  const { project } = useTileSource();
  const navigate = useNavigate();
  const drillDown = pathDrillDown(tile, data, target, source);
  const content = (
    <>
      <title>{title}</title>
      {children}
    </>
  );
  if (project === null || !drillDown) return <g>{content}</g>;
  const lead = () => void navigate({ to: "/p/$project/who", params: { project }, search: drillDown.search });
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the table has the same as links, for the keyboard
    <g onClick={lead} className="cursor-pointer">
      {content}
    </g>
  );
}
