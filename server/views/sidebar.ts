import { countOpenAlerts } from "../alerts/alerts.ts";
import { listChannels } from "../channels/channels.ts";
import { limits } from "../core/limits.ts";
import { ProblemError } from "../core/problems.ts";
import { compileFilter } from "../event/compile-filter.ts";
import type { Event } from "../event/event.ts";
import type { Cursor } from "../event/filter.ts";
import { parseSearch } from "../event/search.ts";
import type { Sidebar, View } from "../schemas/view.ts";
import { countActiveSilences } from "../silences/silences.ts";
import { createdAtMsOf, idOf } from "../storage/event-row.ts";
import { withPeople } from "../storage/people.ts";
import type { Store } from "../storage/store.ts";
import { findMarks, pinsOf } from "./marks.ts";
import { listViews, type Viewer } from "./views.ts";

/**
 * A project's channels and views, as a member sees them in the sidebar. The work is bounded: counts stop at
 * `limits.unreadEvents`, channels and views without a new event aren't counted, and views wait for `unreadViewsMs`.
 */
export async function readSidebar(store: Store, viewer: Viewer): Promise<Omit<Sidebar, "ok">> {
  const { control, events } = store;
  const { projectId } = viewer;
  await events.flushCounters();
  const [channels, views, marks, openAlerts, activeSilences] = await Promise.all([
    listChannels(control, projectId),
    listViews(control, viewer),
    findMarks(control, viewer),
    countOpenAlerts(control, projectId),
    countActiveSilences(control, projectId, Date.now()),
  ]);
  // A late event is dated before the time up to which events are read.
  const newest = channels.map(
    ({ lastEventAt }) => (lastEventAt === null ? 0 : Date.parse(lastEventAt)) + limits.notifyAgeMs,
  );
  const asked = channels.flatMap(({ name, archivedAt }, at) => {
    const afterMs = marks.channels.get(name)?.seenAt ?? marks.joinedAt;
    return archivedAt === null && newest[at]! > afterMs ? [{ name, afterMs }] : [];
  });
  const [counts, unreadOfViews] = await Promise.all([
    countChannels(store, projectId, asked),
    countViews(store, projectId, views, (view) => {
      const afterMs = marks.views.get(view.id) ?? Math.max(Date.parse(view.createdAt), marks.joinedAt);
      return newest.some((ms) => ms > afterMs) ? afterMs : null;
    }),
  ]);
  const unread = new Map(asked.map(({ name }, at) => [name, counts[at]!]));
  return {
    channels: channels.map((channel) => ({
      ...channel,
      unread: unread.get(channel.name) ?? 0,
      pin: marks.channels.get(channel.name)?.pin ?? null,
    })),
    views: views.map((view, at) => ({ ...view, unread: unreadOfViews[at]! })),
    openAlerts,
    activeSilences,
    pinsVersion: pinsOf(marks).version,
  };
}

/** Counts the events of each channel that arrived after its time. */
async function countChannels(
  { events }: Store,
  projectId: number,
  channels: readonly { name: string; afterMs: number }[],
): Promise<number[]> {
  const max = limits.unreadEvents;
  const counts = await events.countNewer({ projectId, channels, max });
  const open = new Set(channels.flatMap(({ afterMs }, at) => (counts[at]! < max ? [afterMs] : [])));
  const late = await lateEvents({ events }, projectId, [...open]);
  return channels.map(({ name, afterMs }, at) => {
    const own = late.get(afterMs)?.filter(({ channelId }) => channelId === name) ?? [];
    return Math.min(max, counts[at]! + own.length);
  });
}

/**
 * Counts the events of each view.
 *
 * @param afterMsOf - after which time they count; null if there are none
 */
async function countViews(
  { events, control }: Pick<Store, "events" | "control">,
  projectId: number,
  views: readonly View[],
  afterMsOf: (view: View) => number | null,
): Promise<(number | null)[]> {
  const signal = AbortSignal.timeout(limits.unreadViewsMs);
  const times = views.map(afterMsOf);
  const late = lateEvents({ events }, projectId, [...new Set(times.filter((ms) => ms !== null))]);
  // Each view awaits it. If there is none, nobody sees that the request has ended.
  late.catch(() => {});
  return Promise.all(
    views.map(async (view, at) => {
      const afterMs = times[at]!;
      if (afterMs === null) return 0;
      try {
        return await Promise.race([countView(view, afterMs), aborted(signal)]);
      } catch (error) {
        const isUncounted = error instanceof ProblemError && error.code === "older-events-unavailable";
        if (signal.aborted || isUncounted) return null;
        throw error;
      }
    }),
  );

  /** Counts events that are dated after a time and arrived after it, and then the late ones. */
  async function countView({ q }: View, afterMs: number): Promise<number> {
    const search = parseSearch(q);
    const matching = await withPeople(control, projectId, search ? { search } : {}, { isSaved: true });
    const filter = { ...matching, fromMs: afterMs + 1 };
    const isFound = compileFilter(matching);
    let count = (await late).get(afterMs)!.filter(isFound).length;
    for (let after: Cursor | undefined; ; ) {
      const query = { projectId, filter, order: "desc" as const, ...(after && { after }) };
      const page = await events.page(query, limits.unreadEvents, signal);
      const found = page.events.map((json) => ({ ms: createdAtMsOf(json), id: idOf(json) }));
      const isLater = await events.arrivedLater({ projectId, afterMs, events: found });
      count += isLater.filter(Boolean).length;
      if (count >= limits.unreadEvents) return limits.unreadEvents;
      if (page.next === null) return count;
      signal.throwIfAborted();
      after = page.next;
    }
  }
}

/** For each time, the events that arrived after it but are dated up to it. */
async function lateEvents(
  { events }: Pick<Store, "events">,
  projectId: number,
  times: readonly number[],
): Promise<Map<number, Event[]>> {
  const late = await events.lateEvents({ projectId, times });
  return new Map(times.map((ms, at) => [ms, late[at]!.map((json) => JSON.parse(json) as Event)]));
}

/** Resolves when the signal aborts. A query that doesn't look at it then goes on alone. */
function aborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(null), { once: true });
  });
}
