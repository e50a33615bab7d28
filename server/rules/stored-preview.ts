import { isoOf } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";
import type { EventFilter } from "../event/filter.ts";
import { parseSearch } from "../event/search.ts";
import type { Rule, RulePreviewResponse } from "../schemas/rule.ts";
import type { EventReader } from "../storage/event-store.ts";
import { personsOf, searchOfPeople } from "../storage/people.ts";
import type { Store } from "../storage/store.ts";
import { previewRule, type ReceivedEvent } from "./preview.ts";
import { firingSpans, previewMetric, shortenedEnds, shortenedValues } from "./preview-metric.ts";
import type { MetricSource } from "./read-metric.ts";
import type { RuleNotification } from "./rule-kind.ts";

type Events = Pick<EventReader, "page"> & MetricSource["events"];
type Preview = Omit<RulePreviewResponse, "ok">;

/** `days` is how far it looks back, and `timeZone` the one whose hours a metric compares. */
type Asked = Pick<Rule, "q" | "when" | "forEach"> & {
  projectId: number;
  days?: number | undefined;
  timeZone: string;
};

const hourMs = 60 * 60 * 1_000;
const dayMs = 24 * hourMs;
const pageEvents = 1_000;

/**
 * The alerts that a rule would have raised in the last days. The events are taken in the order of `createdAt`, as if
 * each had arrived then: when it did arrive is not known any more.
 */
export async function previewStored(
  { events, control }: { events: Events; control: Store["control"] },
  { projectId, q, when, forEach, days, timeZone }: Asked,
  nowMs: number,
  signal: AbortSignal,
): Promise<Preview> {
  if (when.type === "metric") {
    const fromMs = nowMs - (days ?? limits.metricPreviewDays) * dayMs;
    return metricPreview({ events, projectId, q, when, forEach, timeZone, signal }, fromMs, nowMs);
  }
  const rule = { q, when, forEach };
  const search = parseSearch(rule.q);
  const filter: EventFilter = search === null ? {} : { search };
  const fromMs = await startOf(
    events,
    projectId,
    filter,
    nowMs,
    Math.min(days ?? limits.previewDays, limits.previewDays),
  );
  const matching = eventsBetween({ events, control }, projectId, { ...filter, fromMs, toMs: nowMs }, signal);
  const searched = { ...rule, q: await searchOfPeople(control, projectId, q) };
  const { count, notifications } = await previewRule(searched, matching, fromMs, nowMs, projectId);
  return {
    from: isoOf(fromMs),
    to: isoOf(nowMs),
    count,
    notifications: listed(notifications),
    metric: null,
  };
}

async function metricPreview(source: MetricSource, fromMs: number, nowMs: number): Promise<Preview> {
  const { stepMs, isCoarse, ends, lines } = await previewMetric(source, fromMs, nowMs);
  const notifications = lines.flatMap((line) => line.notifications).toSorted((a, b) => a.atMs - b.atMs);
  return {
    from: isoOf(ends[0]!),
    to: isoOf(ends.at(-1)!),
    count: notifications.length,
    notifications: listed(notifications.slice(-limits.previewNotifications)),
    metric: {
      stepMinutes: stepMs / 60_000,
      isCoarse,
      at: shortenedEnds(ends).map(isoOf),
      lines: lines.map((line) => ({
        value: line.of,
        amounts: shortenedValues(line.values, source.when),
        firing: firingSpans(line).map(({ fromMs, toMs }) => ({
          from: isoOf(fromMs),
          to: toMs === null ? null : isoOf(toMs),
        })),
      })),
    },
  };
}

function listed(
  notifications: (Exclude<RuleNotification, { type: "below" | "forgotten" }> & { of?: string })[],
): Preview["notifications"] {
  return notifications.toReversed().map((notification) => ({
    type: notification.type,
    at: isoOf(notification.atMs),
    of: notification.of ?? null,
    count: "count" in notification ? notification.count : null,
    value: "value" in notification ? notification.value : null,
    event: "event" in notification ? notification.event : null,
  }));
}

/** So many days ago, or later if more events match since then than a preview looks at. */
async function startOf(
  events: Events,
  projectId: number,
  filter: EventFilter,
  nowMs: number,
  days: number,
): Promise<number> {
  const hours = days * 24;
  const bounds = Array.from({ length: hours + 1 }, (_, index) => nowMs - (hours - index) * hourMs);
  const counts = await events.count({ projectId, filter, bounds, series: 0 });
  let left = limits.previewEvents;
  for (let index = hours - 1; index >= 0; index--) {
    left -= counts!.all[index]!;
    if (left < 0) return bounds[Math.min(index + 1, hours - 1)]!;
  }
  return bounds[0]!;
}

async function* eventsBetween(
  { events, control }: { events: Events; control: Store["control"] },
  projectId: number,
  filter: EventFilter,
  signal: AbortSignal,
): AsyncGenerator<ReceivedEvent> {
  for (let after: { ms: number; id: string } | null | undefined; after !== null; ) {
    const page = await events.page(
      { projectId, filter, order: "asc", ...(after && { after }) },
      pageEvents,
      signal,
    );
    const read = page.events.map((json) => JSON.parse(json) as Event);
    const persons = await personsOf(
      control,
      projectId,
      read.map(({ userId }) => userId),
    );
    for (const event of read) yield { event, receivedMs: Date.parse(event.createdAt), persons };
    after = page.next;
  }
}
