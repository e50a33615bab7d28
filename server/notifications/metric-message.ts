import { isPercentage } from "../rules/metric-value.ts";
import { minuteMs, type ReadMetric, type WhenOf } from "../rules/rule-kind.ts";
import type { RuleMeasure } from "../schemas/metric-condition.ts";
import { formatDuration } from "./format-duration.ts";

type When = WhenOf<"metric">;

/** Whether a value is what it should be again, or by what it isn't: "Average of ms is 512, above 500". */
export function titleOfMetric({
  type,
  value,
  when,
  sinceMs,
  atMs,
}: ReadMetric & { type: string; atMs: number }): string {
  if (type === "metric-recovery")
    return `${nameOf(when.measure)} ${isOrChanged(when, value)} again, after ${formatDuration(atMs - sinceMs)}`;
  const beyond = value === null ? "" : `, ${thresholdOf(when)}`;
  return `${nameOf(when.measure)} ${isOrChanged(when, value)}${beyond}`;
}

/** The measured value, and the condition of its rule. */
export function textOfMetric({ when }: ReadMetric): string {
  const { minutes, against, pendingMinutes, clear } = when;
  const parts = [
    `Measured over ${formatDuration(minutes * minuteMs)}`,
    ...(against === null ? [] : [`, against ${against === "before" ? "the time before" : "a week before"}`]),
    `. It alerts ${thresholdOf(when)}`,
    ...(pendingMinutes === 0 ? [] : [` for ${formatDuration(pendingMinutes * minuteMs)}`]),
    ...(clear === null ? [] : [`, and ends at ${amountOf(when, clear)}`]),
    ".",
  ];
  return parts.join("");
}

function isOrChanged(when: When, value: number | null): string {
  if (value === null) return "has no value";
  if (when.against === null) return `is ${amountOf(when, value)}`;
  if (value === 0) return "has not changed";
  return `${value > 0 ? "rose" : "fell"} by ${amountOf(when, Math.abs(value))}`;
}

function thresholdOf(when: When): string {
  const { above, below, change } = when;
  if (above !== undefined) return `above ${amountOf(when, above)}`;
  if (below !== undefined) return `below ${amountOf(when, below)}`;
  return `more than ${amountOf(when, change!)}`;
}

function nameOf(measure: RuleMeasure): string {
  switch (measure.metric) {
    case "events":
      return "Number of events";
    case "users":
      return "Number of users";
    case "ratio":
      return "Ratio";
    case "conversion":
      return "Conversion";
    default:
      return `${measure.metric.charAt(0).toUpperCase()}${measure.metric.slice(1)} of ${measure.tag}`;
  }
}

function amountOf(when: When, value: number): string {
  const text = value.toLocaleString("en", {
    maximumSignificantDigits: Math.abs(value) < 1_000 ? 4 : 15,
    maximumFractionDigits: 2,
  });
  return isPercentage(when) ? `${text}%` : text;
}
