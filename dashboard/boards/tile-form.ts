import { groupSplitOf } from "../../server/schemas/group-split.ts";
import type { Metric, Tile, TileOf, TileType } from "../../server/schemas/tile.ts";

/** The fields of the tile editor. They keep their values when another type is chosen. */
export type TileForm = {
  type: TileType;
  title: string;
  q: string;
  metric: Metric;
  tag: string;
  /** Empty: no split. */
  splitBy: "" | "channel" | "name" | "tag" | "user" | "group";
  /** The key of the tag, or the name of the users' property. */
  splitKey: string;
  /** The type of the groups to split by, and the name of their property; empty: by the groups themselves. */
  splitType: string;
  splitProperty: string;
  /** The type of the groups that are counted; empty: users. */
  per: string;
  limit: string;
  /** Of a funnel. */
  steps: { q: string; name: string }[];
  windowHours: string;
  show: "steps" | "times";
  /** Of retention: the search for events that count as a return. */
  again: string;
  /** Of retention: which first event counts. */
  first: "ever" | "range";
  /** Of sessions: what is shown of them, and the search for other events that keep one going. */
  figure: TileOf<"sessions">["show"];
  activity: string;
  /** Of paths: the event that they begin or end at, and which steps are followed. */
  anchor: string;
  anchorName: string;
  direction: "after" | "before";
  length: string;
  names: string;
  repeats: "merge" | "keep";
  pathHours: string;
  key: string;
  text: string;
};

/** The name of each type of tile, and the size of a new one. */
export const tileTypes: Record<TileType, { label: string; w: number; h: number }> = {
  number: { label: "Number", w: 3, h: 2 },
  line: { label: "Lines", w: 6, h: 4 },
  area: { label: "Areas", w: 6, h: 4 },
  bar: { label: "Bars", w: 6, h: 4 },
  table: { label: "Table", w: 4, h: 5 },
  funnel: { label: "Funnel", w: 4, h: 5 },
  retention: { label: "Retention", w: 6, h: 5 },
  sessions: { label: "Sessions", w: 4, h: 5 },
  paths: { label: "Paths", w: 8, h: 6 },
  stickiness: { label: "Stickiness", w: 4, h: 5 },
  lifecycle: { label: "New users", w: 6, h: 4 },
  feed: { label: "Events", w: 4, h: 5 },
  alerts: { label: "Alerts", w: 4, h: 4 },
  value: { label: "Insight", w: 3, h: 2 },
  text: { label: "Text", w: 4, h: 2 },
};

export function newStep(): TileForm["steps"][number] {
  return { q: "", name: "" };
}

export const newTileForm: TileForm = {
  type: "line",
  title: "",
  q: "",
  metric: "events",
  tag: "",
  splitBy: "",
  splitKey: "",
  splitType: "",
  splitProperty: "",
  per: "",
  limit: "",
  steps: [newStep(), newStep()],
  windowHours: "168",
  show: "steps",
  again: "",
  first: "ever",
  figure: "sessions",
  activity: "",
  anchor: "",
  anchorName: "",
  direction: "after",
  length: "3",
  names: "5",
  repeats: "merge",
  pathHours: "24",
  key: "",
  text: "",
};

export function formOf(tile: Tile): TileForm {
  const split = "split" in tile ? (tile.split ?? "") : "";
  const [, of, key] = /^(tag|user)\.(.*)$/s.exec(split) ?? [];
  const group = groupSplitOf(split);
  return {
    ...newTileForm,
    type: tile.type,
    title: tile.title,
    ...("q" in tile && { q: tile.q }),
    ...("metric" in tile && { metric: tile.metric, tag: tile.tag ?? "" }),
    splitBy: group ? "group" : ((of ?? split) as TileForm["splitBy"]),
    splitKey: key ?? "",
    ...(group && { splitType: group.type, splitProperty: group.key ?? "" }),
    per: "per" in tile ? (tile.per ?? "") : "",
    ...("limit" in tile && { limit: String(tile.limit) }),
    ...("steps" in tile && {
      steps: tile.steps.map((q, index) => ({ q, name: tile.stepNames?.[index] ?? "" })),
      windowHours: String(tile.windowSeconds / 3_600),
      show: tile.show ?? "steps",
    }),
    ...("again" in tile && { again: tile.again }),
    ...("first" in tile && { first: tile.first ?? "ever" }),
    ...("anchor" in tile && {
      ...{ anchor: tile.anchor, anchorName: tile.anchorName ?? "", direction: tile.direction },
      ...{ length: String(tile.length), names: String(tile.names), repeats: tile.repeats },
      pathHours: String(tile.windowSeconds / 3_600),
    }),
    ...("activity" in tile && { figure: tile.show, activity: tile.activity }),
    ...("key" in tile && { key: tile.key }),
    ...("text" in tile && { text: tile.text }),
  };
}

/** Whether a metric is computed from a tag's numbers. */
export function needsTag(metric: Metric): boolean {
  return metric !== "events" && metric !== "users";
}

/** Says in a sentence what the form still needs; null if it is complete. */
export function missingIn(form: TileForm): string | null {
  const { type, metric, splitBy } = form;
  const hasMetric = ![
    "funnel",
    "retention",
    "sessions",
    "paths",
    "stickiness",
    "lifecycle",
    "feed",
    "alerts",
    "value",
    "text",
  ].includes(type);
  const hasSplit = (hasMetric && type !== "number") || type === "funnel" || isTableOfSessions(form);
  if (hasMetric && needsTag(metric) && form.tag.trim() === "") return "Enter the tag to compute it from.";
  if (!hasSplit || form.splitKey.trim() !== "") return null;
  return splitBy === "tag"
    ? "Enter the tag to split by."
    : splitBy === "user"
      ? "Enter the property of users to split by."
      : null;
}

/** Whether sessions are shown by their first or last value. */
export function isTableOfSessions({ type, figure }: Pick<TileForm, "type" | "figure">): boolean {
  return type === "sessions" && (figure === "entries" || figure === "exits");
}

/** The tile that a form describes. The server reports its mistakes. */
export function tileOf(form: TileForm, place: Pick<Tile, "id" | "x" | "y" | "w" | "h">): Tile {
  const { type, title, q, metric, tag } = form;
  const { id, x, y, w, h } = place;
  const common = { id, title: title.trim(), x, y, w, h };
  const counting = form.per === "" ? {} : { per: form.per };
  const measure = { q, metric, ...(needsTag(metric) && { tag }), ...(metric === "users" && counting) };
  const limit = form.limit === "" ? {} : { limit: Number(form.limit) };
  const split = splitOf(form);
  switch (type) {
    case "number":
      return { type, ...common, ...measure };
    case "line":
    case "area":
    case "bar":
      return { type, ...common, ...measure, ...(split && { split }), ...limit } as Tile;
    case "table":
      return { type, ...common, ...measure, split: split ?? "name", ...limit } as Tile;
    case "funnel":
      return {
        type,
        ...common,
        steps: form.steps.map(({ q }) => q),
        ...(form.steps.some(({ name }) => name.trim() !== "") && {
          stepNames: form.steps.map(({ name }) => name.trim()),
        }),
        windowSeconds: Math.round(Number(form.windowHours) * 3_600),
        show: form.show,
        ...(split && { split }),
        ...counting,
      };
    case "retention":
      return { type, ...common, q, again: form.again, first: form.first, ...counting };
    case "sessions": {
      const { figure: show, activity } = form;
      return { type, ...common, q, activity, show, split: split ?? "name", ...limit } as Tile;
    }
    case "paths":
      return {
        ...{ type, ...common, q, anchor: form.anchor, direction: form.direction, repeats: form.repeats },
        ...(form.anchorName.trim() !== "" && { anchorName: form.anchorName.trim() }),
        ...{ length: Number(form.length), names: Number(form.names) },
        windowSeconds: Math.round(Number(form.pathHours) * 3_600),
      };
    case "stickiness":
      return { type, ...common, q, ...counting };
    case "lifecycle":
      return { type, ...common, q, first: form.first, ...counting };
    case "feed":
      return { type, ...common, q };
    case "alerts":
      return { type, ...common };
    case "value":
      return { type, ...common, key: form.key };
    default:
      return { type: "text", ...common, text: form.text };
  }
}

function splitOf({ splitBy, splitKey, splitType, splitProperty }: TileForm): string | undefined {
  if (splitBy === "group")
    return `group.${splitType}${splitProperty.trim() === "" ? "" : `:${splitProperty.trim()}`}`;
  if (splitBy === "tag" || splitBy === "user") return `${splitBy}.${splitKey}`;
  return splitBy === "" ? undefined : splitBy;
}

/** An ID that the board's other tiles don't have. */
export function newTileId(): string {
  const letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  return Array.from(crypto.getRandomValues(new Uint8Array(10)), (byte) => letters[byte % 36]).join("");
}
