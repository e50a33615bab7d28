import type { Event } from "../../server/event/event.ts";
import { dayLabel } from "../components/dates.ts";
import { dayNumber } from "../components/zone.ts";

/** A user's events of one day, newest first, and the number of days before the next newer one. */
export type JourneyDay = { key: string; label: string; daysBefore: number; events: Event[] };

/** Groups events, which are newest first, by the days of the page's time zone. */
export function journeyDays(events: readonly Event[]): JourneyDay[] {
  const days: JourneyDay[] = [];
  let newer: number | null = null;
  for (const event of events) {
    const ms = Date.parse(event.createdAt);
    const day = dayNumber(ms);
    const last = days.at(-1);
    if (last && newer === day) last.events.push(event);
    else {
      const daysBefore: number = newer === null ? 0 : newer - day;
      days.push({ key: String(day), label: dayLabel(ms), daysBefore, events: [event] });
    }
    newer = day;
  }
  return days;
}
