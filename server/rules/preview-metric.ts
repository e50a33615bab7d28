import { limits } from "../core/limits.ts";
import { AmountTree } from "./amount-tree.ts";
import { metric, onReading, stepMinutes } from "./metric.ts";
import { addsUp, changeOf, metricValue } from "./metric-value.ts";
import { amountsIn, type MetricSource, type Wanted, weekBefore } from "./read-metric.ts";
import { minuteMs, type RuleNotification } from "./rule-kind.ts";

/** The lines of a metric, and what its rule would have notified of. */
export type MetricLines = {
  stepMs: number;
  isCoarse: boolean;
  /** The ends of what is measured, ascending, milliseconds since 1970. */
  ends: number[];
  lines: MetricLine[];
};

/** One value for each reading. `of` is whose line it is; null for all events together. */
export type MetricLine = {
  of: string | null;
  values: (number | null)[];
  notifications: Extract<RuleNotification, { type: "metric" | "metric-recovery" }>[];
};

/** Readings of what doesn't add up are apart by so much: each reads its events by itself. */
const coarseMinutes = { users: 60, conversion: 24 * 60 };

/**
 * Reads a metric as its rule would have done, from `fromMs` on up to the last full minute before `nowMs`. For each
 * value by itself, these are the largest ones.
 */
export async function previewMetric(
  source: MetricSource,
  fromMs: number,
  nowMs: number,
): Promise<MetricLines> {
  const { when } = source;
  const { measure, minutes } = when;
  const coarse =
    measure.metric === "users" || measure.metric === "conversion" ? coarseMinutes[measure.metric] : 0;
  const isCoarse = !addsUp(measure);
  const stepMs = (isCoarse ? Math.max(minutes, coarse) : stepMinutes(when)) * minuteMs;
  const lastMs = Math.floor(nowMs / minuteMs) * minuteMs;
  const count = Math.max(1, Math.floor((lastMs - fromMs) / stepMs) + 1);
  const ends = Array.from({ length: count }, (_, index) => lastMs - (count - 1 - index) * stepMs);
  const lines = [...(await valuesAt(source, ends))].map(([of, values]) => ({
    of,
    values,
    notifications: notificationsOf(when, ends, values),
  }));
  return { stepMs, isCoarse, ends, lines };
}

function notificationsOf(
  when: MetricSource["when"],
  ends: readonly number[],
  values: readonly (number | null)[],
): MetricLine["notifications"] {
  let state = metric.start(ends[0]!);
  return ends.flatMap((endMs, index) => {
    // A reading is due a little after what it measures.
    const step = onReading(when, state, { dueMs: endMs + minuteMs / 2, value: values[index]! });
    state = step.state;
    return step.notifications as MetricLine["notifications"];
  });
}

type Values = Map<string | null, (number | null)[]>;

async function valuesAt(source: MetricSource, ends: readonly number[]): Promise<Values> {
  const { minutes, against } = source.when;
  const current = await windowsAt(source, ends, { largest: limits.metricPreviewLines });
  if (against === null) return current;
  const earlier = ends.map((ms) =>
    against === "before" ? ms - minutes * minuteMs : weekBefore(ms, source.timeZone),
  );
  const values = [...current.keys()].filter((value) => value !== null);
  const before = await windowsAt(source, earlier, { values });
  return new Map(
    [...current].map(([of, values]) => [
      of,
      values.map((value, index) => changeOf(value, before.get(of)?.[index] ?? null)),
    ]),
  );
}

/** The values of the windows that end at these times, ascending. */
async function windowsAt(source: MetricSource, ends: readonly number[], wanted: Wanted): Promise<Values> {
  const { measure, minutes } = source.when;
  const windowMs = minutes * minuteMs;
  const bounds = addsUp(measure) ? evenBounds(ends, windowMs) : edgesOf(ends, windowMs);
  const amounts = await amountsIn(source, bounds, wanted);
  const indexOf = new Map(bounds.map((ms, index) => [ms, index]));
  return new Map(
    [...amounts].map(([of, parts]) => {
      const tree = new AmountTree(measure, parts);
      const valueAt = (endMs: number) =>
        metricValue(measure, tree.between(indexOf.get(endMs - windowMs)!, indexOf.get(endMs)!));
      return [of, ends.map(valueAt)];
    }),
  );
}

/** Bounds so close that each window is made of whole parts, and no closer. */
function evenBounds(ends: readonly number[], windowMs: number): number[] {
  const fromMs = ends[0]! - windowMs;
  const partMs = ends.reduce((part, endMs) => greatestDivisor(part, endMs - fromMs), windowMs);
  return Array.from({ length: (ends.at(-1)! - fromMs) / partMs + 1 }, (_, index) => fromMs + index * partMs);
}

/** The bounds of windows that don't overlap. */
function edgesOf(ends: readonly number[], windowMs: number): number[] {
  return [...new Set(ends.flatMap((endMs) => [endMs - windowMs, endMs]))].sort((a, b) => a - b);
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

/** The times in which the rule would have had an open alert. `toMs` is null for one that is still open. */
export function firingSpans({ notifications }: MetricLine): { fromMs: number; toMs: number | null }[] {
  const spans: { fromMs: number; toMs: number | null }[] = [];
  for (const { type, atMs } of notifications)
    if (type === "metric") spans.push({ fromMs: atMs, toMs: null });
    else spans.at(-1)!.toMs = atMs;
  return spans;
}

/** The last reading of each part of the time, so that there are no more than a chart can show. */
export function shortenedEnds(ends: readonly number[]): number[] {
  return partsOf(ends).map((part) => part.at(-1)!);
}

/**
 * A value for each of these parts: the one that is nearest to the alert or beyond, so that no alert is without its
 * reason.
 */
export function shortenedValues(
  values: readonly (number | null)[],
  { below, change }: MetricSource["when"],
): (number | null)[] {
  const rank = (value: number | null) => {
    if (value === null) return Number.NEGATIVE_INFINITY;
    return below !== undefined ? -value : change !== undefined ? Math.abs(value) : value;
  };
  return partsOf(values).map((part) =>
    part.reduce((best, value) => (rank(value) > rank(best) ? value : best)),
  );
}

function partsOf<Each>(all: readonly Each[]): Each[][] {
  const size = Math.ceil(all.length / limits.metricPreviewValues);
  return Array.from({ length: Math.ceil(all.length / size) }, (_, part) =>
    all.slice(part * size, (part + 1) * size),
  );
}
