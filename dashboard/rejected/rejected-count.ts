import { queryOptions, useQuery } from "@tanstack/react-query";
import type { RejectedGroupList } from "../../server/wire/rejected-event.ts";
import { api } from "../api.ts";

export function rejectedGroupsQuery(project: string) {
  return queryOptions({
    queryKey: ["rejected", project, "groups"],
    enabled: project !== "",
    queryFn: () => api<RejectedGroupList>("/api/events/rejected/groups", { query: { project } }),
    // The stream does not report rejected events.
    refetchInterval: 30_000,
  });
}

/** How many rejected events a project keeps. */
export function useRejectedCount(project: string): number {
  return useQuery(rejectedGroupsQuery(project)).data?.total ?? 0;
}
