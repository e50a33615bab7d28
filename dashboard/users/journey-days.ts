import type { Event } from "../../server/event/event.ts";
import { dayLabel } from "../components/dates.ts";

/** What a user did on one day, newest first, and how many days passed before the next newer one. */
export type JourneyDay = { key: string; label: string; daysBefore: number; events: Event[] };

/** Groups events, which are newest first, by the days of the browser's time zone. */
export function journeyDays(events: readonly Event[]): JourneyDay[] {
  const days: JourneyDay[] = [];
  let newer: Date | null = null;
  for (const event of events) {
    const date = new Date(event.createdAt);
    const last = days.at(-1);
    if (last && newer?.toDateString() === date.toDateString()) last.events.push(event);
    else {
      const daysBefore = newer ? dayNumber(newer) - dayNumber(date) : 0;
      days.push({ key: date.toDateString(), label: dayLabel(date.getTime()), daysBefore, events: [event] });
    }
    newer = date;
  }
  return days;
}

/** Counts calendar days, some of which have 23 or 25 hours. */
function dayNumber(date: Date): number {
  return Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) / 86_400_000;
}
