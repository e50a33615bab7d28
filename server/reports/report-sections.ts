import { limits } from "../core/limits.ts";
import type { ReportSection } from "../notifications/report-content.ts";
import { countedTitle, countedWords } from "../schemas/group-texts.ts";
import { stepNameOf } from "../schemas/step-name.ts";
import type { Tile, TileOf } from "../schemas/tile.ts";
import type { TileDataOf } from "../schemas/tile-data.ts";
import { labelOf, metricText, othersText, splitHead, titleOf } from "../schemas/tile-texts.ts";
import { amountText, changeText, shareText, withUnit } from "./report-amounts.ts";
import type { ComputedTile } from "./report-tiles.ts";

/** How a section speaks of the period before, and tells times. */
type Style = { compared: string; timeZone: string };

const empty = { value: null, change: null, head: [], rows: [], text: null, note: null };

/** A tile of a report as texts. */
export function sectionOf({ tile, data, before, problem }: ComputedTile, style: Style): ReportSection {
  const section = { ...empty, title: titleOf(tile) };
  if (data === null) return { ...section, note: problem };
  const earlier = before?.type === data.type ? before : null;
  switch (data.type) {
    case "number":
      return {
        ...section,
        value: withUnit(data.value, data.unit),
        change: changeText(data.value, (earlier as TileDataOf<"number"> | null)?.value, style.compared),
      };
    case "line":
    case "area":
    case "bar": {
      const split = (tile as TileOf<"line">).split;
      const { total } = (earlier as TileDataOf<"line"> | null) ?? {};
      return {
        ...section,
        value: amountText(data.total),
        change: changeText(data.total, total, style.compared),
        ...(split !== undefined && tableOf(split, tile, data.series)),
      };
    }
    case "table":
      return {
        ...section,
        ...tableOf((tile as TileOf<"table">).split, tile, data.rows),
        ...(data.rows.length === 0 && { note: "No events in this period." }),
      };
    case "funnel":
      return { ...section, ...funnelOf(tile as TileOf<"funnel">, data) };
    case "retention":
      return { ...section, ...retentionOf(tile as TileOf<"retention">, data, style) };
    case "stickiness":
      return { ...section, ...stickinessOf(tile as TileOf<"stickiness">, data) };
    case "lifecycle": {
      const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
      const rows = [
        ["New", amountText(sum(data.new))],
        ["All", amountText(data.users)],
      ];
      const head = [countedTitle((tile as TileOf<"lifecycle">).per), "Count"];
      return { ...section, value: amountText(sum(data.new)), head, rows };
    }
    case "paths":
      return { ...section, ...pathsOf(data) };
    case "alerts":
      return { ...section, ...alertsOf(data, style) };
    case "feed":
      return { ...section, ...feedOf(data, style) };
    case "value": {
      const { insight, points } = data;
      if (!insight) return { ...section, note: "Not set yet." };
      return {
        ...section,
        title: tile.title || insight.title || section.title,
        value: amountText(insight.value),
        change: points.length > 1 ? changeText(insight.value, points[0]!.value, "the period's start") : null,
      };
    }
    case "text":
      return { ...section, title: tile.title, text: (tile as TileOf<"text">).text };
  }
}

type Rows = readonly { value: string | null; name?: string | undefined; total: number | null }[];

function tableOf(split: string, tile: Tile, rows: Rows): Pick<ReportSection, "head" | "rows"> {
  return {
    head: [splitHead(split), "metric" in tile || "show" in tile ? metricText(tile) : ""],
    rows: rows.slice(0, limits.reportRows).map((row) => [labelOf(row, true), amountText(row.total)]),
  };
}

/** The names of a funnel's steps; a search stands for itself. */
export function stepTexts({ steps, stepNames }: TileOf<"funnel">): string[] {
  return steps.map((q, index) => stepNameOf(q, stepNames?.[index]) ?? q);
}

function funnelOf(tile: TileOf<"funnel">, { steps }: TileDataOf<"funnel">): Partial<ReportSection> {
  const { per } = tile;
  if ((steps[0]?.users ?? 0) === 0)
    return { note: `No ${countedWords(per)[1]} took the first step in this period.` };
  const names = stepTexts(tile);
  return {
    head: ["Step", countedTitle(per), "Share"],
    rows: steps.map(({ users, conversion }, index) => [
      names[index]!,
      amountText(users),
      shareText(conversion ?? 0),
    ]),
  };
}

/** Weeks from the first on that a report has room for. */
const retentionWeeks = 4;

function retentionOf(
  { per }: TileOf<"retention">,
  { cohorts, starts }: TileDataOf<"retention">,
  { timeZone }: Style,
): Partial<ReportSection> {
  if (cohorts.every(({ users }) => users === 0))
    return { note: `No ${countedWords(per)[1]} in this period.` };
  const weeks = Math.min(retentionWeeks, Math.max(0, ...cohorts.map(({ returned }) => returned.length)));
  const day = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone });
  return {
    head: ["Week of", countedTitle(per), ...Array.from({ length: weeks }, (_, week) => `+${week}`)],
    rows: cohorts
      .slice(-limits.reportRows)
      .map(({ users, returned }, index) => [
        day.format(new Date(starts[Math.max(0, cohorts.length - limits.reportRows) + index]!)),
        amountText(users),
        ...Array.from({ length: weeks }, (_, week) =>
          returned[week] === undefined || users === 0 ? "" : shareText(returned[week] / users),
        ),
      ]),
  };
}

function stickinessOf({ per }: TileOf<"stickiness">, data: TileDataOf<"stickiness">): Partial<ReportSection> {
  if (data.users === 0) return { note: `No ${countedWords(per)[1]} in this period.` };
  const rows = data.ratios.map(({ days, users, average, ratio }) => [
    `Last ${days} days`,
    amountText(users),
    amountText(Math.round(average)),
    shareText(ratio ?? 0),
  ]);
  const head = rows.length > 0 ? ["", countedTitle(per), "A day", "Share"] : [];
  return { value: shareText(data.stickiness ?? 0), head, rows };
}

function pathsOf({ users, nodes }: TileDataOf<"paths">): Partial<ReportSection> {
  if (users === 0) return { note: "No users had the event in this period." };
  const rows = nodes
    .filter(({ step }) => step > 0)
    .slice(0, limits.reportRows)
    .map((node) => [String(node.step), node.name ?? othersText(node), amountText(node.users)]);
  return { value: amountText(users), head: ["Step", "Event", "Users"], rows };
}

function alertsOf({ open, alerts }: TileDataOf<"alerts">, { timeZone }: Style): Partial<ReportSection> {
  if (open === 0) return { note: "Nothing is wrong." };
  const rows = alerts
    .slice(0, limits.reportEvents)
    .map(({ title, openedAt }) => [title, shortTime(timeZone).format(new Date(openedAt))]);
  return { value: String(open), head: ["Alert", "Open since"], rows };
}

function shortTime(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat("en", {
    ...{ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" },
    ...{ hourCycle: "h23", timeZone },
  });
}

function feedOf({ events }: TileDataOf<"feed">, { timeZone }: Style): Partial<ReportSection> {
  if (events.length === 0) return { note: "No events in this period." };
  const time = shortTime(timeZone);
  return {
    head: ["Event", "Channel", "Time"],
    rows: events
      .slice(0, limits.reportEvents)
      .map(({ name, channelId, createdAt }) => [name, channelId, time.format(new Date(createdAt))]),
  };
}
