import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import type { Destination } from "../../server/wire/notification.ts";
import { api, sentence } from "../api.ts";
import { toast } from "../shell/toasts.tsx";

export const destinationsQuery = queryOptions({
  queryKey: ["destinations"],
  queryFn: async () =>
    (await api<{ ok: true; destinations: Destination[] }>("/api/destinations")).destinations,
});

function useRefresh() {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: destinationsQuery.queryKey });
}

export function failed(title: string) {
  return (error: unknown) => toast({ title, description: sentence(error), failed: true });
}

export function useSetEnabled() {
  const refresh = useRefresh();
  return useMutation({
    mutationFn: ({ id, enabled }: { id: string; enabled: boolean }) =>
      api(`/api/destinations/${id}`, { method: "PATCH", body: { enabled } }),
    onError: failed("That was not saved"),
    onSettled: refresh,
  });
}

export function useRemoveDestination() {
  const refresh = useRefresh();
  return useMutation({
    mutationFn: (id: string) => api(`/api/destinations/${id}`, { method: "DELETE" }),
    onError: failed("The device was not removed"),
    onSettled: refresh,
  });
}

export function useTestDestination() {
  return useMutation({
    mutationFn: (id: string) =>
      api<{ ok: true; delivered: boolean; detail: string }>(`/api/destinations/${id}/test`, {
        method: "POST",
        body: {},
      }),
    onSuccess: ({ delivered, detail }) =>
      toast({
        title: delivered ? "The test was sent" : "The test did not arrive",
        description: detail,
        failed: !delivered,
      }),
    onError: failed("The test was not sent"),
  });
}
