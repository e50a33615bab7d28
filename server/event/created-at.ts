import { limits } from "../core/limits.ts";

const isoWithOffset =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/** Parses an ISO 8601 date and time with an offset to milliseconds since 1970; NaN if it isn't a valid one. */
export function isoMs(text: string): number {
  const match = isoWithOffset.exec(text);
  if (!match) return Number.NaN;
  const [, year, month, day] = match.map(Number);
  const lastDay = new Date(Date.UTC(year!, month!, 0)).getUTCDate();
  if (day! > lastDay) return Number.NaN;
  return Math.floor(Date.parse(text.replace(" ", "T").toUpperCase()));
}

/**
 * Parses an event's `createdAt` to milliseconds since 1970, or returns what is wrong with it as the second half of a
 * sentence.
 *
 * @param nowMs - milliseconds since 1970, to limit dates in the future
 */
export function readCreatedAt(value: unknown, nowMs: number): number | string {
  const ms = typeof value === "string" ? isoMs(value) : value;
  if (typeof ms !== "number" || !Number.isInteger(ms) || ms < 0) {
    return 'must be an ISO 8601 time with an offset, such as "2026-01-31T09:30:00Z", or milliseconds since 1970';
  }
  if (ms > nowMs + limits.maxClockSkewMs) return "is more than a day ahead of the server's clock";
  if (typeof value === "number" && looksLikeSeconds(ms))
    return "looks like seconds. Send milliseconds since 1970";
  return ms;
}

/** In milliseconds, current Unix times in seconds are dates in the first months of 1970, and no event is that old. */
export function looksLikeSeconds(ms: number): boolean {
  return ms > 0 && ms < 10_000_000_000;
}
