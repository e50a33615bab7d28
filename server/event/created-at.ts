import { limits } from "../limits.ts";

const isoWithOffset =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/** Milliseconds since 1970 of a real date and time of ISO 8601 with an offset; otherwise NaN. */
export function isoMs(text: string): number {
  const match = isoWithOffset.exec(text);
  if (!match) return Number.NaN;
  const [, year, month, day] = match.map(Number);
  const lastDay = new Date(Date.UTC(year!, month!, 0)).getUTCDate();
  if (day! > lastDay) return Number.NaN;
  return Math.floor(Date.parse(text.replace(" ", "T").toUpperCase()));
}

/**
 * Reads an event's `createdAt`: milliseconds since 1970, or what is wrong with it, as a sentence's second half.
 *
 * @param nowMs - milliseconds since 1970, to bound the future
 */
export function readCreatedAt(value: unknown, nowMs: number): number | string {
  const ms = typeof value === "string" ? isoMs(value) : value;
  if (typeof ms !== "number" || !Number.isInteger(ms) || ms < 0) {
    return 'must be an ISO 8601 time with an offset, such as "2026-01-31T09:30:00Z", or milliseconds since 1970';
  }
  if (ms > nowMs + limits.maxClockSkewMs) return "is more than a day ahead of the server's clock";
  // Seconds since 1970 would be a day of that January; nobody's events are that old.
  if (typeof value === "number" && ms > 0 && ms < 10_000_000_000) {
    return "looks like seconds. Send milliseconds since 1970";
  }
  return ms;
}
