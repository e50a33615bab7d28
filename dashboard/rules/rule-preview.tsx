import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Suspense, useEffect, useState } from "react";
import { limits } from "../../server/core/limits.ts";
import type { Event } from "../../server/event/event.ts";
import type { RulePreviewResponse, RuleWhen } from "../../server/schemas/rule.ts";
import { errorMessage } from "../api.ts";
import { formatDate } from "../components/dates.ts";
import { lazyPart } from "../components/lazy-part.tsx";
import { formatNumber } from "../components/locale.ts";
import { Skeleton } from "../components/ui/states.tsx";
import { mistakeIn } from "../feed/filters.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import type { MetricChartProps } from "./metric-chart.tsx";
import { previewQuery, type RuleDraft } from "./rules.ts";

export const MetricChart = lazyPart<MetricChartProps>(
  async () => (await import("./metric-chart.tsx")).default,
);

/** How long nothing was typed before the preview is updated. */
const typingMs = 300;
const listed = 10;

type Props = { q: string; when: RuleWhen | null; forEach: string | null };

/** The alerts that the rule would have raised in the last days. */
export function RulePreview({ q, when, forEach }: Props) {
  const project = useProjectSlug();
  const draft = useTypedDraft(when && { q: q.trim(), when, forEach });
  // The field shows the mistake.
  const isValid = mistakeIn(draft?.q ?? "") === null;
  const { data, error } = useQuery({
    ...previewQuery(project, draft),
    placeholderData: keepPreviousData,
    enabled: draft !== null && isValid,
  });
  return (
    <section
      aria-label="Preview"
      className="flex flex-col gap-1.5 rounded-md border border-line bg-canvas px-3 py-2 text-sm"
    >
      <p role="status" className="hostile font-medium">
        {when === null
          ? "Fill in the fields to see when the rule would have alerted."
          : !isValid
            ? "The preview appears when the search is valid."
            : error
              ? `No preview: ${errorMessage(error)}`
              : data
                ? countText(data)
                : "Looking at the last events…"}
      </p>
      {when?.type === "metric" && isValid && !error && data?.metric && (
        <Suspense fallback={<Skeleton className="h-40" />}>
          <MetricChart when={when} metric={data.metric} toMs={Date.parse(data.to)} height={160} />
        </Suspense>
      )}
      {when !== null && !data?.metric && isValid && !error && data && data.notifications.length > 0 && (
        <ul className="flex flex-col gap-0.5 text-muted text-xs">
          {data.notifications.slice(0, listed).map((notification, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two may be alike, and the list is replaced as a whole
            <li key={index} className="flex items-baseline justify-between gap-3">
              <span className="hostile-line">{notificationText(notification)}</span>
              <time dateTime={notification.at} className="shrink-0 text-faint">
                {formatDate(notification.at, "medium")}
              </time>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** The draft, once typing has paused. */
function useTypedDraft(draft: RuleDraft | null) {
  const json = JSON.stringify(draft);
  const [typed, setTyped] = useState(json);
  useEffect(() => {
    const timer = setTimeout(() => setTyped(json), typingMs);
    return () => clearTimeout(timer);
  }, [json]);
  return JSON.parse(typed) as RuleDraft | null;
}

function countText({ count, from, to, metric }: RulePreviewResponse): string {
  const alerts = metric ? metric.lines.reduce((sum, { firing }) => sum + firing.length, 0) : count;
  const done = metric ? "alerted" : "notified";
  const times = alerts === 0 ? `not have ${done}` : `have ${done} ${timesText(alerts)}`;
  const days = (Date.parse(to) - Date.parse(from)) / 86_400_000;
  const wanted = metric ? limits.metricPreviewDays : limits.previewDays;
  // Fewer days if many events match. The first reading of a metric can be up to a day after the range begins.
  const since =
    days < wanted - (metric ? 1.01 : 0.01)
      ? `since ${formatDate(from, "medium")}`
      : `in the last ${wanted} days`;
  const end = metric || alerts === 0 ? "." : alerts > listed ? `. The last ${listed}:` : ":";
  return `Would ${times} ${since}${end}`;
}

function timesText(count: number): string {
  return count === 1 ? "once" : `${formatNumber(count)} times`;
}

function notificationText({ of, ...notification }: RulePreviewResponse["notifications"][number]): string {
  const text = textOf(notification);
  return of === null ? text : `${of}: ${text}`;
}

function textOf({ type, count, event }: Omit<RulePreviewResponse["notifications"][number], "of">): string {
  const events = count === 1 ? "1 event" : `${formatNumber(count ?? 0)} events`;
  switch (type) {
    case "summary":
      return `Summary: ${formatNumber(count ?? 0)} more`;
    case "digest":
      return `Digest of ${events}`;
    case "silence":
      return "No event";
    case "threshold":
      return event ? eventText(event) : `Too many: ${events}`;
    case "recovery":
      return event ? `Again: ${eventText(event)}` : "Events come again";
    // A chart shows these.
    case "metric":
    case "metric-recovery":
    case "event":
      return event ? eventText(event) : "An event";
  }
}

function eventText({ icon, name }: Event): string {
  return `${icon ? `${icon} ` : ""}${name}`;
}
