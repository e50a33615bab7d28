import { isoMs } from "../event/created-at.ts";

/** Numbers below this many are seconds since 1970: in milliseconds they would be in its first months. */
const secondsBelow = 100_000_000_000;
const withoutOffset = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?))?$/;

/**
 * A time as other products write it, as the API takes it: seconds or milliseconds since 1970, also as a text; or a date
 * and time, which are in UTC if they have no offset. Anything else stays as it is, for the check of the event.
 */
export function timeOf(value: unknown): unknown {
  if (value === null) return undefined;
  if (typeof value === "string" && /^\d{1,15}(\.\d+)?$/.test(value)) return timeOf(Number(value));
  if (typeof value === "number") return Math.floor(value < secondsBelow ? value * 1_000 : value);
  if (typeof value !== "string") return value;
  const [, date, time] = withoutOffset.exec(value) ?? [];
  if (date !== undefined) return `${date}T${time ?? "00:00:00"}Z`;
  // As databases print offsets: +00 and +0000.
  return value
    .trim()
    .replace(/ UTC$/, "Z")
    .replace(/([+-]\d{2})$/, "$1:00")
    .replace(/([+-]\d{2})(\d{2})$/, "$1:$2");
}

/** The same in milliseconds since 1970; NaN for what is no time. */
export function msOf(value: unknown): number {
  const time = timeOf(value);
  return typeof time === "string" ? isoMs(time) : typeof time === "number" ? time : Number.NaN;
}
