import { formatDate } from "../components/dates.ts";
import type { Entry } from "./entries.ts";

/** A row of the feed: an event or a day heading. */
export type Row = { kind: "event"; entry: Entry; index: number } | { kind: "day"; day: number; at: number };

export function toRows(entries: readonly Entry[]): Row[] {
  const rows: Row[] = [];
  let day = Number.NaN;
  for (const [index, entry] of entries.entries()) {
    if (entry.day !== day) {
      day = entry.day;
      rows.push({ kind: "day", day, at: entry.at });
    }
    rows.push({ kind: "event", entry, index });
  }
  return rows;
}

/** Heights are known without measuring, so thousands of rows cost nothing and never jump. */
export function heightOf(row: Row, narrow: boolean): number {
  if (row.kind === "day") return 32;
  if (!narrow) return 52;
  return Object.keys(row.entry.event.tags).length > 0 ? 96 : 60;
}

export function dayLabel(at: number): string {
  const date = new Date(at);
  const today = new Date();
  const yesterday = new Date();
  yesterday.setDate(today.getDate() - 1);
  if (date.toDateString() === today.toDateString()) return "Today";
  if (date.toDateString() === yesterday.toDateString()) return "Yesterday";
  return formatDate(at, date.getFullYear() === today.getFullYear() ? "weekday" : "long");
}
