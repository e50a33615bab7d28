import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { eventTexts } from "../event/event.ts";
import { projectParameter, validSearch } from "../event/event-query.ts";
import { parseSearch, type Search } from "../event/search.ts";
import { nextCursor, pageLimit, textCursor } from "../validation/page-query.ts";
import { text } from "../validation/text.ts";
import { UserInList } from "./user.ts";
import { propertyText, userIdText } from "./user-rule.ts";
import { version } from "./version.ts";

const whole = (min: number, max: number) =>
  z.int("must be a whole number").min(min, `must be at least ${min}`).max(max, `must be at most ${max}`);

const days = whole(1, limits.cohortDays);
const propertyName = text({ ...eventTexts.tagKey, filled: true }).openapi({
  description: "The name of a property of users.",
});

/** What a property is compared with. */
const propertyTests = ["is", "isNot", "contains", "above", "below", "exists", "missing"] as const;
export type PropertyTest = (typeof propertyTests)[number];

const PropertyCondition = z
  .strictObject({
    type: z.literal("property"),
    name: propertyName,
    test: z.enum(propertyTests).openapi({
      description:
        "`is` and `isNot` compare with each of `values`, as texts; `contains` looks for one in the text, in any case; `above` and `below` compare numbers. Who lacks the property passes only `isNot` and `missing`.",
    }),
    values: z
      .array(text({ ...propertyText }))
      .max(limits.cohortValues, `must have at most ${limits.cohortValues} values`)
      .optional()
      .openapi({
        description: "For `is`, `isNot` and `contains`. Numbers and booleans are written as texts.",
      }),
    number: z.number("must be a number").optional().openapi({ description: "For `above` and `below`." }),
  })
  .superRefine(({ test, values = [], number }, context) => {
    const takesValues = test === "is" || test === "isNot" || test === "contains";
    const takesNumber = test === "above" || test === "below";
    const fault = (path: string, message: string) =>
      context.addIssue({ code: "custom", path: [path], message });
    if (takesValues && values.length === 0) fault("values", `must have a value to compare with`);
    if (!takesValues && values.length > 0) fault("values", `can't be sent with "test": "${test}"`);
    if (takesNumber && number === undefined) fault("number", "is missing. Send the number to compare with");
    if (!takesNumber && number !== undefined) fault("number", `can't be sent with "test": "${test}"`);
  })
  .openapi("PropertyCondition");

/** A search whose events a condition counts. Cohorts in it could go in circles. */
const searchWithoutCohorts = validSearch.superRefine((q, context) => {
  const search = q.includes("cohort:") ? parsed(q) : null;
  if (search && hasCohort(search))
    context.addIssue({ code: "custom", message: "can't name a cohort. Repeat its conditions instead" });
});

function parsed(q: string): Search | null {
  try {
    return parseSearch(q);
  } catch {
    // `validSearch` reports the mistake.
    return null;
  }
}

function hasCohort(search: Search): boolean {
  if (search.kind === "all" || search.kind === "any") return search.of.some(hasCohort);
  return search.kind === "not" ? hasCohort(search.of) : search.kind === "cohort";
}

const EventsCondition = z
  .strictObject({
    type: z.literal("events"),
    q: searchWithoutCohorts.openapi({
      description: "The search that events must match (docs/search.md). Empty counts all events.",
    }),
    atLeast: whole(1, limits.cohortTimes).optional().openapi({
      description: "How many such events a person must have. Default: 1, unless `atMost` is sent.",
    }),
    atMost: whole(0, limits.cohortTimes)
      .optional()
      .openapi({ description: "How many such events a person may have. 0 finds those who didn't do it." }),
    days: days.nullable().default(null).openapi({
      description:
        "Only events of so many last days, of 24 hours each. Null: since the project's first event.",
    }),
  })
  .refine(({ atLeast, atMost }) => atLeast === undefined || atMost === undefined || atLeast <= atMost, {
    path: ["atMost"],
    message: 'must not be below "atLeast"',
  })
  .openapi("EventsCondition");

const SeenCondition = z
  .strictObject({
    type: z.enum(["firstSeen", "lastSeen"]),
    withinDays: days
      .optional()
      .openapi({ description: "The first or last event is not older than so many days." }),
    beforeDays: days.optional().openapi({ description: "It is older than so many days." }),
  })
  .refine(({ withinDays, beforeDays }) => (withinDays === undefined) !== (beforeDays === undefined), {
    path: ["withinDays"],
    message: 'or "beforeDays" must be sent, and not both',
  })
  .openapi("SeenCondition");

const UserSearchCondition = z
  .strictObject({
    type: z.literal("search"),
    q: text({ max: limits.userSearchCharacters, filled: true }).openapi({
      description: "The search of `GET /api/users`.",
    }),
  })
  .openapi("UserSearchCondition");

const UsersCondition = z
  .strictObject({
    type: z.literal("users"),
    userIds: z
      .array(text({ ...userIdText, filled: true }))
      .min(1, "must name a user")
      .max(limits.cohortUserIds, `must have at most ${limits.cohortUserIds} users`)
      .openapi({ description: "These people, by any of their IDs." }),
  })
  .openapi("UsersCondition");

const leaves = [
  PropertyCondition,
  EventsCondition,
  SeenCondition,
  UserSearchCondition,
  UsersCondition,
] as const;

const cohortMatches = ["all", "any", "none"] as const;
export type CohortMatch = (typeof cohortMatches)[number];
const match = z.enum(cohortMatches).openapi({
  description: "Whether a person must pass `all` conditions, `any` of them, or `none`.",
});

const GroupCondition = z
  .strictObject({
    type: z.literal("group"),
    match,
    conditions: z
      .array(z.discriminatedUnion("type", leaves))
      .min(1, "must have a condition")
      .max(limits.cohortConditions, `must have at most ${limits.cohortConditions} conditions`),
  })
  .openapi("GroupCondition");

export const CohortCondition = z
  .discriminatedUnion("type", [...leaves, GroupCondition])
  .openapi("CohortCondition");
export type CohortCondition = z.infer<typeof CohortCondition>;
type CohortGroup = z.infer<typeof GroupCondition>;
export type CohortLeaf = Exclude<CohortCondition, CohortGroup>;

const conditions = z
  .array(CohortCondition)
  .min(1, "must have a condition")
  .max(limits.cohortConditions, `must have at most ${limits.cohortConditions} conditions`)
  .superRefine((all, context) => {
    const leaves = all.flatMap((each): CohortLeaf[] => (each.type === "group" ? each.conditions : [each]));
    const fault = (message: string) => context.addIssue({ code: "custom", message });
    if (leaves.length > limits.cohortConditions)
      fault(`must have at most ${limits.cohortConditions} conditions, with those of groups`);
    if (leaves.filter(({ type }) => type === "events").length > limits.cohortEventConditions)
      fault(`must have at most ${limits.cohortEventConditions} conditions on events`);
  });

const name = text({ max: limits.cohortNameCharacters, filled: true }).openapi({
  description: "Unique in the project. Searches name the cohort by it: `cohort:NAME`.",
});

const example = {
  name: "Active customers",
  match: "all",
  conditions: [
    { type: "property", name: "plan", test: "is", values: ["pro", "team"] },
    { type: "events", q: 'name:"Order placed"', atLeast: 2, days: 30 },
  ],
};

export const CohortDraft = z
  .strictObject({ match: match.default("all"), conditions })
  .openapi("CohortDraft", { example: { match: example.match, conditions: example.conditions } });
export type CohortDraft = z.infer<typeof CohortDraft>;

export const NewCohort = z
  .strictObject({ name, match: match.default("all"), conditions })
  .openapi("NewCohort", { example });
export type NewCohort = z.infer<typeof NewCohort>;

/** Only fields in a `PATCH` change. */
export const CohortChange = z
  .strictObject({ name, match, conditions })
  .partial()
  .refine((change) => Object.keys(change).length > 0, "changes nothing. Send at least one field")
  .openapi("CohortChange");
export type CohortChange = z.infer<typeof CohortChange>;

export const Cohort = z
  .object({
    id: z.string(),
    name: z.string(),
    match,
    conditions: z.array(CohortCondition),
    people: z.int().nullable().openapi({ description: "How many are in it. Null: not computed yet." }),
    computedAt: z.string().nullable().openapi({
      format: "date-time",
      description:
        "When the members were last computed. That is repeated only when something can change them.",
    }),
    failure: z.string().nullable().openapi({
      description: "Why the members could not be computed the last time. They are those of `computedAt`.",
    }),
    version,
    createdAt: z.string().openapi({ format: "date-time" }),
    updatedAt: z.string().openapi({ format: "date-time" }),
  })
  .openapi("Cohort");
export type Cohort = z.infer<typeof Cohort>;

export const CohortResponse = z.object({ ok: z.literal(true), cohort: Cohort }).openapi("CohortResponse");
export const CohortList = z.object({ ok: z.literal(true), cohorts: z.array(Cohort) }).openapi("CohortList");

export const CohortPreview = z
  .object({
    ok: z.literal(true),
    people: z.int().openapi({ description: "How many people would be in the cohort now." }),
    of: z.int().openapi({ description: "How many people the project has." }),
    sample: z.array(z.string()).openapi({ description: "The main IDs of a few of them." }),
  })
  .openapi("CohortPreview");
export type CohortPreview = z.infer<typeof CohortPreview>;

export const CohortMembersQuery = z.strictObject({
  limit: pageLimit("Members"),
  cursor: textCursor,
  project: projectParameter,
});

export const CohortExportQuery = z.strictObject({
  format: z
    .enum(["ndjson", "csv"])
    .default("csv")
    .openapi({ description: "A line for each person. Default: csv." }),
  project: projectParameter,
});

export const CohortMembers = z
  .object({ ok: z.literal(true), people: z.int(), users: z.array(UserInList), nextCursor })
  .openapi("CohortMembers");
