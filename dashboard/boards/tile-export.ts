import { cellOf } from "../../server/event/event-format.ts";
import { countedTitle } from "../../server/schemas/group-texts.ts";
import type { TileData } from "../../server/schemas/tile-data.ts";
import { labelOf, metricText, splitHead } from "../../server/schemas/tile-texts.ts";
import { stepText } from "./amounts.ts";
import { perOf, type ShownTile } from "./boards.ts";
import { type BoardRange, boundsOf, dayOf } from "./ranges.ts";

type Cell = string | number | null | undefined;

/** A tile's result as CSV (RFC 4180), with texts that spreadsheets would run as formulas made harmless. */
export function csvOf(tile: ShownTile, data: TileData): string {
  return rowsOf(tile, data)
    .map((row) => `${row.map(textOf).join(",")}\r\n`)
    .join("");
}

function rowsOf(tile: ShownTile, data: TileData): Cell[][] {
  const metric = metricText("metric" in tile || "show" in tile ? tile : {});
  const counted = countedTitle(perOf(tile));
  switch (data.type) {
    case "number":
      return [["from", metric], ...data.starts.map((start, index) => [start, data.values[index]])];
    case "line":
    case "area":
    case "bar": {
      const isSplit = "split" in tile && tile.split !== undefined;
      return [
        ["from", ...data.series.map((each) => labelOf(each, isSplit, metric))],
        ...data.starts.map((start, index) => [start, ...data.series.map(({ values }) => values[index])]),
      ];
    }
    case "table":
      return [
        [splitHead("split" in tile && tile.split ? tile.split : "name"), metric, "Before"],
        ...data.rows.map((row) => [labelOf(row, true), row.total, row.before]),
      ];
    case "funnel":
      return [
        ["Step", counted, "Conversion", "Median seconds", "90% within seconds"],
        ...data.steps.map(({ users, conversion, medianSeconds, p90Seconds }, index) => [
          stepText(tile, index),
          users,
          conversion,
          medianSeconds,
          p90Seconds,
        ]),
      ];
    case "retention":
      return [
        ["Week of", counted, ...data.starts.slice(1).map((_, index) => `Week ${index + 1}`)],
        ...data.cohorts.map(({ users, returned }, index) => [
          data.starts[index],
          users,
          ...returned.slice(1),
        ]),
      ];
    case "stickiness":
      return [[`${data.by}s`, counted], ...data.distribution.map((users, index) => [index + 1, users])];
    case "lifecycle":
      return [
        ["from", "New", "Returning"],
        ...data.starts.map((start, index) => [start, data.new[index], data.returning[index]]),
      ];
    case "paths":
      return [
        ["Source", "Target", "Users"],
        ...data.links.map(({ source, target, users }) => [source, target, users]),
        ...data.nodes.flatMap(({ id, ended }) => (ended ? [[id, "end", ended]] : [])),
      ];
    case "feed":
      return [
        ["createdAt", "channel", "name", "userId"],
        ...data.events.map(({ createdAt, channelId, name, userId }) => [createdAt, channelId, name, userId]),
      ];
    case "alerts":
      return [
        ["openedAt", "state", "title", "acknowledgedBy"],
        ...data.alerts.map(({ openedAt, state, title, acknowledgedBy = "" }) => [
          openedAt,
          state,
          title,
          acknowledgedBy,
        ]),
      ];
    case "value":
      return [["at", data.insight?.title ?? "value"], ...data.points.map(({ at, value }) => [at, value])];
    default:
      return [];
  }
}

function textOf(cell: Cell): string {
  return typeof cell === "string" ? cellOf(cell) : String(cell ?? "");
}

/** "Orders by country 2026-11-01 2026-11-07", without characters that a file name can't have. */
export function fileNameOf(title: string, range: BoardRange): string {
  const { from, to } = boundsOf(range);
  const safe = title.replace(/[^\p{L}\p{N} _-]+/gu, " ").trim() || "tile";
  return `${safe} ${dayOf(from)} ${dayOf(to)}`;
}

/** A picture of a tile, twice as large as on the screen. */
export async function pngOf(tile: HTMLElement): Promise<Blob> {
  const { toBlob } = await import("html-to-image");
  const fontEmbedCSS = await fontRules();
  tile.dataset.picture = "";
  try {
    const blob = await toBlob(tile, {
      pixelRatio: 2,
      fontEmbedCSS,
      // Exclude the tile's buttons.
      filter: (node) => !(node instanceof Element && node.matches(".tile-menu, [role=menu]")),
    });
    if (!blob) throw new Error("The browser made no picture of the tile.");
    return blob;
  } finally {
    delete tile.dataset.picture;
  }
}

/** The page's fonts as rules that contain them: a picture can't load files. */
async function fontRules(): Promise<string> {
  const rules = [...document.styleSheets].flatMap((sheet) =>
    [...sheet.cssRules].flatMap((rule) => (rule instanceof CSSFontFaceRule ? [{ sheet, rule }] : [])),
  );
  const texts = rules.map(async ({ sheet, rule }) => {
    const file = /url\("?([^")]+)"?\)/.exec(rule.cssText)?.[1];
    if (!file) return "";
    const response = await fetch(new URL(file, sheet.href ?? location.href));
    return rule.cssText.replace(file, await dataUrlOf(await response.blob()));
  });
  return (await Promise.all(texts)).join("\n");
}

function dataUrlOf(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}
