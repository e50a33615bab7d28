import { queryOptions, useMutation } from "@tanstack/react-query";
import type { Destination } from "../../server/schemas/account-destination.ts";
import type { LevelChange, Mute, NewMute, Preferences } from "../../server/schemas/preferences.ts";
import { api, errorMessage } from "../api.ts";
import { formatDate } from "../components/dates.ts";
import { queries, refresh } from "../queries.ts";
import { toast } from "../shell/toasts.tsx";

type PreferencesResponse = { ok: true; preferences: Preferences };

export const preferencesQuery = queryOptions({
  queryKey: ["preferences"],
  queryFn: async () => (await api<PreferencesResponse>("/api/preferences")).preferences,
});

const { queryKey } = preferencesQuery;

function showError(title: string) {
  return (error: unknown) => toast({ title, description: errorMessage(error), failed: true });
}

export function useChangeLevel() {
  return useMutation({
    mutationFn: (body: LevelChange) =>
      api<PreferencesResponse>("/api/preferences/levels", { method: "PUT", body }),
    onSuccess: ({ preferences }) => queries.setQueryData(queryKey, preferences),
    onError: showError("The setting wasn't saved"),
    onSettled: () => refresh(queryKey),
  });
}

export function useMute() {
  return useMutation({
    mutationFn: (body: NewMute) =>
      api<{ ok: true; mute: Mute }>("/api/preferences/mutes", { method: "POST", body }),
    onSuccess: ({ mute }) => toast({ title: `Muted ${nameOf(mute)}`, description: describeUntil(mute) }),
    onError: showError("Nothing was muted"),
    onSettled: () => refresh(queryKey),
  });
}

export function useUnmute() {
  return useMutation({
    mutationFn: (id: string) => api(`/api/preferences/mutes/${id}`, { method: "DELETE" }),
    onError: showError("It is still muted"),
    onSettled: () => refresh(queryKey),
  });
}

export function useResubscribe() {
  return useMutation({
    mutationFn: (project: string) =>
      api(`/api/preferences/unsubscribed/${encodeURIComponent(project)}`, { method: "DELETE" }),
    onError: showError("Email wasn't resumed"),
    onSettled: () => refresh(queryKey),
  });
}

/** The subject of a mute: “Order placed” in orders. */
export function nameOf({ channel, name }: Pick<Mute, "channel" | "name">): string {
  return name === null ? channel : `“${name}” in ${channel}`;
}

export function describeUntil({ until }: Pick<Mute, "until">): string {
  return until === null ? "Until you unmute it" : `Until ${formatDate(until, "soon")}`;
}

/** For how long something is muted; null is for good. */
export const muteDurations: { label: string; minutes: () => number | null }[] = [
  { label: "30 minutes", minutes: () => 30 },
  { label: "2 hours", minutes: () => 120 },
  { label: "Until tomorrow", minutes: () => minutesUntilTomorrow() },
  { label: "For good", minutes: () => null },
];

/** Minutes until 8:00 of the next day here. */
function minutesUntilTomorrow(now: Date = new Date()): number {
  const morning = new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1, 8);
  return Math.ceil((morning.getTime() - now.getTime()) / 60_000);
}

/** A destination in few words: the bell, email, or the device. */
export function shortName({ kind, label }: Pick<Destination, "kind" | "label">): string {
  return { dashboard: "Dashboard", email: "Email", browser: label }[kind];
}
