import type { Report, ReportPeriod, ReportSchedule } from "../../server/schemas/report.ts";
import { type Part, part } from "../edits/differences.ts";
import type { Weekday } from "../rules/rule-form.ts";
import { scheduleText } from "./reports.ts";

/** The fields of the form for a report. */
export type ReportForm = {
  /** IDs. The destination is empty for one's own email. */
  board: string;
  destination: string;
  every: ReportPeriod;
  weekday: Weekday;
  day: string;
  at: string;
  timeZone: string;
};

export function newReportForm(board: string): ReportForm {
  return {
    board,
    destination: "",
    every: "week",
    weekday: "monday",
    day: "1",
    at: "08:00",
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  };
}

export function formOf({ board, destination, schedule }: Report): ReportForm {
  const form = newReportForm(board.id);
  const { every, at, timeZone } = schedule;
  return {
    ...form,
    ...{ destination: destination?.id ?? "", every, at, timeZone },
    ...(schedule.every === "week" && { weekday: schedule.weekday }),
    ...(schedule.every === "month" && { day: String(schedule.day) }),
  };
}

export function scheduleOf({ every, weekday, day, at, timeZone }: ReportForm): ReportSchedule {
  if (every === "week") return { every, weekday, at, timeZone };
  return every === "month" ? { every, day: Number(day), at, timeZone } : { every, at, timeZone };
}

/** The parts of a report, for when two people have changed it. */
export const reportParts: Part<ReportForm>[] = [
  part("Schedule", ["every", "weekday", "day", "at", "timeZone"], (form) => scheduleText(scheduleOf(form))),
];
