/** The words of reports for their periods and schedules, in English and in the report's time zone. */
import type { ReportPeriod, ReportSchedule } from "../schemas/report.ts";
import type { Period } from "./report-schedule.ts";

/** "Sunday, Nov 22, 2026", "Nov 16 – 22, 2026" or "October 2026". */
export function periodText({
  every,
  fromMs,
  toMs,
  timeZone,
}: Pick<Period, "every" | "timeZone" | "fromMs" | "toMs">): string {
  const month = { month: "long", year: "numeric" } as const;
  const day = { day: "numeric", month: "short", year: "numeric" } as const;
  const format = new Intl.DateTimeFormat("en", {
    timeZone,
    ...(every === "month" ? month : every === "day" ? { weekday: "long", ...day } : day),
  });
  return every === "week" ? format.formatRange(fromMs, toMs - 1) : format.format(fromMs);
}

/** "2026-11-22". */
export function dayText(ms: number, timeZone: string): string {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timeZone).toPlainDate().toString();
}

export function comparedText(every: ReportPeriod): string {
  return `the ${every} before`;
}

/** "every Monday at 08:00 (Europe/Berlin)". */
function scheduleText(schedule: ReportSchedule): string {
  const { at, timeZone } = schedule;
  return `${daysText(schedule)} at ${at} (${timeZone.replaceAll("_", " ")})`;
}

function daysText(schedule: ReportSchedule): string {
  switch (schedule.every) {
    case "day":
      return "every day";
    case "week":
      return `every ${schedule.weekday.charAt(0).toUpperCase()}${schedule.weekday.slice(1)}`;
    case "month":
      return `on day ${schedule.day} of every month`;
  }
}

/** Why a report comes, for those who get it. */
export function whyText(schedule: ReportSchedule, isOwn: boolean): string {
  return isOwn
    ? `You get this report ${scheduleText(schedule)}, because you asked for it.`
    : `This report comes ${scheduleText(schedule)}.`;
}
