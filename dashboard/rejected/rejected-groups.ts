import { queryOptions } from "@tanstack/react-query";
import type { RejectedGroupList } from "../../server/schemas/rejected-event.ts";
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
