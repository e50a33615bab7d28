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

const tagKeysMax = 20;

/** The keys that most of the newest events' tags have. */
export function tagKeysOf(entries: readonly Entry[]): string[] {
  const counts = new Map<string, number>();
  for (const { event } of entries.slice(0, 200))
    for (const key of Object.keys(event.tags)) counts.set(key, (counts.get(key) ?? 0) + 1);
  const byCount = [...counts].sort(([, a], [, b]) => b - a);
  return byCount.slice(0, tagKeysMax).map(([key]) => key);
}
