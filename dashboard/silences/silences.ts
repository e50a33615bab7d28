import { infiniteQueryOptions, type QueryKey, queryOptions, useMutation } from "@tanstack/react-query";
import { limits } from "../../server/core/limits.ts";
import type { Silence, SilenceDraft, SilencePreviewResponse } from "../../server/schemas/silence.ts";
import { api, errorMessage } from "../api.ts";
import { sidebarQuery } from "../channels/channels.ts";
import { refresh } from "../queries.ts";
import { toast } from "../shell/toasts.tsx";

type SilencePage = { ok: true; silences: Silence[]; nextCursor: string | null };

/** Silences begin and end by themselves. */
const refetchMs = 60_000;

const keyOf = (project: string) => ["silences", project];

const list = (project: string, state: Silence["state"], cursor?: string | null) =>
  api<SilencePage>("/api/silences", {
    query: { project, state, limit: String(limits.silences), cursor: cursor ?? undefined },
  });

/** The active silences, those first that end last. */
export function activeSilencesQuery(project: string) {
  return queryOptions({
    queryKey: [...keyOf(project), "active"],
    queryFn: async () =>
      (await list(project, "active")).silences.toSorted((one, other) => (one.to < other.to ? 1 : -1)),
    refetchInterval: refetchMs,
  });
}

/** The silences that have not ended, in the order in which they begin. */
export function comingSilencesQuery(project: string) {
  return queryOptions({
    queryKey: [...keyOf(project), "coming"],
    queryFn: async () => {
      const pages = await Promise.all([list(project, "active"), list(project, "planned")]);
      return pages
        .flatMap(({ silences }) => silences)
        .toSorted((one, other) => (one.from < other.from ? -1 : 1));
    },
    refetchInterval: refetchMs,
  });
}

export function endedSilencesQuery(project: string) {
  return infiniteQueryOptions({
    queryKey: [...keyOf(project), "ended"],
    queryFn: ({ pageParam }) => list(project, "ended", pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: refetchMs,
  });
}

/** The events and alerts that a silence would cover; null if its search isn't valid. */
export function silencePreviewQuery(project: string, draft: SilenceDraft | null) {
  return queryOptions({
    queryKey: ["silence-preview", project, draft],
    queryFn: ({ signal }) =>
      api<SilencePreviewResponse>("/api/silences/preview", {
        method: "POST",
        query: { project },
        body: draft,
        signal,
      }),
    enabled: draft !== null,
    retry: false,
  });
}

/** What shows silences, and what they change. */
export function keysOfSilences(project: string): QueryKey[] {
  return [keyOf(project), ["alerts", project], sidebarQuery(project).queryKey];
}

/** Who planned a silence. */
export function authorOf({ createdBy }: Pick<Silence, "createdBy">): string {
  return createdBy ?? "a command";
}

/** Ends an active silence now. */
export function useEndSilence(project: string) {
  return useMutation({
    mutationFn: ({ id }: Silence) => api(`/api/silences/${id}/end`, { method: "POST", query: { project } }),
    onError: (error) =>
      toast({ title: "The silence wasn't ended", description: errorMessage(error), failed: true }),
    // Also if it ended meanwhile.
    onSettled: () => refresh(...keysOfSilences(project)),
  });
}
