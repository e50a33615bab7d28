import { queryOptions } from "@tanstack/react-query";
import type { Report, ReportSchedule } from "../../server/schemas/report.ts";
import { api } from "../api.ts";
import { formatTimeOfDay } from "../components/dates.ts";

/** While one is being sent. */
const refetchMs = 1_500;

export function reportsQuery(project: string) {
  return queryOptions({
    queryKey: ["reports", project],
    queryFn: async () =>
      (await api<{ ok: true; reports: Report[] }>("/api/reports", { query: { project } })).reports,
    refetchInterval: ({ state: { data = [] } }) =>
      data.some(({ last }) => last?.state === "waiting") && refetchMs,
  });
}

/** "Every Monday at 08:00, Europe/Berlin". */
export function scheduleText(schedule: ReportSchedule): string {
  const { at, timeZone } = schedule;
  return `${daysText(schedule)} at ${formatTimeOfDay(at)}, ${timeZone.replaceAll("_", " ")}`;
}

function daysText(schedule: ReportSchedule): string {
  switch (schedule.every) {
    case "day":
      return "Every day";
    case "week":
      return `Every ${schedule.weekday.charAt(0).toUpperCase()}${schedule.weekday.slice(1)}`;
    case "month":
      return `Every month on day ${schedule.day}`;
  }
}

/** Who gets a report. */
export function recipientText({ destination }: Report): string {
  return destination?.name ?? "You, by email";
}
