import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { parseSearch, printSearch, type Search } from "../../server/event/search.ts";
import { groupSplitOf } from "../../server/schemas/group-split.ts";
import type { TileData, TileDataOf } from "../../server/schemas/tile-data.ts";
import type { Filters } from "../feed/filters.ts";
import { addressOf, type Question, type Took } from "../who/question.ts";
import { countingOf, type ShownTile } from "./boards.ts";
import { type BoardRange, feedTimeOf } from "./ranges.ts";

/** A link from a number to the page of the project that lists what the number counts. */
export type DrillDown = { page: "feed" | "who"; search: Record<string, string> };

type Time = { from: string; to?: string };
type Bucket = { from: string; to: string };
/** The value of a split, or all values but those of the other series. */
type Part = { value: string } | { not: readonly string[] };

/** The events that a tile's number counts, and their users. Null for tiles without a search, such as a public board's. */
export function drillDownsOf(
  tile: ShownTile,
  { data, range, bucket, part }: { data: TileData; range: BoardRange; bucket?: Bucket; part?: Part },
): { events: DrillDown; users: DrillDown; main: DrillDown } | null {
  if (!("q" in tile) || tile.q === undefined || !("from" in data)) return null;
  const split = splitOf(tile);
  const group = split === undefined ? null : groupSplitOf(split);
  // Searches know no properties of groups, and can't tell what belongs to other groups as well.
  if (part && group && (group.key !== undefined || "not" in part)) return null;
  const property = part && propertyOf(split);
  if (property !== undefined) {
    // Searches know no properties, so that only users can be listed, of one value.
    if (!("value" in part!) || tile.type === "sessions") return null;
    const time = bucket ?? { from: data.from, to: data.to };
    const users = drillDownOf({
      of: "events",
      filters: filtersOf(tile, time),
      ...countingOf(tile),
      property: { key: property, value: part.value },
    });
    return { events: users, users, main: users };
  }
  const computed = bucket ?? { from: data.from, to: data.to };
  // The feed of a time that grows is live.
  const events: DrillDown = { page: "feed", search: filtersOf(tile, bucket ?? feedTimeOf(range), part) };
  const users = drillDownOf({ of: "events", filters: filtersOf(tile, computed, part), ...countingOf(tile) });
  return { events, users, main: "metric" in tile && tile.metric === "users" ? users : events };
}

function splitOf(tile: ShownTile): string | undefined {
  return "split" in tile ? tile.split : undefined;
}

/** The property of users that a tile is split by. */
function propertyOf(split: string | undefined): string | undefined {
  return split?.startsWith("user.") ? split.slice("user.".length) : undefined;
}

function drillDownOf(question: Question): DrillDown {
  return { page: "who", search: addressOf(question) };
}

/** Those of the tile's events that its number is computed from. */
function filtersOf(tile: Extract<ShownTile, { q: string }>, time: Time, part?: Part): Filters {
  const split = "split" in tile ? tile.split : undefined;
  const terms: Search[] = [];
  const asked = parseSearch(tile.q);
  if (asked) terms.push(...(asked.kind === "all" ? asked.of : [asked]));
  if ("tag" in tile && tile.tag !== undefined) terms.push(isNumber(tile.tag));
  const values = part && ("value" in part ? [part.value] : part.not);
  // An address has no filter for an empty value.
  const isPlain = part !== undefined && "value" in part && part.value !== "" && !split?.startsWith("group.");
  if (split !== undefined && values && values.length > 0 && !isPlain) {
    const term = termOf(split, [...values]);
    terms.push("value" in part! ? term : { kind: "not", of: term });
  }
  const q =
    terms.length === 0 ? "" : printSearch(terms.length === 1 ? terms[0]! : { kind: "all", of: terms });
  return {
    ...(q !== "" && { q }),
    ...(isPlain && split !== undefined && { [split]: part.value }),
    ...time,
  };
}

function termOf(split: string, values: string[]): Search {
  if (split === "channel" || split === "name") return { kind: "field", field: split, values };
  const group = groupSplitOf(split);
  if (group) return { kind: "group", type: group.type, ids: values };
  return { kind: "tag", key: split.slice("tag.".length), values };
}

/** Events whose tag is any number. */
function isNumber(key: string): Search {
  const zero = (isIncluded: boolean) => ({ value: "0", isIncluded });
  return {
    kind: "any",
    of: [
      { kind: "number", key, range: { from: zero(true) } },
      { kind: "number", key, range: { to: zero(false) } },
    ],
  };
}

/** The users who took a step of a funnel, or only those who took none after it. */
export function stepDrillDown(
  tile: ShownTile,
  { from, to }: TileDataOf<"funnel">,
  step: number,
  { isDropped = false, value, took }: { isDropped?: boolean; value?: string; took?: Took } = {},
): DrillDown | null {
  if (!("steps" in tile)) return null;
  const { steps, stepNames = [], windowSeconds, split } = tile;
  return drillDownOf({
    ...{ of: "funnel", from, to, steps, names: stepNames, windowSeconds, reached: step, isDropped },
    ...countingOf(tile),
    ...(took && { took }),
    ...(value !== undefined && split !== undefined && { split: { by: split, value } }),
  });
}

/** The users of a cohort, or those who returned some weeks later. */
export function cohortDrillDown(
  tile: ShownTile,
  { from, to, timeZone, starts, first = "ever" }: TileDataOf<"retention">,
  cohort: number,
  returned?: number,
): DrillDown | null {
  if (!("again" in tile)) return null;
  return drillDownOf({
    ...{ of: "cohort", from, to, timeZone, first, cohort, week: starts[cohort]! },
    ...{ start: tile.q, again: tile.again, ...countingOf(tile) },
    ...(returned !== undefined && { returned }),
  });
}

type DrillDownLinkProps = {
  project: string | null;
  drillDown: DrillDown | null | undefined;
  className: string;
  /** Tells screen readers, after the number, its meaning and the link's target. */
  more?: string;
  children: ReactNode;
};

/** A number that leads on; on a public board only the number. */
export function DrillDownLink({ project, drillDown, className, more, children }: DrillDownLinkProps) {
  if (project === null || !drillDown) return <span className={className}>{children}</span>;
  return (
    <Link
      to={drillDown.page === "feed" ? "/p/$project" : "/p/$project/who"}
      params={{ project }}
      search={drillDown.search}
      preload={false}
      className={className}
    >
      <span>{children}</span>
      {more && <span className="sr-only">{more}</span>}
    </Link>
  );
}
