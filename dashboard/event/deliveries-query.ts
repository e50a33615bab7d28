import { queryOptions } from "@tanstack/react-query";
import type { Delivery, Explanation } from "../../server/schemas/delivery.ts";
import { api } from "../api.ts";

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
