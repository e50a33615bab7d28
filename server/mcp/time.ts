import { z } from "@hono/zod-openapi";
import { secondsOf } from "../validation/duration.ts";

/** A time of a range: as the API takes it, or a duration before now with its unit, such as `7d`. */
export const time = z.string().transform(withoutDuration).optional();

function withoutDuration(text: string): string {
  const seconds = /[smhdw]$/.test(text) ? secondsOf(text) : Number.NaN;
  // Nothing was recorded before 1970, and years have no more than four digits.
  return Number.isNaN(seconds) ? text : new Date(Math.max(0, Date.now() - seconds * 1_000)).toISOString();
}
