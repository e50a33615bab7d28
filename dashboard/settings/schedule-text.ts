import type { Preferences } from "../../server/schemas/preferences.ts";
import { formatTimeOfDay } from "../components/dates.ts";
import { weekdays } from "../rules/rule-form.ts";

const workdays = weekdays.slice(0, 5);

export const dayName = (day: string) => day.charAt(0).toUpperCase() + day.slice(1);

/** "22:00 to 07:00, Monday to Friday" */
export function describeQuietHours({ days, from, to }: NonNullable<Preferences["quietHours"]>): string {
  const isWorkdays = days.length === workdays.length && workdays.every((day) => days.includes(day));
  const when =
    days.length === weekdays.length
      ? "every day"
      : isWorkdays
        ? "Monday to Friday"
        : days.map((day) => dayName(day).slice(0, 3)).join(", ");
  return `${formatTimeOfDay(from)} to ${formatTimeOfDay(to)}, ${when}`;
}

/** "Every Monday at 09:00" */
export function describeDigest(digest: Preferences["emailDigest"]): string {
  switch (digest?.every) {
    case undefined:
      return "At once";
    case "hour":
      return "Together, every hour";
    case "day":
      return `Together, every day at ${formatTimeOfDay(digest.at)}`;
    case "week":
      return `Together, every ${dayName(digest.weekday)} at ${formatTimeOfDay(digest.at)}`;
  }
}
