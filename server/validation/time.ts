import { z } from "@hono/zod-openapi";

/** A time zone's name as IANA spells it, or null if there is no such time zone. */
export function canonicalTimeZone(name: string): string | null {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}

export const timeZone = z
  .string()
  .transform((name, context) => {
    const canonical = canonicalTimeZone(name);
    if (canonical !== null) return canonical;
    context.addIssue({ code: "custom", message: 'must be an IANA time zone, such as "Europe/Berlin"' });
    return z.NEVER;
  })
  .openapi({ type: "string", description: "IANA time zone.", example: "Europe/Berlin" });

export const timeOfDay = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day from "00:00" to "23:59"')
  .openapi({ description: "Time of day, 24 hours.", example: "08:00" });
