import { Link } from "@tanstack/react-router";
import { Newspaper, StickyNote, UserRound } from "lucide-react";
import { countedTitle, countedWords } from "../../server/schemas/group-texts.ts";
import type { SeriesColor } from "../charts/colors.ts";
import { Swatch } from "../charts/readout.tsx";
import { Menu, MenuItem, MenuLabel, MenuSeparator } from "../components/ui/menu.tsx";
import { useCan } from "../projects/can.ts";
import { useDark } from "../theme/theme.ts";
import type { DrillDown } from "./drill-down.tsx";

export type ChartMenuProps = {
  project: string;
  /** The bucket. */
  title: string;
  /** The series with values, with where each leads. */
  series: { key: string; name: string; color: SeriesColor; value: string; drillDown: DrillDown }[];
  /** The events of all series, if a page lists them. */
  events?: DrillDown;
  users: DrillDown;
  /** The type of the groups that are counted in place of users. */
  counted: string | undefined;
  /** The bucket's position, in pixels from the chart's left edge. */
  leftPx: number;
  close: () => void;
  /** Writes a note about the bucket. */
  annotate: () => void;
};

/** The menu of a chart's bucket. It leads to the events and users that the bucket counts, of all series or of one. */
export default function ChartMenu(props: ChartMenuProps) {
  const { project, title, series, events, users, counted, leftPx, close, annotate } = props;
  const canAnnotate = useCan()("annotations:change");
  const isDark = useDark();
  const link = ({ page, search }: DrillDown) => ({
    to: page === "feed" ? ("/p/$project" as const) : ("/p/$project/who" as const),
    params: { project },
    search,
    preload: false as const,
  });
  return (
    <div className="absolute inset-y-0 w-0" style={{ left: leftPx }}>
      <Menu
        defaultOpen
        side="bottom"
        onOpenChange={(isOpen) => !isOpen && close()}
        // Only a place for the menu: the chart is the button.
        trigger={<span aria-hidden className="absolute top-1/3 block size-0" />}
      >
        <MenuLabel>{title}</MenuLabel>
        {series.length > 1 &&
          series.map(({ key, name, color, value, drillDown }) => (
            <MenuItem key={key} asChild>
              <Link {...link(drillDown)}>
                <span className="flex w-4 justify-center">
                  <Swatch color={color} isDark={isDark} />
                </span>
                <span className="hostile-line flex-1">{name}</span>
                <span className="pl-3 text-muted">{value}</span>
              </Link>
            </MenuItem>
          ))}
        {series.length > 1 && <MenuSeparator />}
        {events && (
          <MenuItem asChild>
            <Link {...link(events)}>
              <Newspaper aria-hidden />
              {series.length > 1 ? "All events" : "Events"}
            </Link>
          </MenuItem>
        )}
        <MenuItem asChild>
          <Link {...link(users)}>
            <UserRound aria-hidden />
            {series.length > 1 ? `All ${countedWords(counted)[1]}` : countedTitle(counted)}
          </Link>
        </MenuItem>
        {canAnnotate && (
          <>
            <MenuSeparator />
            <MenuItem onSelect={annotate}>
              <StickyNote aria-hidden />
              Write a note…
            </MenuItem>
          </>
        )}
      </Menu>
    </div>
  );
}
