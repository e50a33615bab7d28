import { infiniteQueryOptions, queryOptions, useMutation } from "@tanstack/react-query";
import type { Alert, AlertChange } from "../../server/schemas/alert.ts";
import { api, errorMessage } from "../api.ts";
import { sidebarQuery } from "../channels/channels.ts";
import { refresh } from "../queries.ts";
import { toast } from "../shell/toasts.tsx";

type AlertPage = { ok: true; alerts: Alert[]; nextCursor: string | null; open: number };
type AlertDetail = { ok: true; alert: Alert; changes: AlertChange[] };

/** Alerts open and end by themselves. */
const refetchMs = 15_000;

const keyOf = (project: string) => ["alerts", project];

export function alertsQuery(project: string, state: "open" | "resolved") {
  return infiniteQueryOptions({
    queryKey: [...keyOf(project), state],
    queryFn: ({ pageParam }) =>
      api<AlertPage>("/api/alerts", { query: { project, state, cursor: pageParam ?? undefined } }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: refetchMs,
  });
}

/** The alerts of one rule, newest first. */
export function ruleAlertsQuery(project: string, rule: string) {
  return infiniteQueryOptions({
    queryKey: [...keyOf(project), "rule", rule],
    queryFn: ({ pageParam }) =>
      api<AlertPage>("/api/alerts", {
        query: { project, rule, limit: "20", cursor: pageParam ?? undefined },
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: refetchMs,
  });
}

export function alertQuery(project: string, id: string) {
  return queryOptions({
    queryKey: [...keyOf(project), "alert", id],
    queryFn: () => api<AlertDetail>(`/api/alerts/${id}`, { query: { project } }),
  });
}

export type AlertAction = { do: "acknowledge"; minutes: number | null } | { do: "resolve" };

/** How long an alert can be acknowledged for; null is until it is resolved. */
export const acknowledgements = [
  { label: "Acknowledge", minutes: null },
  { label: "Snooze for 1 hour", minutes: 60 },
  { label: "Snooze for 4 hours", minutes: 240 },
  { label: "Snooze for 1 day", minutes: 1_440 },
] as const;

/** Acknowledges or resolves an alert. */
export function useAlertAction(project: string, { id }: Alert) {
  return useMutation({
    mutationFn: (action: AlertAction) =>
      api(`/api/alerts/${id}/${action.do}`, {
        method: "POST",
        query: { project },
        ...(action.do === "acknowledge" && { body: { minutes: action.minutes } }),
      }),
    // Also if it was resolved meanwhile.
    onSettled: () => refresh(keyOf(project), sidebarQuery(project).queryKey),
    onError: (error, action) =>
      toast({
        title: `The alert wasn't ${action.do === "resolve" ? "resolved" : "acknowledged"}`,
        description: errorMessage(error),
        failed: true,
      }),
  });
}
