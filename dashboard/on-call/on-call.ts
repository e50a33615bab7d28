import { queryOptions } from "@tanstack/react-query";
import type { OnCallOverride, OnCallSchedule, OnCallShift } from "../../server/schemas/on-call.ts";
import { api } from "../api.ts";

const minuteMs = 60_000;
/** Hand-overs come by themselves, and nothing reports them. */
const refetchMs = minuteMs;

export function schedulesQuery(project: string) {
  return queryOptions({
    queryKey: ["on-call", project],
    queryFn: async () =>
      (await api<{ ok: true; schedules: OnCallSchedule[] }>("/api/on-call", { query: { project } }))
        .schedules,
    refetchInterval: refetchMs,
  });
}

/** Who is on call in a schedule between two moments, in milliseconds since 1970. */
export function shiftsQuery(project: string, id: string, range: { fromMs: number; toMs: number }) {
  return queryOptions({
    queryKey: ["on-call", project, id, "shifts", range.fromMs, range.toMs],
    queryFn: async () =>
      (
        await api<{ ok: true; shifts: OnCallShift[] }>(`/api/on-call/${id}/shifts`, {
          query: { project, from: String(range.fromMs), to: String(range.toMs) },
        })
      ).shifts,
    refetchInterval: refetchMs,
  });
}

export function overridesQuery(project: string, id: string) {
  return queryOptions({
    queryKey: ["on-call", project, id, "overrides"],
    queryFn: async () =>
      (
        await api<{ ok: true; overrides: OnCallOverride[] }>(`/api/on-call/${id}/overrides`, {
          query: { project },
        })
      ).overrides,
    refetchInterval: refetchMs,
  });
}
