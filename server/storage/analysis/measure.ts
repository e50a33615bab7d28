import { Buckets } from "../histogram.ts";
import { type Batch, Batches } from "./batch.ts";
import { Groups } from "./groups.ts";
import { Users } from "./numbered.ts";
import { scanFor } from "./property-split.ts";
import type { MeasureQuery, Measures, Watch } from "./queries.ts";
import type { Sources } from "./scan.ts";

/**
 * Computes a metric for each bucket and in all. A split reads the events a second time if only then it is known which
 * values are its largest: for the rest's users, or if there are too many values to keep buckets for all.
 */
export async function measure(sources: Sources, query: MeasureQuery, watch: Watch): Promise<Measures> {
  const { projectId, filter, bounds, metric, tag, split } = query;
  const { scan, ofEvents } = scanFor(sources, split);
  const fields = { users: metric === "users" || split?.by === "user", split: ofEvents, number: tag };
  const people = fields.users ? await sources.readPeople(projectId) : null;
  const batches = new Batches(fields, [filter], new Users(people));
  const { texts } = batches.values;
  if (query.values) batches.values.close(query.values);
  const buckets = new Buckets(bounds);
  const range = { fromMs: bounds[0]!, toMs: bounds.at(-1)! };
  let ignored = 0;

  const all = new Groups(metric, buckets.length);
  // Group 0 has the events without a value, and group n the value n of `batches.values`. Users of group 0 take less.
  const byValue = split && new Groups(metric, buckets.length);
  await read(0, split ? 0.5 : 1, ({ users, values, numbers, tagNumbers }, at, bucket) => {
    all.add(0, bucket, users[at]!, tagNumbers, numbers[at]!);
    // Values that the query doesn't look at have no text.
    const value = values[at]! > texts.length ? 0 : values[at]!;
    byValue?.add(value, bucket, users[at]!, tagNumbers, numbers[at]!);
  });
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
    if (metric !== "users") {
      const rest = texts.length + 1;
      byValue.merge(rest, others);
      return { value: null, ...byValue.measured(rest) };
    }
    const rest = new Groups(metric, buckets.length);
    await read(0.5, 1, ({ users, values, numbers, tagNumbers }, at, bucket) => {
      if (!isTop.has(values[at]!)) rest.add(0, bucket, users[at]!, tagNumbers, numbers[at]!);
    });
    return { value: null, ...rest.measured(0) };
  }

  /** Reads the events again, for the largest values and the rest. */
  async function readTop(): Promise<Pick<Measures, "series" | "rest">> {
    const groupOf = new Map(top.map(({ group }, index) => [group, index + 1]));
    const again = new Groups(metric, buckets.length, Number.POSITIVE_INFINITY);
    await read(0.5, 1, ({ users, values, numbers, tagNumbers }, at, bucket) => {
      again.add(groupOf.get(values[at]!) ?? 0, bucket, users[at]!, tagNumbers, numbers[at]!);
    });
    return {
      series: top.map(({ text }, index) => ({ value: text, ...again.measured(index + 1) })),
      rest: again.has(0) ? { value: restValue, ...again.measured(0) } : null,
    };
  }

  /** Reads the events that count, as a part of the progress. */
  async function read(
    from: number,
    to: number,
    take: (batch: Batch, at: number, bucket: number) => void,
  ): Promise<void> {
    ignored = 0;
    const onProgress = (share: number) => watch.onProgress?.(from + share * (to - from));
    const onBatch = (batch: Batch) => {
      const { size, ms, numbers, tagNumbers } = batch;
      for (let at = 0; at < size; at++) {
        if (tag !== undefined && Number.isNaN(tagNumbers.doubles[numbers[at]!]!)) {
          if (numbers[at] !== 0) ignored++;
        } else take(batch, at, buckets.of(ms[at]!));
      }
    };
    await scan({ projectId, filters: [filter], range, fields }, batches, onBatch, { ...watch, onProgress });
  }
}
