import { useNavigate } from "@tanstack/react-router";
import { Bell, ChartLine, Image, Newspaper, Table, Table2, UserRound } from "lucide-react";
import type { RefObject } from "react";
import { countedWords } from "../../server/schemas/group-texts.ts";
import type { TileData } from "../../server/schemas/tile-data.ts";
import { titleOf } from "../../server/schemas/tile-texts.ts";
import { errorMessage } from "../api.ts";
import { download } from "../charts/png.ts";
import type { MenuContentProps } from "../components/ui/lazy-menu.tsx";
import { Menu, MenuItem } from "../components/ui/menu.tsx";
import { useCan } from "../projects/can.ts";
import type { RuleForm } from "../rules/rule-form.ts";
import { ruleFormOfTile } from "../rules/rule-of-tile.ts";
import { toast } from "../shell/toasts.tsx";
import { perOf, type ShownTile, useTileSource } from "./boards.ts";
import { drillDownsOf } from "./drill-down.tsx";
import { type BoardRange, feedTimeOf } from "./ranges.ts";
import { csvOf, fileNameOf, pngOf } from "./tile-export.ts";

export type TileMenuProps = MenuContentProps & {
  tile: ShownTile;
  data: TileData | undefined;
  range: BoardRange;
  box: RefObject<HTMLElement | null>;
  /** Opens the dialog for a new rule. */
  alert: (rule: RuleForm) => void;
  /** Whether a chart is shown as a table. */
  isTable: boolean;
  setTable: (isTable: boolean) => void;
};

/** The menu of a tile's result. */
export default function TileMenu(props: TileMenuProps) {
  const { tile, data, range, box, alert, isTable, setTable, ...menu } = props;
  const { project } = useTileSource();
  const navigate = useNavigate();
  const rule = ruleFormOfTile(tile);
  const name = fileNameOf(titleOf(tile), range);
  const q = "q" in tile ? tile.q : undefined;
  // These lead to users of their own.
  const hasOwnUsers = ["retention", "paths", "stickiness", "lifecycle"].includes(tile.type);
  const drillDowns = q !== undefined && data && !hasOwnUsers ? drillDownsOf(tile, { data, range }) : null;

  async function savePng() {
    try {
      download(await pngOf(box.current!), `${name}.png`);
    } catch (error) {
      toast({ title: "The picture couldn't be made", description: errorMessage(error), failed: true });
    }
  }

  return (
    <Menu {...menu} align="end">
      {project !== null && drillDowns && (
        <MenuItem
          onSelect={() =>
            void navigate({ to: "/p/$project/who", params: { project }, search: drillDowns.users.search })
          }
        >
          <UserRound aria-hidden />
          Show the {countedWords(perOf(tile))[1]}
        </MenuItem>
      )}
      {project !== null && q !== undefined && (
        <MenuItem
          onSelect={() =>
            void navigate({
              to: "/p/$project",
              params: { project },
              search: {
                ...(q !== "" && { q }),
                ...feedTimeOf(range),
                ...("split" in tile &&
                  tile.split &&
                  // The feed's bars know only what events say themselves.
                  !/^(?:user|group)\./.test(tile.split) && { split: tile.split }),
              },
            })
          }
        >
          <Newspaper aria-hidden />
          Open in the feed
        </MenuItem>
      )}
      {project !== null && rule && <AlertItem rule={rule} alert={alert} />}
      {data && isChart(data) && (
        <MenuItem onSelect={() => setTable(!isTable)}>
          {isTable ? <ChartLine aria-hidden /> : <Table2 aria-hidden />}
          {isTable ? "Show as chart" : "Show as table"}
        </MenuItem>
      )}
      {data && data.type !== "text" && (
        <MenuItem
          onSelect={() =>
            download(new Blob([csvOf(tile, data)], { type: "text/csv;charset=utf-8" }), `${name}.csv`)
          }
        >
          <Table aria-hidden />
          Save as CSV
        </MenuItem>
      )}
      <MenuItem onSelect={() => void savePng()}>
        <Image aria-hidden />
        Save as PNG
      </MenuItem>
    </Menu>
  );
}

function isChart({ type }: TileData): boolean {
  return ["line", "area", "bar", "paths", "lifecycle"].includes(type);
}

/** Leads from a tile to a rule about its metric. Public boards have no account that could. */
function AlertItem({ rule, alert }: Pick<TileMenuProps, "alert"> & { rule: RuleForm }) {
  if (!useCan()("rules:manage")) return null;
  return (
    <MenuItem onSelect={() => alert(rule)}>
      <Bell aria-hidden />
      Alert on this…
    </MenuItem>
  );
}
