import { queryOptions } from "@tanstack/react-query";
import type { Event } from "../../server/event/event.ts";
import type { Delivery, Explanation } from "../../server/wire/delivery.ts";
import { api } from "../api.ts";

/** The prefix of the query keys of a project's events. */
export const eventKey = (project: string) => ["event", project] as const;

export function eventQuery(project: string, id: string) {
  return queryOptions({
    queryKey: [...eventKey(project), id],
    queryFn: async () =>
      (await api<{ ok: true; event: Event }>(`/api/events/${encodeURIComponent(id)}`, { query: { project } }))
        .event,
    // Recorded events never change.
    staleTime: Number.POSITIVE_INFINITY,
  });
}

type DeliveryList = {
  ok: true;
  deliveries: Delivery[];
  pending: boolean;
  silence: string | null;
  explanations: Explanation[];
};

/** Polls while deliveries are still to be made, or a delivery is waiting. */
export function deliveriesQuery(project: string, id: string) {
  return queryOptions({
    queryKey: ["deliveries", project, id],
    queryFn: () =>
      api<DeliveryList>(`/api/events/${encodeURIComponent(id)}/deliveries`, { query: { project } }),
    staleTime: 0,
    refetchInterval: ({ state }) =>
      state.data?.pending
        ? 500
        : state.data?.deliveries.some((each) => each.state === "waiting")
          ? 2_000
          : false,
  });
}
