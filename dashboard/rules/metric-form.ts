import type { MetricCondition, RuleMeasure } from "../../server/schemas/metric-condition.ts";
import { minutesOf, type Unit } from "./rules.ts";

/** The fields of a rule about a metric. Numbers are texts, as they are typed. */
export type MetricForm = {
  metric: RuleMeasure["metric"];
  tag: string;
  /** Of a ratio: the search for the events that are 100 percent. */
  of: string;
  /** Of a conversion. */
  steps: string[];
  windowHours: string;
  amount: string;
  unit: Unit;
  compare: "above" | "below" | "change";
  /** Empty: the metric itself. */
  against: "" | "before" | "week";
  /** The threshold. */
  above: string;
  clear: string;
  pending: string;
  alertsWithoutData: boolean;
};

export const newMetricForm: Omit<MetricForm, "tag" | "amount" | "unit" | "above"> = {
  metric: "events",
  of: "",
  steps: ["", ""],
  windowHours: "168",
  compare: "above",
  against: "",
  clear: "",
  pending: "",
  alertsWithoutData: false,
};

/** The fields of a condition, but for its time. */
export function metricFormOf({
  measure,
  against,
  above,
  below,
  change,
  clear,
  pendingMinutes,
  noData,
}: MetricCondition): Partial<MetricForm> {
  return {
    metric: measure.metric,
    ...("tag" in measure && { tag: measure.tag }),
    ...("of" in measure && { of: measure.of }),
    ...("steps" in measure && {
      steps: measure.steps,
      windowHours: String(measure.windowSeconds / 3_600),
    }),
    compare: above !== undefined ? "above" : below !== undefined ? "below" : "change",
    against: against ?? "",
    above: String(above ?? below ?? change),
    clear: clear === null ? "" : String(clear),
    pending: pendingMinutes === 0 ? "" : String(pendingMinutes),
    alertsWithoutData: noData === "alert",
  };
}

/** The condition of a form, or null while a field is empty. */
export function conditionOf(form: MetricForm): MetricCondition | null {
  const { compare, above, clear, pending, alertsWithoutData } = form;
  const measure = measureOf(form);
  const minutes = Number(form.amount) * minutesOf[form.unit];
  if (measure === null || !(minutes > 0) || above === "") return null;
  return {
    type: "metric",
    measure,
    minutes,
    against: form.against || null,
    [compare]: Number(above),
    clear: clear === "" ? null : Number(clear),
    pendingMinutes: Number(pending),
    noData: alertsWithoutData ? "alert" : "ok",
  };
}

function measureOf({ metric, tag, of, steps, windowHours }: MetricForm): RuleMeasure | null {
  switch (metric) {
    case "events":
    case "users":
      return { metric };
    case "ratio":
      return { metric, of: of.trim() };
    case "conversion": {
      const windowSeconds = Math.round(Number(windowHours) * 3_600);
      return windowSeconds > 0 ? { metric, steps: steps.map((step) => step.trim()), windowSeconds } : null;
    }
    default:
      return tag.trim() === "" ? null : { metric, tag: tag.trim() };
  }
}

/** Whether the metric's values are computed from a tag's numbers. */
export function measuresTag(metric: RuleMeasure["metric"]): boolean {
  return metric === "sum" || metric === "average" || metric === "minimum" || metric === "maximum";
}
