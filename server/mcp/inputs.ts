import { z } from "@hono/zod-openapi";
import { time } from "./time.ts";

/** Inputs that several tools share. */

const itemsMax = 100;

export const filters = {
  q: z.string().optional().describe('A search, such as: pay* plan=pro amount>50 name:"Payment failed" -test'),
  channel: z.string().optional().describe("Only this channel"),
  name: z.string().optional().describe("Only events with exactly this name"),
  userId: z.string().optional().describe("Only this user"),
  from: time.describe(
    "Start of the range, inclusive: ISO 8601, such as 2026-01-31T00:00:00Z, or a time ago, such as 7d, 12h or 30m",
  ),
  to: time.describe("End of the range, exclusive. Default: now"),
};
export const timeZone = z
  .string()
  .optional()
  .describe("IANA time zone of days, weeks and months. Default: UTC");
export const split = z
  .string()
  .optional()
  .describe(
    "A series for each channel, name, tag.KEY, user.KEY (a property of users), group.TYPE (such as group.company) or group.TYPE:KEY (a property of groups)",
  );
export const per = z
  .string()
  .optional()
  .describe("Counts groups of this type, such as company, instead of users. list_group_types has the types");

export const listing = {
  limit: z.int().min(1).max(itemsMax).default(20).describe("How many on a page"),
  cursor: z.string().optional().describe("nextCursor of the previous page"),
};
