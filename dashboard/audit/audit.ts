import { infiniteQueryOptions } from "@tanstack/react-query";
import type { AuditList } from "../../server/wire/audit.ts";
import { api } from "../api.ts";

/** What the audit page filters by; empty texts filter nothing. */
export type AuditFilter = { action: string; actor: string };

/** The filter as query parameters. */
export function auditParameters(project: string, { action, actor }: AuditFilter) {
  return { project, action: action || undefined, actor: actor.trim() || undefined };
}

export function auditQuery(project: string, filter: AuditFilter) {
  const parameters = auditParameters(project, filter);
  return infiniteQueryOptions({
    queryKey: ["audit", parameters],
    queryFn: ({ pageParam, signal }) =>
      api<AuditList>("/api/audit", {
        query: { ...parameters, limit: "100", cursor: pageParam ?? undefined },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}
