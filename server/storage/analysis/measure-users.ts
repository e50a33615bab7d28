import { limits } from "../../core/limits.ts";
import type { UserCell, UserCounter } from "./aggregates.ts";
import type { Measured, MeasureQuery, Measures, Watch } from "./queries.ts";
import type { Sources } from "./scan.ts";
import { TooLargeError } from "./too-large.ts";

/** Counts users as `measure` does, by an engine that can; null if it can't. Throws `TooLargeError`. */
export async function measureUsers(
  { aggregates }: Sources,
  query: MeasureQuery,
  watch: Watch,
): Promise<Measures | null> {
  const { projectId, filter, bounds, metric, split, per, values } = query;
  if (!aggregates || metric !== "users" || per !== undefined) return null;
  if (split?.by === "user" || split?.by === "group") return null;
  const range = { fromMs: bounds[0]!, toMs: bounds.at(-1)! };
  return aggregates.users({ projectId, filter, range, split, values }, watch, (counter) =>
    measuresOf(counter, query),
  );
}

async function measuresOf(
  counter: UserCounter,
  { bounds, split, series: seriesMax }: MeasureQuery,
): Promise<Measures> {
  // One more than can be used, and the events without a value.
  const counts = split ? await counter.byValue(limits.statsSplitValues + 2) : [];
  const found = counts.flatMap(({ value, users }) => (value === null ? [] : { value, users }));
  TooLargeError.check("values", found.length - 1);
  const top = found
    .sort((a, b) => b.users - a.users || (a.value < b.value ? -1 : 1))
    .slice(0, seriesMax)
    .map(({ value }) => value);
  const cells = Map.groupBy(await counter.byBucket(bounds, top), ({ series }) => series);
  const measured = (series: number | null) => measuredOf(cells.get(series) ?? [], bounds.length - 1);
  const isTop = new Set<string | null>(top);
  const others = counts.filter(({ value }) => !isTop.has(value));
  return {
    all: measured(null),
    ignored: 0,
    series: top.map((value, index) => ({ value, ...measured(index + 1) })),
    rest: others.length > 0 ? { value: others.length === 1 ? others[0]!.value : null, ...measured(0) } : null,
  };
}

/** @param cells - those of one series */
function measuredOf(cells: readonly UserCell[], buckets: number): Measured {
  const ofBucket = (count: (cell: UserCell) => number) => {
    const numbers = new Array<number>(buckets).fill(0);
    for (const cell of cells) if (cell.bucket !== null) numbers[cell.bucket] = count(cell);
    return numbers;
  };
  return {
    counts: ofBucket(({ events }) => events),
    values: ofBucket(({ users }) => users),
    overall: cells.find(({ bucket }) => bucket === null)?.users ?? 0,
  };
}
