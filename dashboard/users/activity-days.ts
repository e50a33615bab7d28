import { dayStart, weekStart } from "../components/zone.ts";

const activityWeeks = 26;

/** Midnight of the Monday with which the shown weeks begin. */
export function activityStart(nowMs: number): Date {
  return new Date(dayStart(weekStart(nowMs), -(activityWeeks - 1) * 7));
}

const darkest = 4;

/** The shade of a day, from 0 to 4. It follows the magnitude, so that one busy day doesn't make all others pale. */
export function shadeOf(events: number, most: number): number {
  if (events === 0) return 0;
  return Math.max(1, Math.ceil((darkest * Math.log1p(events)) / Math.log1p(most)));
}
