import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { printText } from "../../server/event/search.ts";
import type { Cohort, CohortDraft, CohortPreview } from "../../server/schemas/cohort.ts";
import type { UserInList } from "../../server/schemas/user.ts";
import { api } from "../api.ts";

type Members = { ok: true; people: number; users: UserInList[]; nextCursor: string | null };

/** Members are computed about twice a minute. */
const refetchMs = 30_000;

export function cohortsQuery(project: string) {
  return queryOptions({
    queryKey: ["cohorts", project],
    queryFn: async ({ signal }) =>
      (await api<{ cohorts: Cohort[] }>("/api/cohorts", { query: { project }, signal })).cohorts,
    refetchInterval: refetchMs,
  });
}

export function cohortQuery(project: string, id: string) {
  return queryOptions({
    queryKey: ["cohorts", project, id],
    queryFn: async ({ signal }) =>
      (await api<{ cohort: Cohort }>(`/api/cohorts/${id}`, { query: { project }, signal })).cohort,
    refetchInterval: refetchMs,
  });
}

export function cohortMembersQuery(project: string, id: string) {
  return infiniteQueryOptions({
    queryKey: ["cohorts", project, id, "members"],
    queryFn: ({ pageParam, signal }) =>
      api<Members>(`/api/cohorts/${id}/members`, {
        query: { project, limit: "100", cursor: pageParam ?? undefined },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) > 3 ? false : refetchMs),
  });
}

/** How many people conditions describe now; null if they aren't complete. */
export function cohortPreviewQuery(project: string, draft: CohortDraft | null) {
  return queryOptions({
    queryKey: ["cohort-preview", project, draft],
    queryFn: ({ signal }) =>
      api<CohortPreview>("/api/cohorts/preview", { method: "POST", query: { project }, body: draft, signal }),
    enabled: draft !== null,
    retry: false,
  });
}

/** The search for the events of a cohort's people. */
export function searchOf({ name }: Pick<Cohort, "name">): string {
  return `cohort:${printText(name)}`;
}
