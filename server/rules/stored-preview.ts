import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";
import type { EventFilter } from "../event/filter.ts";
import { parseSearch } from "../event/search.ts";
import type { Rule, RulePreviewResponse } from "../schemas/rule.ts";
import type { EventCounter, EventReader } from "../storage/event-store.ts";
import { previewRule, type ReceivedEvent } from "./preview.ts";

type Events = Pick<EventReader, "page"> & Pick<EventCounter, "count">;

const hourMs = 60 * 60 * 1_000;
const pageEvents = 1_000;

/**
 * The alerts that a rule would have raised in the last days. The events are taken in the order of `createdAt`, as if
 * each had arrived then: when it did arrive is not known any more.
 */
export async function previewStored(
  events: Events,
  projectId: number,
  rule: Pick<Rule, "q" | "when" | "forEach">,
  nowMs: number,
  signal: AbortSignal,
): Promise<Omit<RulePreviewResponse, "ok">> {
  const search = parseSearch(rule.q);
  const filter: EventFilter = search === null ? {} : { search };
  const fromMs = await startOf(events, projectId, filter, nowMs);
  const matching = eventsBetween(events, projectId, { ...filter, fromMs, toMs: nowMs }, signal);
  const { count, notifications } = await previewRule(rule, matching, fromMs, nowMs, projectId);
  return {
    from: new Date(fromMs).toISOString(),
    to: new Date(nowMs).toISOString(),
    count,
    notifications: notifications.reverse().map((notification) => ({
      type: notification.type,
      at: new Date(notification.atMs).toISOString(),
      count: "count" in notification ? notification.count : null,
      event: "event" in notification ? notification.event : null,
    })),
  };
}

/** A week ago, or later if more events match since then than a preview looks at. */
async function startOf(
  events: Events,
  projectId: number,
  filter: EventFilter,
  nowMs: number,
): Promise<number> {
  const hours = limits.previewDays * 24;
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
  events: Events,
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
    for (const json of page.events) {
      const event = JSON.parse(json) as Event;
      yield { event, receivedMs: Date.parse(event.createdAt) };
    }
    after = page.next;
  }
}
