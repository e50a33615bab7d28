import { queryOptions, useMutation } from "@tanstack/react-query";
import type { Destination } from "../../server/schemas/account-destination.ts";
import { api, errorMessage } from "../api.ts";
import { refresh } from "../queries.ts";
import { toast } from "../shell/toasts.tsx";

export const destinationsQuery = queryOptions({
  queryKey: ["destinations"],
  queryFn: async () =>
    (await api<{ ok: true; destinations: Destination[] }>("/api/destinations")).destinations,
});

const refreshDestinations = () => refresh(destinationsQuery.queryKey);

export function showError(title: string) {
  return (error: unknown) => toast({ title, description: errorMessage(error), failed: true });
}

export function useSetEnabled() {
  return useMutation({
    mutationFn: ({ id, enabled }: { id: string; enabled: boolean }) =>
      api(`/api/destinations/${id}`, { method: "PATCH", body: { enabled } }),
    onError: showError("The setting wasn't saved"),
    onSettled: refreshDestinations,
  });
}

export function useSetHourlyLimit() {
  return useMutation({
    mutationFn: ({ id, hourlyLimit }: { id: string; hourlyLimit: number | null }) =>
      api(`/api/destinations/${id}`, { method: "PATCH", body: { hourlyLimit } }),
    onError: showError("The limit wasn't saved"),
    onSettled: refreshDestinations,
  });
}

export function useRemoveDestination() {
  return useMutation({
    mutationFn: (id: string) => api(`/api/destinations/${id}`, { method: "DELETE" }),
    onError: showError("The device wasn't removed"),
    onSettled: refreshDestinations,
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
        title: delivered ? "Test sent" : "The test wasn't delivered",
        description: detail,
        failed: !delivered,
      }),
    onError: showError("The test wasn't sent"),
  });
}
