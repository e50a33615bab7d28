import { type QueryClient, queryOptions } from "@tanstack/react-query";
import { limits } from "../../server/core/limits.ts";
import type { Event } from "../../server/event/event.ts";
import type { Sidebar } from "../../server/schemas/view.ts";
import { api } from "../api.ts";
import { filtersOfView, sureMatcherOf } from "../feed/filters.ts";
import { type Looked, sendSeen, sendSeenSoon } from "./seen.ts";

/** Channels and views with their unread counts, in one request. */
export function sidebarQuery(project: string) {
  return queryOptions({
    queryKey: ["channels", project],
    // An account without a project has no channels.
    enabled: project !== "",
    async queryFn() {
      // Otherwise the response counts events that were just read.
      await sendSeen();
      return api<Sidebar>("/api/sidebar", { query: { project } });
    },
    // The live stream keeps the counts. Polling corrects changes that it doesn't report, such as expired events and
    // reads on other devices.
    staleTime: 30_000,
    refetchInterval: 60_000,
  });
}

const channelsIn = ({ channels }: Sidebar) => channels;

export function channelsQuery(project: string) {
  return { ...sidebarQuery(project), select: channelsIn };
}

/** The channels and views on the page: events that arrive there don't become unread. */
let looked: { project: string } & Looked = { project: "", channels: [], views: [] };

export function lookAt(project: string, shown: Looked): void {
  looked = { project, ...shown };
}

/** Whether arriving events of a channel or view are seen at once. */
function isLookedAt(project: string, kind: keyof Looked, id: string): boolean {
  return project === looked.project && document.visibilityState === "visible" && looked[kind].includes(id);
}

/** Adds events that just arrived to the counts. Refetches if one is in a channel that is not listed yet. */
export function countArrivals(queries: QueryClient, project: string, events: readonly Event[]): void {
  const { queryKey } = sidebarQuery(project);
  const sidebar = queries.getQueryData(queryKey);
  if (!sidebar) return;
  const arrivals = new Map<string, { count: number; last: string }>();
  for (const { channelId, createdAt } of events) {
    const arrival = arrivals.get(channelId) ?? { count: 0, last: createdAt };
    arrival.count++;
    if (createdAt > arrival.last) arrival.last = createdAt;
    arrivals.set(channelId, arrival);
  }
  const seen: Looked = { channels: [], views: [] };
  const unreadOf = (kind: keyof Looked, id: string, before: number, arrived: number) => {
    if (arrived > 0 && isLookedAt(project, kind, id)) {
      seen[kind].push(id);
      return 0;
    }
    return Math.min(limits.unreadEvents, before + arrived);
  };
  const channels = sidebar.channels.map((channel) => {
    const arrival = arrivals.get(channel.id);
    if (!arrival) return channel;
    arrivals.delete(channel.id);
    const { count, last } = arrival;
    const isArchived = channel.archivedAt !== null;
    return {
      ...channel,
      events: channel.events + count,
      lastEventAt: channel.lastEventAt && channel.lastEventAt > last ? channel.lastEventAt : last,
      unread: isArchived ? 0 : unreadOf("channels", channel.id, channel.unread, count),
    };
  });
  const views = sidebar.views.map((view) => {
    // Counts go only as far as they are shown.
    if (view.unread === null || view.unread >= limits.unreadEvents) {
      if (!isLookedAt(project, "views", view.id)) return view;
    }
    const count = events.filter(matcherOfView(view.q)).length;
    return count === 0 ? view : { ...view, unread: unreadOf("views", view.id, view.unread ?? 0, count) };
  });
  queries.setQueryData(queryKey, { ...sidebar, channels, views });
  if (seen.channels.length + seen.views.length > 0) sendSeenSoon(project, seen);
  if (arrivals.size > 0) void queries.invalidateQueries({ queryKey }, { cancelRefetch: false });
}

const matchers = new Map<string, (event: Event) => boolean>();

function matcherOfView(q: string): (event: Event) => boolean {
  let matcher = matchers.get(q);
  if (!matcher) {
    // The next reading of the sidebar counts those that only the server knows.
    matcher = sureMatcherOf(filtersOfView(q));
    matchers.set(q, matcher);
  }
  return matcher;
}
