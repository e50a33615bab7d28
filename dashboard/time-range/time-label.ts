import { formatDate } from "../components/dates.ts";
import { isMidnight, yearOf } from "../components/zone.ts";
import { ranges, type TimeFilter } from "./time-range.ts";

/** "Last 7 days", "Nov 20, 2:00 PM – 6:00 PM", "Nov 16 – Nov 22" for whole days, "Since Nov 20, 2:00 PM", "Until Nov 20, 2:00 PM", "All time". */
export function timeLabel({ range, from, to }: TimeFilter, nowMs: number): string {
  if (range !== undefined) return ranges[range];
  if (from !== undefined && to !== undefined && isMidnightAt(from) && isMidnightAt(to)) {
    const [first, last] = [moment(from, nowMs), day(Date.parse(to) - 1, nowMs)];
    return first === last ? first : `${first} – ${last}`;
  }
  if (from !== undefined && to !== undefined) {
    const isOneDay = formatDate(from, "dayOfYear") === formatDate(to, "dayOfYear");
    return `${moment(from, nowMs)} – ${isOneDay ? clock(to) : moment(to, nowMs)}`;
  }
  if (from !== undefined) return `Since ${moment(from, nowMs)}`;
  return to === undefined ? "All time" : `Until ${moment(to, nowMs)}`;
}

function moment(time: string, nowMs: number): string {
  return isMidnightAt(time) ? day(time, nowMs) : `${day(time, nowMs)}, ${clock(time)}`;
}

function day(time: string | number, nowMs: number): string {
  const isThisYear = yearOf(new Date(time).getTime()) === yearOf(nowMs);
  return formatDate(time, isThisYear ? "day" : "dayOfYear");
}

function clock(time: string): string {
  return formatDate(time, "clock");
}

function isMidnightAt(time: string): boolean {
  return isMidnight(Date.parse(time));
}
