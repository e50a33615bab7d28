import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { eventTexts } from "../event/event.ts";
import { projectParameter } from "../event/event-query.ts";
import { nextCursor, pageCursor, pageLimit } from "../validation/page-query.ts";
import { text } from "../validation/text.ts";
import { faultsInProperties, type UserProperties as Properties, propertyText } from "./user-rule.ts";
import { version } from "./version.ts";

/** A flat JSON object, kept exactly as sent. A record schema would lose a member named `__proto__`. */
export const UserProperties = z
  .custom<Properties>(
    (value) => typeof value === "object" && value !== null && !Array.isArray(value),
    "must be an object",
  )
  .superRefine((properties, context) => {
    for (const { path, message } of faultsInProperties(properties))
      context.addIssue({ code: "custom", path, message });
  })
  .openapi("UserProperties", {
    type: "object",
    maxProperties: limits.userProperties,
    additionalProperties: { type: ["string", "number", "boolean", "null"], maxLength: propertyText.max },
    example: { name: "Ada Lovelace", plan: "pro", seats: 5, trial: false },
  });

export const UserListQuery = z.strictObject({
  sort: z.enum(["id", "lastSeen", "firstSeen", "events"]).default("id").openapi({
    description:
      "`id`, or descending by the last event (`lastSeen`), the first (`firstSeen`) or the number of `events`. Default: id.",
  }),
  q: text({ max: limits.userSearchCharacters }).optional().openapi({
    description:
      'Words that the ID or a property contains, in any case: `ada`, `"ada lovelace"`. `email:ada` for one property, `plan:"pro"` for all of its value. All must match.',
  }),
  prefix: text(eventTexts.userId)
    .optional()
    .openapi({ description: "Only users whose ID starts with this." }),
  has: z.enum(["events", "properties"]).default("events").openapi({
    description:
      "`properties`: only users with properties or several IDs, also those without events; needs `sort=id`, and no `q`. Default: events.",
  }),
  limit: pageLimit("Users"),
  cursor: pageCursor,
  project: projectParameter,
});

export type UserSort = z.infer<typeof UserListQuery>["sort"];

/** How an ID was joined to a person. */
const joinedBys = ["identify", "alias", "event", "merge", "import"] as const;
export type JoinedBy = (typeof joinedBys)[number];

const idsInList = z.array(z.string()).openapi({
  description:
    "All IDs of the person, the main one first. Events keep the IDs that they were sent with, and count for the person.",
});

const isKnown = z.boolean().openapi({
  description:
    "Whether a call identified the person. Anonymous people can still become a part of another one.",
});

export const UserInList = z.object({
  userId: z.string().openapi({ description: "The main ID of the person." }),
  ids: idsInList,
  isKnown,
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
    nextCursor,
  })
  .openapi("UserList");

/** An ID of a person, and how it became one. */
export const IdOfUser = z.object({
  userId: z.string(),
  joinedTo: z.string().nullable().openapi({
    description:
      "The ID that it was joined to: splitting that off takes this one along. Null for the main ID.",
  }),
  joinedAt: z.string().nullable().openapi({ format: "date-time" }),
  joinedBy: z.enum(joinedBys).nullable().openapi({
    description:
      "`identify` and `alias` are calls, `event` is an event with both IDs, `merge` was done on purpose, `import` came with a file. Null for the main ID.",
  }),
  joinedName: z.string().nullable().openapi({ description: "The API key or account that did it." }),
});
export type IdOfUser = z.infer<typeof IdOfUser>;

export const User = z
  .object({
    userId: z.string().openapi({ description: "The main ID of the person." }),
    ids: z.array(IdOfUser).max(limits.idsOfPerson).openapi({
      description: "All IDs of the person, the main one first, then in the order in which they were joined.",
    }),
    isKnown,
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
    version: version.openapi({
      description: "Changes with the properties. To change only this version, send it as `If-Match`.",
    }),
  })
  .openapi("User");
export type User = z.infer<typeof User>;

/** Response to properties that were set: of callers that may not read users, only what they sent. */
export const ChangedUserResponse = z
  .object({
    ok: z.literal(true),
    user: z.union([User, User.pick({ userId: true, properties: true })]),
  })
  .openapi("ChangedUserResponse");

export const UserResponse = z.object({ ok: z.literal(true), user: User }).openapi("UserResponse");
