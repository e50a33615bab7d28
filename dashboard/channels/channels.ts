import { type QueryClient, queryOptions } from "@tanstack/react-query";
import type { Event } from "../../server/event/event.ts";
import type { Channel } from "../../server/wire/channel.ts";
import { api } from "../api.ts";

type ChannelList = { ok: true; channels: Channel[] };

export function channelsQuery(project: string) {
  return queryOptions({
    queryKey: ["channels", project],
    // An account without a project has no channels.
    enabled: project !== "",
    queryFn: async () => (await api<ChannelList>("/api/channels", { query: { project } })).channels,
    // The live stream keeps the counts; polling corrects what it does not report, such as expired events.
    staleTime: 30_000,
    refetchInterval: 60_000,
  });
}

/** Adds events that just arrived to the counts. Refetches if one is in a channel that is not listed yet. */
export function countArrivals(queries: QueryClient, project: string, events: readonly Event[]): void {
  const { queryKey } = channelsQuery(project);
  const channels = queries.getQueryData(queryKey);
  if (!channels) return;
  const arrivals = new Map<string, { count: number; last: string }>();
  for (const { channelId, createdAt } of events) {
    const arrival = arrivals.get(channelId) ?? { count: 0, last: createdAt };
    arrival.count++;
    if (createdAt > arrival.last) arrival.last = createdAt;
    arrivals.set(channelId, arrival);
  }
  const counted = channels.map((channel) => {
    const arrival = arrivals.get(channel.id);
    if (!arrival) return channel;
    arrivals.delete(channel.id);
    const lastEventAt =
      channel.lastEventAt && channel.lastEventAt > arrival.last ? channel.lastEventAt : arrival.last;
    return { ...channel, events: channel.events + arrival.count, lastEventAt };
  });
  queries.setQueryData(queryKey, counted);
  if (arrivals.size > 0) void queries.invalidateQueries({ queryKey }, { cancelRefetch: false });
}
