import type { Event } from "../../server/event/event.ts";
import type { FeedEntry } from "./entries.ts";

/** Consecutive events of one day with the same channel and name. */
export type Run = {
  kind: "run";
  /** Stays the same while newer events join the run. */
  key: string;
  newest: FeedEntry;
  oldest: FeedEntry;
  count: number;
  isOpen: boolean;
};

/** A row of the feed: an event, a run of events, or a day heading. */
export type FeedRow = { index: number; shown: number } & (
  | { kind: "event"; entry: FeedEntry; run: Run | null }
  | Run
  | { kind: "day"; day: number; at: number }
);

/** From this many events on, a run is one row. */
const runMin = 3;

/**
 * The rows of a feed. `index` is the row's first entry; `shown` is how many entries are shown with this row and those
 * above it.
 *
 * @param unfolded - ids of events whose runs are shown in full; null shows all events
 */
export function toRows(entries: readonly FeedEntry[], unfolded: ReadonlySet<string> | null): FeedRow[] {
  const rows: FeedRow[] = [];
  let day = Number.NaN;
  for (let at = 0; at < entries.length; ) {
    const first = entries[at]!;
    if (first.day !== day) {
      day = first.day;
      rows.push({ kind: "day", day, at: first.at, index: at, shown: at });
    }
    const end = unfolded ? endOfRun(entries, at) : at + 1;
    const run = unfolded && end - at >= runMin ? runOf(entries, at, end, unfolded) : null;
    if (run) rows.push({ ...run, index: at, shown: run.isOpen ? at : end });
    if (!run || run.isOpen) {
      for (let index = at; index < end; index++) {
        rows.push({ kind: "event", entry: entries[index]!, run, index, shown: index + 1 });
      }
    }
    at = end;
  }
  return rows;
}

function endOfRun(entries: readonly FeedEntry[], start: number): number {
  const { day, event } = entries[start]!;
  let end = start + 1;
  for (; end < entries.length; end++) {
    const next = entries[end]!;
    if (next.event.name !== event.name || next.event.channelId !== event.channelId || next.day !== day) break;
  }
  return end;
}

function runOf(
  entries: readonly FeedEntry[],
  start: number,
  end: number,
  unfolded: ReadonlySet<string>,
): Run {
  let isOpen = false;
  for (let index = start; unfolded.size > 0 && index < end && !isOpen; index++)
    isOpen = unfolded.has(entries[index]!.event.id);
  const [newest, oldest] = [entries[start]!, entries[end - 1]!];
  return { kind: "run", key: `run-${oldest.event.id}`, newest, oldest, count: end - start, isOpen };
}

/** Unfolds a run, or folds it. Both ends stand for it, because events join it there. */
export function toggled(
  unfolded: ReadonlySet<string>,
  run: Run,
  entries: readonly FeedEntry[],
  index: number,
): Set<string> {
  const next = new Set(unfolded);
  if (run.isOpen) for (const { event } of entries.slice(index, index + run.count)) next.delete(event.id);
  else next.add(run.newest.event.id).add(run.oldest.event.id);
  return next;
}

/** Identifies a row among all. */
export function keyOf(row: FeedRow): string {
  if (row.kind === "day") return `day-${row.day}`;
  return row.kind === "run" ? row.key : row.entry.event.id;
}

/** Heights are known without measuring, so thousands of rows cost nothing and never jump. */
export function heightOf(
  row: FeedRow,
  { isNarrow, isCompact }: { isNarrow: boolean; isCompact: boolean },
): number {
  if (row.kind === "day") return isCompact ? 28 : 32;
  if (isCompact) return isNarrow ? 44 : 32;
  if (!isNarrow) return 52;
  return row.kind === "event" && Object.keys(row.entry.event.tags).length > 0 ? 96 : 60;
}

const tagKeysMax = 20;

/** The keys that most of the newest events' tags have. */
export function tagKeysOf(entries: readonly { event: Pick<Event, "tags"> }[]): string[] {
  const counts = new Map<string, number>();
  for (const { event } of entries.slice(0, 200))
    for (const key of Object.keys(event.tags)) counts.set(key, (counts.get(key) ?? 0) + 1);
  const byCount = [...counts].sort(([, a], [, b]) => b - a);
  return byCount.slice(0, tagKeysMax).map(([key]) => key);
}
