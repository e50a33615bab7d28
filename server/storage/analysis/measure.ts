import { Buckets } from "../histogram.ts";
import { addOnce, type TakeEntry } from "./add-once.ts";
import type { Batch } from "./batch.ts";
import { Groups } from "./groups.ts";
import { measureUsers } from "./measure-users.ts";
import type { MeasureQuery, Measures, Metric, Watch } from "./queries.ts";
import { openReading } from "./reading.ts";
import type { Combine, Sources } from "./scan.ts";

/**
 * Computes a metric for each bucket and in all. A split reads the events a second time if only then it is known which
 * values are its largest: for the users of the rest, for its events if these can have several values, or if there are too
 * many values to keep buckets for all.
 */
export async function measure(sources: Sources, query: MeasureQuery, watch: Watch): Promise<Measures> {
  const counted = await measureUsers(sources, query, watch);
  if (counted) return counted;
  const { projectId, filter, bounds, metric, tag, split, per } = query;
  const reading = await openReading(sources, {
    ...{ projectId, per, split },
    ...{ users: metric === "users", number: tag },
  });
  const { fields, scan, valuesOf } = reading;
  const batches = reading.batches([filter]);
  const { texts } = batches.values;
  if (query.values) batches.values.close(query.values);
  const buckets = new Buckets(bounds);
  const range = { fromMs: bounds[0]!, toMs: bounds.at(-1)! };
  let ignored = 0;
  /** Whether an event can be in several groups, or have several users. */
  const hasSeveral = split?.by === "group" || per !== undefined;

  const all = new Groups(metric, buckets.length);
  // Group 0 has the events without a value, and group n the value n of `batches.values`. Users of group 0 take less.
  const byValue = split && new Groups(metric, buckets.length);
  // Values that the query doesn't look at have no text.
  const groupOf = (value: number) => (value > texts.length ? 0 : value);
  await read(0, split ? 0.5 : 1, hasSeveral ? takeSeveral() : takeOne);
  const measured = { all: all.measured(0), ignored };
  if (!byValue) return { ...measured, series: [], rest: null };

  const groups = texts.map((text, index) => ({ text, group: index + 1 }));
  const top = byValue.largest(query.series, groups);
  const isTop = new Set(top.map(({ group }) => group));
  const others = [0, ...groups.map(({ group }) => group)].filter(
    (group) => !isTop.has(group) && byValue.has(group),
  );
  const restValue = others.length === 1 ? (texts[others[0]! - 1] ?? null) : null;
  if (byValue.isTotal) return { ...measured, ...(await readTop()) };
  const series = top.map(({ text, group }) => ({ value: text, ...byValue.measured(group) }));
  return { ...measured, series, rest: others.length > 0 ? await restOf(byValue) : null };

  async function restOf(byValue: Groups): Promise<Measures["rest"]> {
    if (others.length === 1) return { value: restValue, ...byValue.measured(others[0]!) };
    if (metric !== "users" && !hasSeveral) {
      const rest = texts.length + 1;
      byValue.merge(rest, others);
      return { value: null, ...byValue.measured(rest) };
    }
    const rest = new Groups(metric, buckets.length);
    const groupInRest = (value: number) => (isTop.has(value) ? null : 0);
    await read(0.5, 1, hasSeveral ? addOnce(rest, groupInRest, valuesOf) : takeRest);
    return { value: null, ...rest.measured(0) };

    function takeRest(batch: Batch, at: number, bucket: number): void {
      if (!isTop.has(batch.values[at]!)) rest.add(0, bucket, batch, at);
    }
  }

  /** Reads the events again, for the largest values and the rest. */
  async function readTop(): Promise<Pick<Measures, "series" | "rest">> {
    const groupOf = new Map(top.map(({ group }, index) => [group, index + 1]));
    const again = new Groups(metric, buckets.length, Number.POSITIVE_INFINITY);
    const groupAgain = (value: number) => groupOf.get(value) ?? 0;
    await read(0.5, 1, hasSeveral ? addOnce(again, groupAgain, valuesOf) : takeAgain);
    return {
      series: top.map(({ text }, index) => ({ value: text, ...again.measured(index + 1) })),
      rest: again.has(0) ? { value: restValue, ...again.measured(0) } : null,
    };

    function takeAgain(batch: Batch, at: number, bucket: number): void {
      again.add(groupAgain(batch.values[at]!), bucket, batch, at);
    }
  }

  function takeOne(batch: Batch, at: number, bucket: number): void {
    all.add(0, bucket, batch, at);
    byValue?.add(groupOf(batch.values[at]!), bucket, batch, at);
  }

  function takeSeveral(): TakeEntry {
    const toAll = addOnce(all, () => 0, valuesOf);
    const toValues = byValue && addOnce(byValue, groupOf, valuesOf);
    return (batch, at, bucket) => {
      toAll(batch, at, bucket);
      toValues?.(batch, at, bucket);
    };
  }

  /** Reads the events that count, as a part of the progress. */
  async function read(from: number, to: number, take: TakeEntry): Promise<void> {
    ignored = 0;
    const onProgress = (share: number) => watch.onProgress?.(from + share * (to - from));
    const onBatch = (batch: Batch) => {
      const { size, ms, counts, numbers, tagNumbers, repeats } = batch;
      for (let at = 0; at < size; at++) {
        if (tag !== undefined && Number.isNaN(tagNumbers.doubles[numbers[at]!]!)) {
          if (numbers[at] !== 0 && !repeats?.[at]) ignored += counts[at]!;
        } else take(batch, at, buckets.of(ms[at]!));
      }
    };
    await scan(
      { projectId, filters: [filter], range, fields, bounds, combine: combineOf(metric) },
      batches,
      onBatch,
      {
        ...watch,
        onProgress,
      },
    );
  }
}

/** What the metric needs of the numbers of a bucket. */
function combineOf(metric: Metric): Combine | undefined {
  if (metric === "events" || metric === "users") return undefined;
  return metric === "average" ? "sum" : metric;
}
