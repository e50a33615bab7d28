/** The names of tiles and their numbers, on the dashboard and in reports. */

const metricTexts: Record<string, string> = {
  sum: "Sum",
  average: "Average",
  minimum: "Minimum",
  maximum: "Maximum",
};

type Measure = { metric?: string | undefined; tag?: string | undefined; show?: string | undefined };
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

/** The name of a tile's numbers: "Events", "Users", "Sum of amount". */
export function metricText({ metric, tag, show }: Measure): string {
  if (show !== undefined) return sessionTexts[show] ?? "Sessions";
  if (metric === "users") return "Users";
  return tag !== undefined && metric !== undefined && metric in metricTexts
    ? `${metricTexts[metric]} of ${tag || "a tag"}`
    : "Events";
}

/** The head of a split's column: "Channel", "Name", the tag's key or the property's name. */
export function splitHead(split: string): string {
  return split === "channel" ? "Channel" : split === "name" ? "Name" : splitText(split);
}

/** The dimension of a split: "channel", "name", the tag's key or the property's name. */
function splitText(split: string): string {
  return split.replace(/^(?:tag|user)\./, "");
}

/** A tile's title, or a description if it has none. */
export function titleOf(tile: TitledTile): string {
  if (tile.title) return tile.title;
  if (tile.type === "feed") return "Newest events";
  if (tile.type === "alerts") return "Open alerts";
  if (tile.type === "funnel") return "Funnel";
  if (tile.type === "retention") return "Retention";
  if (tile.show === "entries" || tile.show === "exits")
    return `${tile.show === "entries" ? "First" : "Last"} ${splitText(tile.split ?? "")}`;
  if (tile.type === "sessions") return metricText(tile);
  if (tile.type === "stickiness") return "Stickiness";
  if (tile.type === "lifecycle") return "New and returning users";
  if (tile.type === "paths") return tile.direction === "before" ? "Paths to an event" : "Paths from an event";
  if (tile.type === "value") return tile.key ?? "Insight";
  if (tile.type === "text") return "Text";
  return metricText(tile) + (tile.split === undefined ? "" : ` by ${splitText(tile.split)}`);
}

/** The label of the other event names of a path's step: "12 others". */
export function othersText({ names }: { names: number }): string {
  return `${names} ${names === 1 ? "other" : "others"}`;
}

/** The label of a series or row. An empty name or tag has one too. */
export function labelOf(value: string | null, isSplit: boolean, all = "All"): string {
  if (value === null) return isSplit ? "Others" : all;
  return value === "" ? "(empty)" : value;
}
