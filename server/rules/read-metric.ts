import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { filterOf } from "../event/event-query.ts";
import type { EventFilter } from "../event/filter.ts";
import { splitOf, withSearch } from "../stats/filters.ts";
import type { EventAnalyzer, EventCounter } from "../storage/event-store.ts";
import type { Split } from "../storage/split.ts";
import { type Amount, changeOf, metricValue } from "./metric-value.ts";
import { minuteMs, type WhenOf } from "./rule-kind.ts";

type MetricEvents = Pick<EventCounter, "count"> & Pick<EventAnalyzer, "measure" | "funnel">;

/** The measure, and its events. */
export type MetricSource = {
  events: MetricEvents;
  projectId: number;
  q: string;
  when: WhenOf<"metric">;
  /** The field of which each value is measured by itself; null for all events together. */
  forEach: string | null;
  /** An IANA time zone, whose hours a week ago are compared. */
  timeZone: string;
  signal: AbortSignal;
};

/** Amounts of consecutive parts of time by value; of all events together, at null. */
export type Amounts = Map<string | null, Amount[]>;

/** Which values of a split are read: so many, the largest first, or these. */
export type Wanted = { largest: number } | { values: readonly string[] };

/** A value that was read. `isPresent`: there were events in its window. */
export type ReadValue = { value: number | null; isPresent: boolean };

/**
 * The values of a rule's metric in the window that ends at `endMs`, milliseconds since 1970; of all events together, at
 * null. For each value by itself, these are the largest ones and those that are known.
 */
export async function readMetric(
  source: MetricSource,
  endMs: number,
  known: readonly string[] = [],
): Promise<Map<string | null, ReadValue>> {
  const { measure, minutes, against } = source.when;
  const windowMs = minutes * minuteMs;
  const withBefore = against === "before";
  const amounts = await withKnown(
    source,
    [...(withBefore ? [endMs - 2 * windowMs] : []), endMs - windowMs, endMs],
    known,
  );
  const earlierMs = against === "week" ? weekBefore(endMs, source.timeZone) : null;
  const keys = [...amounts.keys()];
  const earlier =
    earlierMs === null
      ? amounts
      : await amountsIn(source, [earlierMs - windowMs, earlierMs], {
          values: keys.filter((key) => key !== null),
        });
  return new Map(
    keys.map((key) => {
      const current = amounts.get(key)!.at(-1)!;
      const value = metricValue(measure, [current]);
      if (against === null) return [key, { value, isPresent: current.count > 0 }];
      const before = metricValue(measure, (earlier.get(key) ?? []).slice(0, 1));
      return [key, { value: changeOf(value, before), isPresent: current.count > 0 }];
    }),
  );
}

/** The amounts of the largest values, and of known ones, which may be small or have no events. */
async function withKnown(source: MetricSource, bounds: number[], known: readonly string[]): Promise<Amounts> {
  const largest = await amountsIn(source, bounds, { largest: limits.metricValues });
  const missing = known.filter((value) => !largest.has(value));
  if (missing.length === 0) return largest;
  const found = await amountsIn(source, bounds, { values: missing });
  const none = bounds.slice(1).map((): Amount => ({ total: null, count: 0 }));
  for (const value of missing) largest.set(value, found.get(value) ?? none);
  return largest;
}

/** The same time of day a week before, also if clocks have changed since. */
export function weekBefore(ms: number, timeZone: string): number {
  const time = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timeZone);
  return time.subtract({ weeks: 1 }).epochMilliseconds;
}

/**
 * Measures each part of a time.
 *
 * @param bounds - where each part begins, and the end of the last
 *
 * Throws `query-too-expensive` if a split has too many values.
 */
export async function amountsIn(source: MetricSource, bounds: number[], wanted: Wanted): Promise<Amounts> {
  const { events, projectId, q, when, forEach, signal } = source;
  const { measure } = when;
  const filter = filterOf({ q }, []);
  const query = {
    projectId,
    bounds,
    ...(forEach === null ? { series: 0 } : splitQuery(splitOf(forEach), wanted)),
  };

  async function count(
    counted: EventFilter,
    of: typeof query = query,
  ): Promise<Map<string | null, number[]>> {
    const counts = await events.count({ ...of, filter: counted }, signal);
    if (!counts) throw tooManyValues(forEach!);
    return forEach === null ? new Map([[null, counts.all]]) : byValue(counts.series, ({ counts }) => counts);
  }

  switch (measure.metric) {
    case "events":
      return amountsOf(await count(filter), (counts) => counts.map((count) => ({ total: count, count })));
    case "ratio": {
      const all = await count(filterOf({ q: measure.of }, []));
      const values = [...all.keys()].filter((value) => value !== null);
      const part = await count(
        filter,
        forEach === null ? query : { ...query, ...splitQuery(splitOf(forEach), { values }) },
      );
      return amountsOf(all, (counts, value) =>
        counts.map((count, index) => ({ total: part.get(value)?.[index] ?? 0, count })),
      );
    }
    case "conversion": {
      const steps = measure.steps.map((step, index) => withSearch(filter, step, `Step ${index + 1}`));
      const windowMs = measure.windowSeconds * 1_000;
      const amounts: Amount[] = [];
      for (const [index, toMs] of bounds.slice(1).entries()) {
        const range = { fromMs: bounds[index]!, toMs };
        const { steps: taken } = await events.funnel(
          { projectId, range, steps, windowMs, series: 1 },
          { signal },
        );
        amounts.push({ total: taken.at(-1)!.users, count: taken[0]!.users });
      }
      return new Map([[null, amounts]]);
    }
    default: {
      // A sum and the number of its numbers give the average of any time.
      const metric = measure.metric === "average" ? "sum" : measure.metric;
      const tag = "tag" in measure ? measure.tag : undefined;
      const { all, series } = await events.measure({ ...query, filter, metric, tag }, { signal });
      const measured = forEach === null ? new Map([[null, all]]) : byValue(series, (each) => each);
      return amountsOf(measured, ({ counts, values }) =>
        counts.map((count, index) => ({ total: values[index]!, count })),
      );
    }
  }
}

function splitQuery(split: Split, wanted: Wanted) {
  return "values" in wanted
    ? { split, values: wanted.values, series: wanted.values.length }
    : { split, series: wanted.largest };
}

/** Without empty values, and those that are too long to be followed. */
function byValue<Each extends { value: string }, Own>(
  series: readonly Each[],
  of: (each: Each) => Own,
): Map<string | null, Own> {
  const followed = series.filter(({ value }) => value !== "" && value.length <= limits.ruleValueCharacters);
  return new Map(followed.map((each) => [each.value, of(each)]));
}

function amountsOf<Own>(
  values: ReadonlyMap<string | null, Own>,
  amounts: (own: Own, value: string | null) => Amount[],
): Amounts {
  return new Map([...values].map(([value, own]) => [value, amounts(own, value)]));
}

function tooManyValues(forEach: string) {
  return problem("query-too-expensive", {
    detail: `"${forEach}" has more than ${limits.statsSplitValues.toLocaleString("en")} values. Use a search that matches fewer events, or a shorter time.`,
  });
}
