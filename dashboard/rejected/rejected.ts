import { infiniteQueryOptions, useMutation } from "@tanstack/react-query";
import type { Problem } from "../../server/problems.ts";
import type { RejectedEventList } from "../../server/wire/rejected-event.ts";
import { api, errorMessage } from "../api.ts";
import { refresh } from "../queries.ts";
import { toast } from "../shell/toasts.tsx";

export function rejectedQuery(project: string) {
  return infiniteQueryOptions({
    queryKey: ["rejected", project],
    queryFn: ({ pageParam, signal }) =>
      api<RejectedEventList>("/api/events/rejected", {
        query: { project, limit: "50", cursor: pageParam ?? undefined },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    // The stream does not report rejected events.
    refetchInterval: 30_000,
  });
}

/** Resends a rejected event after it was fixed. */
export function useResend(project: string) {
  return useMutation({
    mutationFn: ({ id, event }: { id: string; event: unknown }) =>
      api(`/api/events/rejected/${id}/replay`, { method: "POST", query: { project }, body: event }),
    onSuccess: () => refresh(rejectedQuery(project).queryKey),
  });
}

export function useDiscard(project: string) {
  return useMutation({
    mutationFn: (id: string) => api(`/api/events/rejected/${id}`, { method: "DELETE", query: { project } }),
    onSuccess: () => refresh(rejectedQuery(project).queryKey),
    onError: (error) =>
      toast({ title: "The event wasn't discarded", description: errorMessage(error), failed: true }),
  });
}

/** Everything that is wrong with an event, without duplicates. */
export function reasonsIn({ detail, errors }: Pick<Problem, "detail" | "errors">): string[] {
  return errors?.length ? [...new Set(errors.map((each) => each.detail))] : [detail];
}
