import { filterOf } from "../event/event-query.ts";
import type { EventFilter } from "../event/filter.ts";
import { withSearch } from "../stats/filters.ts";
import type { EventAnalyzer, EventCounter } from "../storage/event-store.ts";
import { type Amount, changeOf, metricValue } from "./metric-value.ts";
import { minuteMs, type WhenOf } from "./rule-kind.ts";

type MetricEvents = Pick<EventCounter, "count"> & Pick<EventAnalyzer, "measure" | "funnel">;

/** What to measure, and where. */
export type MetricSource = {
  events: MetricEvents;
  projectId: number;
  q: string;
  when: WhenOf<"metric">;
  /** An IANA time zone, whose hours a week ago are compared. */
  timeZone: string;
  signal: AbortSignal;
};

/** The value of a rule's metric in its window that ends at `endMs`, milliseconds since 1970. */
export async function readMetric(source: MetricSource, endMs: number): Promise<number | null> {
  const { measure, minutes, against } = source.when;
  const windowMs = minutes * minuteMs;
  if (against === "before") {
    const [before, current] = await amountsIn(source, [endMs - 2 * windowMs, endMs - windowMs, endMs]);
    return changeOf(metricValue(measure, [current!]), metricValue(measure, [before!]));
  }
  const current = metricValue(measure, await amountsIn(source, [endMs - windowMs, endMs]));
  if (against === null) return current;
  const earlierMs = weekBefore(endMs, source.timeZone);
  const before = metricValue(measure, await amountsIn(source, [earlierMs - windowMs, earlierMs]));
  return changeOf(current, before);
}

/** The same time of day a week before, also if clocks have changed since. */
export function weekBefore(ms: number, timeZone: string): number {
  const time = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timeZone);
  return time.subtract({ weeks: 1 }).epochMilliseconds;
}

/**
 * What a rule measures in each part of a time.
 *
 * @param bounds - where each part begins, and the end of the last
 */
export async function amountsIn(
  { events, projectId, q, when: { measure }, signal }: Omit<MetricSource, "timeZone">,
  bounds: number[],
): Promise<Amount[]> {
  const filter = filterOf({ q }, []);
  const count = async (counted: EventFilter) =>
    (await events.count({ projectId, filter: counted, bounds, series: 0 }, signal))!.all;
  switch (measure.metric) {
    case "events":
      return (await count(filter)).map((count) => ({ total: count, count }));
    case "ratio": {
      const [part, all] = [await count(filter), await count(filterOf({ q: measure.of }, []))];
      return all.map((count, index) => ({ total: part[index]!, count }));
    }
    case "conversion": {
      const steps = measure.steps.map((step, index) => withSearch(filter, step, `Step ${index + 1}`));
      const windowMs = measure.windowSeconds * 1_000;
      const amounts: Amount[] = [];
      for (const [index, toMs] of bounds.slice(1).entries()) {
        const query = { projectId, range: { fromMs: bounds[index]!, toMs }, steps, windowMs, series: 1 };
        const { steps: taken } = await events.funnel(query, { signal });
        amounts.push({ total: taken.at(-1)!.users, count: taken[0]!.users });
      }
      return amounts;
    }
    default: {
      // A sum and the number of its numbers give the average of any time.
      const metric = measure.metric === "average" ? "sum" : measure.metric;
      const tag = "tag" in measure ? measure.tag : undefined;
      const { all } = await events.measure({ projectId, filter, bounds, metric, tag, series: 1 }, { signal });
      return all.counts.map((count, index) => ({ total: all.values[index]!, count }));
    }
  }
}
