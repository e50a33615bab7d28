import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { limits } from "../../server/core/limits.ts";
import type { Event } from "../../server/event/event.ts";
import type { RulePreviewResponse, RuleWhen } from "../../server/schemas/rule.ts";
import { errorMessage } from "../api.ts";
import { formatDate } from "../components/dates.ts";
import { formatNumber } from "../components/locale.ts";
import { mistakeIn } from "../feed/filters.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { previewQuery, type RuleDraft } from "./rules.ts";

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
      {when !== null && isValid && !error && data && data.notifications.length > 0 && (
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

function countText({ count, from, to }: RulePreviewResponse): string {
  const times = count === 0 ? "not have notified" : `have notified ${timesText(count)}`;
  const days = (Date.parse(to) - Date.parse(from)) / 86_400_000;
  // Fewer days if many events match.
  const since =
    days < limits.previewDays - 0.01
      ? `since ${formatDate(from, "medium")}`
      : `in the last ${limits.previewDays} days`;
  return `Would ${times} ${since}${count === 0 ? "." : count > listed ? `. The last ${listed}:` : ":"}`;
}

function timesText(count: number): string {
  return count === 1 ? "once" : `${formatNumber(count)} times`;
}

function notificationText({ type, count, event }: RulePreviewResponse["notifications"][number]): string {
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
    case "metric":
    case "metric-recovery":
      return "";
    case "recovery":
      return event ? `Again: ${eventText(event)}` : "Events come again";
    case "event":
      return event ? eventText(event) : "An event";
  }
}

function eventText({ icon, name }: Event): string {
  return `${icon ? `${icon} ` : ""}${name}`;
}
