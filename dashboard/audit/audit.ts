import { infiniteQueryOptions } from "@tanstack/react-query";
import type { AuditList } from "../../server/schemas/audit.ts";
import { api } from "../api.ts";
import { type TimeFilter, timeQuery } from "../time-range/time-range.ts";

/** The filters of the audit page. An empty text filters nothing. */
export type AuditFilter = { action: string; actor: string; time: TimeFilter };

/** The filter as query parameters. */
export function auditParameters(project: string, { action, actor, time }: AuditFilter) {
  return {
    project,
    action: action || undefined,
    actor: actor.trim() || undefined,
    ...timeQuery(time, Date.now()),
  };
}

export function auditQuery(project: string, filter: AuditFilter) {
  return infiniteQueryOptions({
    queryKey: ["audit", project, filter],
    queryFn: ({ pageParam, signal }) =>
      api<AuditList>("/api/audit", {
        query: { ...auditParameters(project, filter), limit: "100", cursor: pageParam ?? undefined },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}
