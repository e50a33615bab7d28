import { type QueryClient, queryOptions } from "@tanstack/react-query";
import type { Event } from "../../server/event/event.ts";
import type { Channel } from "../../server/wire/channel.ts";
import { api } from "../api.ts";

type ChannelList = { ok: true; channels: Channel[] };

export function channelsQuery(project: string) {
  return queryOptions({
    queryKey: ["channels", project],
    // An account in no project has no channels to ask for.
    enabled: project !== "",
    queryFn: async () => (await api<ChannelList>("/api/channels", { query: { project } })).channels,
    // Counts are kept by the live stream; this mends what it can't know, such as events that expired.
    staleTime: 30_000,
    refetchInterval: 60_000,
  });
}

/** Counts events that just arrived. Asks the server where one is in a channel that is not listed yet. */
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
