import type { MetricCondition, RuleMeasure } from "../schemas/metric-condition.ts";

/**
 * The amount measured in a part of time. `total` of `count`: of an average, the sum of so many numbers; of a ratio and
 * a conversion, the events or users of so many. `total` is null if there is none.
 */
export type Amount = { total: number | null; count: number };

/** Whether the amounts of parts of time add up to that of the whole. Different users and those in funnels don't. */
export function addsUp({ metric }: RuleMeasure): boolean {
  return metric !== "users" && metric !== "conversion";
}

/** Whether the value is in percent. */
export function isPercentage({ measure, against }: Pick<MetricCondition, "measure" | "against">): boolean {
  return against !== null || measure.metric === "ratio" || measure.metric === "conversion";
}

/** The value of consecutive parts of time; null if there is none, such as the average of no numbers. */
export function metricValue({ metric }: RuleMeasure, amounts: readonly Amount[]): number | null {
  const count = amounts.reduce((sum, each) => sum + each.count, 0);
  const total = amounts.reduce((sum, each) => sum + (each.total ?? 0), 0);
  switch (metric) {
    case "events":
    case "users":
    case "sum":
      return total;
    case "average":
      return count === 0 ? null : total / count;
    case "ratio":
    case "conversion":
      return count === 0 ? null : (total / count) * 100;
    case "minimum":
    case "maximum": {
      const known = amounts.flatMap(({ total }) => (total === null ? [] : [total]));
      if (known.length === 0) return null;
      return known.reduce((a, b) => (metric === "minimum" ? Math.min(a, b) : Math.max(a, b)));
    }
  }
}

/** The change in percent. Null if there is nothing to compare with: a change of nothing to something has no size. */
export function changeOf(current: number | null, before: number | null): number | null {
  if (current === null || before === null) return null;
  if (before === 0) return current === 0 ? 0 : null;
  return ((current - before) / Math.abs(before)) * 100;
}

type Threshold = Pick<MetricCondition, "above" | "below" | "change" | "clear" | "noData">;

/** Whether a value is beyond the threshold. */
export function isBeyond({ above, below, change, noData }: Threshold, value: number | null): boolean {
  if (value === null) return noData === "alert";
  if (above !== undefined) return value > above;
  if (below !== undefined) return value < below;
  return Math.abs(value) > change!;
}

/** Whether a value is back so far that the alert ends. */
export function isBack({ above, below, change, clear, noData }: Threshold, value: number | null): boolean {
  if (value === null) return noData === "ok";
  if (above !== undefined) return value <= (clear ?? above);
  if (below !== undefined) return value >= (clear ?? below);
  return Math.abs(value) <= (clear ?? change!);
}
