import { queryOptions } from "@tanstack/react-query";
import type { Event } from "../../server/event/event.ts";
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
