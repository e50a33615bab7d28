import { infiniteQueryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import type { RefusedEvent } from "../../server/wire/refused-event.ts";
import { api } from "../api.ts";

type RefusedPage = { refused: RefusedEvent[]; nextCursor: string | null };

export function refusedQuery(project: string) {
  return infiniteQueryOptions({
    queryKey: ["refused", project],
    queryFn: ({ pageParam, signal }) =>
      api<RefusedPage>("/api/events/refused", {
        query: { project, limit: "50", cursor: pageParam ?? undefined },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    // Others are refused at any time, and nothing tells of them.
    refetchInterval: 30_000,
  });
}

/** Sends a refused event again, mended. */
export function useReplay(project: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ id, event }: { id: string; event: unknown }) =>
      api(`/api/events/refused/${id}/replay`, { method: "POST", query: { project }, body: event }),
    onSuccess: () => queries.invalidateQueries({ queryKey: refusedQuery(project).queryKey }),
  });
}

/** Lets a refused event go. */
export function useDiscard(project: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => api(`/api/events/refused/${id}`, { method: "DELETE", query: { project } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: refusedQuery(project).queryKey }),
  });
}
