import { isPercentage } from "../../server/rules/metric-value.ts";
import type { MetricCondition, RuleMeasure } from "../../server/schemas/metric-condition.ts";
import { formatAmount } from "../components/locale.ts";
import { durationText } from "./rules.ts";

/** The names of metrics, as a form offers them. */
export const metricLabels: Record<RuleMeasure["metric"], string> = {
  events: "Events",
  users: "Users",
  sum: "Sum of a tag",
  average: "Average of a tag",
  minimum: "Minimum of a tag",
  maximum: "Maximum of a tag",
  ratio: "Ratio of two searches",
  conversion: "Conversion of a funnel",
};

/** "42", or "42%" if the condition is about a share or a change. */
export function valueText(when: Pick<MetricCondition, "measure" | "against">, value: number | null): string {
  if (value === null) return "no value";
  return `${formatAmount(value)}${isPercentage(when) ? "%" : ""}`;
}

/**
 * The words before and after the search of a rule about a metric: "If the average of ms in events", " in the last …".
 */
export function metricTexts(when: MetricCondition): [before: string, after: string] {
  const { minutes, pendingMinutes, against } = when;
  const held = pendingMinutes === 0 ? "" : ` for ${durationText(pendingMinutes)}`;
  const compared =
    against === null ? "" : against === "before" ? " against the time before" : " against a week before";
  return [
    `If ${subjectOf(when.measure)}`,
    `${objectOf(when.measure)}, over ${durationText(minutes)}, ${thresholdText(when)}${compared}${held}`,
  ];
}

/** "is above 500", "has changed by more than 50%". */
function thresholdText(when: MetricCondition): string {
  const { above, below, change, against } = when;
  if (change !== undefined) return `has changed by more than ${valueText(when, change)}`;
  if (against === null)
    return above !== undefined ? `is above ${valueText(when, above)}` : `is below ${valueText(when, below!)}`;
  return above !== undefined
    ? `is up by more than ${valueText(when, above)}`
    : `is down by more than ${valueText(when, Math.abs(below!))}`;
}

function subjectOf(measure: RuleMeasure): string {
  switch (measure.metric) {
    case "events":
      return "the number of events";
    case "users":
      return "the number of users with events";
    case "ratio":
      return "the share of events";
    case "conversion":
      return "the conversion with events";
    default:
      return `the ${measure.metric} of ${measure.tag} in events`;
  }
}

function objectOf(measure: RuleMeasure): string {
  if (measure.metric === "ratio")
    return ` in ${measure.of === "" ? "all events" : `those matching ${measure.of}`}`;
  if (measure.metric === "conversion") return ` through ${measure.steps.length} steps`;
  return "";
}
