import { z } from "@hono/zod-openapi";
import { eventTexts } from "../event/event.ts";
import { projectParameter } from "../event/event-query.ts";
import { limits } from "../limits.ts";
import { clipped } from "../problems.ts";
import { faultInText, text } from "../validation/text.ts";
import { pageLimit } from "./page-query.ts";

export type UserProperties = Record<string, string | number | boolean | null>;

/**
 * What is wrong with a user ID, as the second half of a sentence, or null. It may be blank but not empty, because
 * events without a user have an empty one.
 */
export function faultInUserId(userId: string): string | null {
  return userId === "" ? "must not be empty" : faultInText(userId, eventTexts.userId);
}

const propertyName = { max: limits.tagKeyCharacters, filled: true };
const propertyText = { max: limits.tagValueCharacters, lines: true };

/** A flat JSON object, kept exactly as sent. A record schema would lose a member named `__proto__`. */
export const UserProperties = z
  .custom<UserProperties>(
    (value) => typeof value === "object" && value !== null && !Array.isArray(value),
    "must be an object",
  )
  .superRefine((properties, context) => {
    const entries = Object.entries(properties);
    if (entries.length > limits.userProperties) {
      context.addIssue({ code: "custom", message: `has more than ${limits.userProperties} properties` });
      return;
    }
    for (const [name, value] of entries) {
      const fault = faultInText(name, propertyName);
      if (fault)
        context.addIssue({
          code: "custom",
          path: [clipped(name)],
          message: `is not a valid name: it ${fault}`,
        });
      else {
        const message = faultInValue(value);
        if (message) context.addIssue({ code: "custom", path: [name], message });
      }
    }
  })
  .openapi("UserProperties", {
    type: "object",
    maxProperties: limits.userProperties,
    additionalProperties: { type: ["string", "number", "boolean", "null"], maxLength: propertyText.max },
    example: { name: "Ada Lovelace", plan: "pro", seats: 5, trial: false },
  });

function faultInValue(value: unknown): string | null {
  if (value === null || typeof value === "boolean") return null;
  // JSON.parse reads 1e999 as Infinity, which JSON can't express.
  if (typeof value === "number") return Number.isFinite(value) ? null : "must be a number of at most 1.8e308";
  return typeof value === "string"
    ? faultInText(value, propertyText)
    : "must be a string, number, boolean or null; properties can't be nested";
}

export const UserListQuery = z.strictObject({
  sort: z.enum(["id", "lastSeen", "firstSeen", "events"]).default("id").openapi({
    description:
      "`id`, or descending by the last event (`lastSeen`), the first (`firstSeen`) or the number of `events`. Default: id.",
  }),
  prefix: text(eventTexts.userId)
    .optional()
    .openapi({ description: "Only users whose ID starts with this." }),
  has: z.enum(["events", "properties"]).default("events").openapi({
    description:
      "`properties`: only users with properties, also those without events; needs `sort=id`. Default: events.",
  }),
  limit: pageLimit({ max: limits.pageUsers, fallback: 100, description: "Users per page. Default: 100." }),
  cursor: z.string().optional().openapi({ description: "The `nextCursor` of the previous page." }),
  project: projectParameter,
});

export type UserSort = z.infer<typeof UserListQuery>["sort"];

const UserInList = z.object({
  userId: z.string(),
  events: z.int(),
  firstSeenAt: z
    .string()
    .nullable()
    .openapi({ format: "date-time", description: "Null for some seconds after the first event." }),
  lastSeenAt: z.string().nullable().openapi({ format: "date-time" }),
  properties: UserProperties,
});
export type UserInList = z.infer<typeof UserInList>;

export const UserList = z
  .object({
    ok: z.literal(true),
    users: z.array(UserInList),
    nextCursor: z
      .string()
      .nullable()
      .openapi({ description: "The cursor of the next page, or null on the last page." }),
  })
  .openapi("UserList");

export const User = z
  .object({
    userId: z.string(),
    events: z.int(),
    firstSeenAt: z
      .string()
      .nullable()
      .openapi({ format: "date-time", description: "Null if the user has no events." }),
    lastSeenAt: z.string().nullable().openapi({ format: "date-time" }),
    names: z.array(z.object({ name: z.string(), events: z.int() })).openapi({
      description: `Number of events by name, most frequent first; at most ${limits.userNames} names.`,
    }),
    properties: UserProperties,
  })
  .openapi("User");
export type User = z.infer<typeof User>;

export const UserResponse = z.object({ ok: z.literal(true), user: User }).openapi("UserResponse");
