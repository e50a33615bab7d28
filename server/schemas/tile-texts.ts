/** The names of tiles and their numbers, on the dashboard and in reports. */
import { groupSplitOf } from "./group-split.ts";
import { countedTitle, countedWords } from "./group-texts.ts";

const metricTexts: Record<string, string> = {
  sum: "Sum",
  average: "Average",
  minimum: "Minimum",
  maximum: "Maximum",
};

type Measure = {
  metric?: string | undefined;
  tag?: string | undefined;
  show?: string | undefined;
  per?: string | undefined;
};
const sessionTexts: Record<string, string> = {
  sessions: "Sessions",
  bounceRate: "Bounce rate",
  duration: "Average duration",
  eventsPerSession: "Events per session",
  entries: "Sessions",
  exits: "Sessions",
  live: "Users in the last 5 minutes",
};

type TitledTile = Measure & {
  type: string;
  title: string;
  key?: string | undefined;
  split?: string | undefined;
  direction?: string | undefined;
};

/** The name of a tile's numbers: "Events", "Users", "Companies", "Sum of amount". */
export function metricText({ metric, tag, show, per }: Measure): string {
  if (show !== undefined) return sessionTexts[show] ?? "Sessions";
  if (metric === "users") return countedTitle(per);
  return tag !== undefined && metric !== undefined && metric in metricTexts
    ? `${metricTexts[metric]} of ${tag || "a tag"}`
    : "Events";
}

/** The head of a split's column: "Channel", "Name", "Company", the tag's key or the property's name. */
export function splitHead(split: string): string {
  const text = splitText(split);
  const isWord = split === "channel" || split === "name" || groupSplitOf(split) !== null;
  return isWord ? text.charAt(0).toLocaleUpperCase() + text.slice(1) : text;
}

/** The dimension of a split: "channel", "name", "company", "plan of the company", the tag's key or the property's name. */
function splitText(split: string): string {
  const group = groupSplitOf(split);
  if (group) return group.key === undefined ? group.type : `${group.key} of the ${group.type}`;
  return split.replace(/^(?:tag|user)\./, "");
}

/**
 * Says that the numbers of a split don't add up, because an event can be in several; null if they do. Groups that are
 * counted themselves are in one.
 */
export function overlapText(split: string | undefined, per: string | undefined): string | null {
  const group = split === undefined ? null : groupSplitOf(split);
  if (group === null || per !== undefined) return null;
  return `Whatever belongs to two ${countedWords(group.type)[1]} counts for both.`;
}

/** A tile's title, or a description if it has none. */
export function titleOf(tile: TitledTile): string {
  if (tile.title) return tile.title;
  if (tile.type === "feed") return "Newest events";
  if (tile.type === "alerts") return "Open alerts";
  if (tile.type === "funnel") return `Funnel${ofGroups(tile.per)}`;
  if (tile.type === "retention") return `Retention${ofGroups(tile.per)}`;
  if (tile.show === "entries" || tile.show === "exits")
    return `${tile.show === "entries" ? "First" : "Last"} ${splitText(tile.split ?? "")}`;
  if (tile.type === "sessions") return metricText(tile);
  if (tile.type === "stickiness") return `Stickiness${ofGroups(tile.per)}`;
  if (tile.type === "lifecycle") return `New and returning ${countedWords(tile.per)[1]}`;
  if (tile.type === "paths") return tile.direction === "before" ? "Paths to an event" : "Paths from an event";
  if (tile.type === "value") return tile.key ?? "Insight";
  if (tile.type === "text") return "Text";
  return metricText(tile) + (tile.split === undefined ? "" : ` by ${splitText(tile.split)}`);
}

function ofGroups(per: string | undefined): string {
  return per === undefined ? "" : ` of ${countedWords(per)[1]}`;
}

/** The label of the other event names of a path's step: "12 others". */
export function othersText({ names }: { names: number }): string {
  return `${names} ${names === 1 ? "other" : "others"}`;
}

/** A series or row of a split. A group can have a name. */
type Labeled = { value: string | null; name?: string | undefined };

/** The label of a series or row. An empty name or tag has one too. */
export function labelOf({ value, name }: Labeled, isSplit: boolean, all = "All"): string {
  if (name !== undefined) return name;
  if (value === null) return isSplit ? "Others" : all;
  return value === "" ? "(empty)" : value;
}
