import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { filterOf } from "../event/event-query.ts";
import type { Progress } from "../http/progress.ts";
import type { Tile } from "../schemas/tile.ts";
import { analysisSplitOf, isOfEvents } from "../stats/filters.ts";
import type { CountQuery } from "../storage/event-queries.ts";
import type { Store } from "../storage/store.ts";
import type { Context } from "./tile-context.ts";

type Measured = Extract<Tile, { metric: string }>;
type Series = { value: string | null; total: number | null; values: (number | null)[] };
type Measurement = {
  /** One for each bucket. */
  all: (number | null)[];
  total: number | null;
  /** Of a split: its largest values, and the others together if there are several. One alone is in `series`. */
  series: Series[];
  rest: Series[];
};

type Measuring = {
  /** Where each bucket begins, and where the last one ends. */
  bounds: number[];
  progress: Progress;
  /** Without it, all events are measured together. */
  splitBy?: { split?: string | undefined; limit: number; values?: string[] };
};

/** Computes a tile's metric for each bucket, in all and for the given or the largest values of its split. */
export async function measure(
  { q, metric, tag, per }: Measured,
  { store: { events }, projectId }: Context,
  { bounds, progress, splitBy: { split: by, limit, values } = { limit: 1 } }: Measuring,
): Promise<Measurement> {
  const split = analysisSplitOf(by, per);
  const query = { projectId, filter: filterOf({ q }, []), bounds, series: limit, values };
  if (metric === "events" && isOfEvents(split))
    return countEvents(events, { ...query, ...(split && { split }) });
  const { all, series, rest } = await events.measure({ ...query, metric, tag, split, per }, progress);
  const shown = (rest ? [...series, rest] : series).map(({ value, values, overall }) => ({
    value,
    total: overall,
    values,
  }));
  return {
    all: all.values,
    total: all.overall,
    series: shown.filter(({ value }) => value !== null),
    rest: shown.filter(({ value }) => value === null),
  };
}

async function countEvents(events: Store["events"], query: CountQuery): Promise<Measurement> {
  // One more, in case it is all of the rest.
  const counts = await events.count({ ...query, series: query.series + 1 });
  if (!counts)
    throw problem("query-too-expensive", {
      detail: `The split has more than ${limits.statsSplitValues.toLocaleString("en")} values in this range. Use a shorter range, or a search that finds fewer events.`,
    });
  const { all } = counts;
  const isComplete = sum(all) === sum(counts.series.map(({ counts }) => sum(counts)));
  const series = isComplete ? counts.series : counts.series.slice(0, query.series);
  const left = all.map((count, bucket) => series.reduce((rest, { counts }) => rest - counts[bucket]!, count));
  const rest = sum(left);
  return {
    all,
    total: sum(all),
    series: series.map(({ value, counts }) => ({ value, total: sum(counts), values: counts })),
    rest: rest > 0 ? [{ value: null, total: rest, values: left }] : [],
  };
}

function sum(counts: number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
