import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { eventTexts } from "../event/event.ts";
import { projectParameter } from "../event/event-query.ts";
import { nextCursor, pageLimit, textCursor } from "../validation/page-query.ts";
import { text } from "../validation/text.ts";
import { faultInGroupType, groupIdText } from "./group-rule.ts";
import { signature } from "./person.ts";
import { UserInList, UserProperties } from "./user.ts";
import { userIdText } from "./user-rule.ts";
import { version } from "./version.ts";

const groupType = text(eventTexts.tagKey)
  .superRefine((type, context) => {
    const message = faultInGroupType(type);
    if (message !== null) context.addIssue({ code: "custom", message });
  })
  .openapi({
    description:
      "Such as `company` or `team`. Events name their group by a tag with this key, and searches by `TYPE:ID`.",
  });
const groupId = text(groupIdText).openapi({ description: "The ID that your application gives the group." });
const userId = text({ ...userIdText, filled: true });

export const NewGroup = z
  .strictObject({
    type: groupType,
    id: groupId,
    properties: UserProperties.optional().openapi({
      description: "Merged into the group's; `null` removes one. Needs a secret key.",
    }),
    userId: userId.optional().openapi({ description: "Becomes a member of the group." }),
    signature: signature.optional(),
  })
  .openapi("NewGroup", {
    example: { type: "company", id: "acme", properties: { name: "ACME", plan: "team" }, userId: "user-42" },
  });
export type NewGroup = z.infer<typeof NewGroup>;

const people = z
  .int()
  .openapi({ description: "How many people are members. Several IDs of one count once." });
const createdAt = z.string().openapi({ format: "date-time" });
const lastSeenAt = z
  .string()
  .nullable()
  .openapi({ format: "date-time", description: "When its last event was. Null if it has none." });

export const Group = z
  .object({
    type: z.string(),
    id: z.string(),
    properties: UserProperties,
    people,
    events: z.int(),
    firstSeenAt: z.string().nullable().openapi({ format: "date-time" }),
    lastSeenAt,
    names: z.array(z.object({ name: z.string(), events: z.int() })).openapi({
      description: `Number of events by name, most frequent first; at most ${limits.userNames} names.`,
    }),
    createdAt,
    version: version.openapi({
      description: "Changes with the properties. To change only this version, send it as `If-Match`.",
    }),
  })
  .openapi("Group");
export type Group = z.infer<typeof Group>;

export const GroupInList = z.object({
  type: z.string(),
  id: z.string(),
  properties: UserProperties,
  people,
  events: z.int(),
  lastSeenAt,
  createdAt,
});
export type GroupInList = z.infer<typeof GroupInList>;

export const GroupResponse = z.object({ ok: z.literal(true), group: Group }).openapi("GroupResponse");

/** Of callers that may not read events, only what they sent. */
export const SavedGroupResponse = z
  .object({
    ok: z.literal(true),
    group: z.union([Group, NewGroup.pick({ type: true, id: true })]),
  })
  .openapi("SavedGroupResponse");

export const GroupListQuery = z.strictObject({
  type: text(eventTexts.tagKey).openapi({ description: "The type of the groups, such as `company`." }),
  q: text({ max: limits.userSearchCharacters }).optional().openapi({
    description:
      'Words that the ID or a property contains, in any case: `acme`, `plan:team` for one property, `plan:"team"` for all of its value. All must match.',
  }),
  limit: pageLimit("Groups", {
    max: limits.listedGroups,
    reason: `At most ${limits.listedGroups}, because the events of each are counted.`,
  }),
  cursor: textCursor,
  project: projectParameter,
});

export const GroupList = z
  .object({ ok: z.literal(true), groups: z.array(GroupInList), nextCursor })
  .openapi("GroupList");
export type GroupList = z.infer<typeof GroupList>;

export const GroupTypeList = z
  .object({
    ok: z.literal(true),
    types: z
      .array(z.object({ type: z.string(), groups: z.int().openapi({ description: "How many there are." }) }))
      .max(limits.groupTypes),
  })
  .openapi("GroupTypeList");
export type GroupTypeList = z.infer<typeof GroupTypeList>;

export const GroupMembersQuery = z.strictObject({
  limit: pageLimit("People"),
  cursor: textCursor,
  project: projectParameter,
});

export const GroupMembers = z
  .object({ ok: z.literal(true), people, users: z.array(UserInList), nextCursor })
  .openapi("GroupMembers");
export type GroupMembers = z.infer<typeof GroupMembers>;

export const GroupMembership = z
  .strictObject({ userId: userId.openapi({ description: "Any ID of the person." }) })
  .openapi("GroupMembership", { example: { userId: "user-42" } });

export const GroupsOfUser = z
  .object({
    ok: z.literal(true),
    groups: z.array(z.object({ type: z.string(), id: z.string(), properties: UserProperties })),
  })
  .openapi("GroupsOfUser");
export type GroupsOfUser = z.infer<typeof GroupsOfUser>;
