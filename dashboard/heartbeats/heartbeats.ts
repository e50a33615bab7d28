import { queryOptions } from "@tanstack/react-query";
import type {
  Heartbeat,
  HeartbeatPing,
  HeartbeatSchedule,
  HeartbeatStateName,
} from "../../server/schemas/heartbeat.ts";
import { api } from "../api.ts";
import { formatTimeOfDay } from "../components/dates.ts";
import { formatNumber } from "../components/locale.ts";
import { durationText } from "../rules/rules.ts";

/** Pings come at any time, and nothing reports them. */
const refetchMs = 5_000;

export function heartbeatsQuery(project: string) {
  return queryOptions({
    queryKey: ["heartbeats", project],
    queryFn: async () =>
      (await api<{ ok: true; heartbeats: Heartbeat[] }>("/api/heartbeats", { query: { project } }))
        .heartbeats,
    refetchInterval: refetchMs,
  });
}

export function heartbeatQuery(project: string, id: string) {
  return queryOptions({
    queryKey: ["heartbeats", project, id],
    queryFn: async () =>
      (await api<{ ok: true; heartbeat: Heartbeat }>(`/api/heartbeats/${id}`, { query: { project } }))
        .heartbeat,
    refetchInterval: refetchMs,
  });
}

export function pingsQuery(project: string, id: string) {
  return queryOptions({
    queryKey: ["heartbeats", project, id, "pings"],
    queryFn: async () =>
      (await api<{ ok: true; pings: HeartbeatPing[] }>(`/api/heartbeats/${id}/pings`, { query: { project } }))
        .pings,
    refetchInterval: refetchMs,
  });
}

/** A heartbeat's address, for those who manage heartbeats. It isn't kept longer than it is shown. */
export function pingUrlQuery(project: string, id: string) {
  return queryOptions({
    queryKey: ["heartbeats", project, id, "url"],
    queryFn: async () =>
      (await api<{ ok: true; url: string }>(`/api/heartbeats/${id}/url`, { query: { project } })).url,
    staleTime: 0,
    gcTime: 0,
  });
}

/** The next times of a schedule. */
export function scheduleQuery(project: string, schedule: HeartbeatSchedule | null) {
  return queryOptions({
    queryKey: ["heartbeat-schedule", project, schedule],
    queryFn: async ({ signal }) =>
      (
        await api<{ ok: true; times: string[] }>("/api/heartbeats/preview", {
          method: "POST",
          query: { project },
          body: { schedule },
          signal,
        })
      ).times,
    enabled: schedule !== null,
    retry: false,
  });
}

export const stateNames: Record<HeartbeatStateName, string> = {
  new: "New",
  up: "Up",
  started: "Running",
  late: "Late",
  down: "Down",
  paused: "Paused",
};

/** A schedule in words: "Every 5 minutes", "Every day at 02:30", or the expression if it has no short ones. */
export function scheduleText(schedule: HeartbeatSchedule): string {
  if (schedule.type === "period") return `Every ${durationText(schedule.minutes).replace(/^1 /, "")}`;
  return `${cronText(schedule.expression)}, ${schedule.timeZone.replaceAll("_", " ")}`;
}

function cronText(expression: string): string {
  const [, minute, hour] = /^(\d{1,2}) (\d{1,2}) \* \* \*$/.exec(expression) ?? [];
  const [, every] = /^\*\/(\d{1,2}) \* \* \* \*$/.exec(expression) ?? [];
  const [, past] = /^(\d{1,2}) \* \* \* \*$/.exec(expression) ?? [];
  if (minute !== undefined && hour !== undefined)
    return `Every day at ${formatTimeOfDay(`${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`)}`;
  if (every !== undefined) return `Every ${durationText(Number(every)).replace(/^1 /, "")}`;
  if (past !== undefined) return `Every hour at :${past.padStart(2, "0")}`;
  return expression;
}

/** A length of time: "0.4 s", "42 s", "3 min 5 s", "2 h 10 min". */
export function secondsText(seconds: number): string {
  if (seconds < 10) return `${formatNumber(Math.round(seconds * 10) / 10)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return joined(Math.floor(whole / 60), "min", whole % 60, "s");
  if (whole < 86_400) return joined(Math.floor(whole / 3_600), "h", Math.floor((whole % 3_600) / 60), "min");
  return joined(Math.floor(whole / 86_400), "d", Math.floor((whole % 86_400) / 3_600), "h");
}

function joined(first: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${first} ${unit}` : `${first} ${unit} ${rest} ${restUnit}`;
}
