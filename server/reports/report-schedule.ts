/** When reports are sent, and which period they are about. All moments are in milliseconds since 1970. */
import { moments, zoned } from "../core/zoned-time.ts";
import { nextDigestMs } from "../rules/schedule.ts";
import type { ReportPeriod, ReportSchedule } from "../schemas/report.ts";

/** A report's period in a time zone, and where the one before begins, which ends with its start. */
export type Period = {
  every: ReportPeriod;
  timeZone: string;
  beforeMs: number;
  fromMs: number;
  toMs: number;
};

/** The first time after a moment at which a report is sent. */
export function nextReportMs(schedule: ReportSchedule, afterMs: number): number {
  if (schedule.every !== "month") return nextDigestMs({ type: "digest", ...schedule }, afterMs);
  const month = zoned(afterMs, schedule.timeZone).toPlainDate().toPlainYearMonth();
  // Time zones can skip a day, and the clock can be set back over the end of a month.
  const times = [-1, 0, 1, 2].map((months) => {
    const each = month.add({ months });
    const date = each.toPlainDate({ day: Math.min(schedule.day, each.daysInMonth) });
    return moments(date, schedule.at, schedule.timeZone)[0];
  });
  return Math.min(...times.filter((ms) => ms > afterMs));
}

/** The last whole day, week from Monday, or month before a moment, and the one before that. */
export function periodBefore(every: ReportPeriod, timeZone: string, nowMs: number): Period {
  const today = zoned(nowMs, timeZone).toPlainDate();
  const to = startOf(every, today);
  const from = startOf(every, to.subtract({ days: 1 }));
  const before = startOf(every, from.subtract({ days: 1 }));
  const ms = (date: Temporal.PlainDate) => date.toZonedDateTime(timeZone).epochMilliseconds;
  return { every, timeZone, beforeMs: ms(before), fromMs: ms(from), toMs: ms(to) };
}

function startOf(every: ReportPeriod, date: Temporal.PlainDate): Temporal.PlainDate {
  if (every === "day") return date;
  return every === "week" ? date.subtract({ days: date.dayOfWeek - 1 }) : date.with({ day: 1 });
}
