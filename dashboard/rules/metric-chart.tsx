import { useState } from "react";
import { isPercentage } from "../../server/rules/metric-value.ts";
import type { MetricCondition } from "../../server/schemas/metric-condition.ts";
import type { RulePreviewResponse } from "../../server/schemas/rule.ts";
import { useMarks } from "../annotations/use-marks.ts";
import type { SeriesColor } from "../charts/colors.ts";
import { Legend } from "../charts/legend.tsx";
import { MarkTable } from "../charts/mark-table.tsx";
import { TimeChart } from "../charts/time-chart.tsx";
import { countOf } from "../components/counts.ts";
import { formatDate } from "../components/dates.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { metricLabels, valueText } from "./metric-text.ts";
import { durationText } from "./rules.ts";

type Metric = NonNullable<RulePreviewResponse["metric"]>;
export type MetricChartProps = { when: MetricCondition; metric: Metric; toMs: number; height: number };

/** How many alerts are listed below the chart. */
const listed = 5;

/** The lines of a rule's metric with its threshold and alerts, which are also listed as text. */
export default function MetricChart({ when, metric, toMs, height }: MetricChartProps) {
  const project = useProjectSlug();
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const { at, lines, stepMinutes, isCoarse } = metric;
  const series = lines.map(({ value, amounts: values }, index) => ({
    key: value ?? "",
    name: value ?? metricLabels[when.measure.metric],
    color: index as SeriesColor,
    values,
  }));
  const spans = lines.flatMap(({ value, firing }) =>
    firing.map(({ from, to }) => ({
      value,
      from,
      to,
      fromMs: Date.parse(from),
      toMs: to === null ? toMs : Date.parse(to),
    })),
  );
  const { marks, omitted } = useMarks(
    at.length === 0
      ? null
      : {
          ...{ project, time: [at[0], toMs], isLive: false },
          bounds: () => ({ from: at[0]!, to: new Date(toMs).toISOString() }),
        },
  );
  const newest = spans.toSorted((a, b) => b.fromMs - a.fromMs).slice(0, listed);
  return (
    <div className="flex flex-col gap-2">
      <TimeChart
        label="The metric over time"
        kind="line"
        // Values in percent have other labels.
        key={String(isPercentage(when))}
        starts={at.map((time) => Date.parse(time))}
        endMs={toMs}
        series={series.filter(({ key }) => !hidden.has(key))}
        height={height}
        isCount={false}
        format={(value) => valueText(when, value)}
        marks={{ thresholds: thresholdsOf(when), spans }}
        annotations={marks}
      />
      {series.length > 1 && (
        <Legend
          items={series.map(({ key, name, color }) => ({ key, name, color }))}
          hidden={hidden}
          toggle={(key) => {
            const next = new Set(hidden);
            if (!next.delete(key)) next.add(key);
            setHidden(next);
          }}
        />
      )}
      <p className="text-faint text-xs">
        {`${spans.length === 0 ? "No alert" : "Alerts are shaded"}. A value every ${stepMinutes === 1 ? "minute" : durationText(stepMinutes)}${isCoarse ? ", though the rule reads it more often" : ""}.`}
      </p>
      {newest.length > 0 && (
        <ul className="flex flex-col gap-0.5 text-muted text-xs" aria-label="Latest alerts">
          {newest.map(({ value, from, to }) => (
            <li key={`${value} ${from}`} className="hostile">
              {value !== null && `${value}: `}
              {formatDate(from, "dayAndClock")}{" "}
              {to === null ? "until now" : `– ${formatDate(to, "dayAndClock")}`}
            </li>
          ))}
        </ul>
      )}
      {marks.length > 0 && (
        <details className="text-xs">
          <summary className="w-fit cursor-pointer text-muted">{countOf(marks.length, "mark")}</summary>
          <div className="max-h-60 overflow-y-auto pt-1">
            <MarkTable marks={marks} omitted={omitted} project={project} />
          </div>
        </details>
      )}
    </div>
  );
}

function thresholdsOf({ above, below, change }: MetricCondition): number[] {
  if (change !== undefined) return [change, -change];
  return [(above ?? below)!];
}
