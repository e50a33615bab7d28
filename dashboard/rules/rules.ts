import { queryOptions } from "@tanstack/react-query";
import type { Rule, RulePreviewResponse, RuleWhen } from "../../server/schemas/rule.ts";
import { api } from "../api.ts";
import { formatNumber } from "../components/locale.ts";

export function rulesQuery(project: string) {
  return queryOptions({
    queryKey: ["rules", project],
    queryFn: async () => (await api<{ ok: true; rules: Rule[] }>("/api/rules", { query: { project } })).rules,
  });
}

export type RuleDraft = { q: string; when: RuleWhen; forEach: string | null };

/** A rule about a metric is read every minute. */
const refetchMs = 30_000;

export function ruleQuery(project: string, id: string) {
  return queryOptions({
    // Below the list's, so that it is refreshed with it.
    queryKey: [...rulesQuery(project).queryKey, id],
    queryFn: async () =>
      (await api<{ ok: true; rule: Rule }>(`/api/rules/${id}`, { query: { project } })).rule,
    refetchInterval: refetchMs,
    retry: false,
  });
}

/** The line of a rule's metric in the last days. */
export function ruleLineQuery(project: string, { id, version }: Rule, days: number) {
  return queryOptions({
    queryKey: ["rule-line", project, id, version, days],
    queryFn: ({ signal }) =>
      api<RulePreviewResponse>(`/api/rules/${id}/preview`, {
        query: { project, days: String(days) },
        signal,
      }),
    refetchInterval: days === 1 ? 2 * refetchMs : false,
    retry: false,
  });
}

/** The alerts that a rule would have raised lately. */
export function previewQuery(project: string, draft: RuleDraft | null) {
  return queryOptions({
    queryKey: ["rule-preview", project, draft],
    queryFn: ({ signal }) =>
      api<RulePreviewResponse>("/api/rules/preview", {
        method: "POST",
        query: { project },
        body: draft,
        signal,
      }),
    enabled: draft !== null,
    retry: false,
  });
}

export const minutesOf = { minutes: 1, hours: 60, days: 24 * 60 } as const;
export type Unit = keyof typeof minutesOf;

/** The largest unit in which the minutes are a whole number. */
export function unitOf(minutes: number): Unit {
  // "26 hours", but "2 days".
  if (minutes % minutesOf.days === 0) return "days";
  return minutes % minutesOf.hours === 0 ? "hours" : "minutes";
}

export function durationText(minutes: number): string {
  const unit = unitOf(minutes);
  const amount = minutes / minutesOf[unit];
  return amount === 1 ? `1 ${unit.slice(0, -1)}` : `${formatNumber(amount)} ${unit}`;
}
