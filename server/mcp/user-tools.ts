import { z } from "@hono/zod-openapi";
import { GroupsOfUser } from "../schemas/group.ts";
import { MergeResponse, SplitResponse } from "../schemas/person.ts";
import { User, UserList, UserListQuery, UserResponse } from "../schemas/user.ts";
import { CohortsOfUser, UserNoteList } from "../schemas/user-note.ts";
import { filters, listing } from "./inputs.ts";
import { EventPage, listEvents } from "./list-events.ts";
import { segmentOf, type Tool, withQuery } from "./tool.ts";

/** The tools about users: who they are, what is known of one, and what led to an event; they also change who is who. */
export const userTools: readonly Tool[] = [
  {
    name: "find_users",
    title: "Find users",
    description:
      "Lists users with their properties, numbers of events, and when they were first and last seen.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({
      q: z
        .string()
        .optional()
        .describe(
          'Words of the ID or a property: ada, email:ada, plan:"pro" for all of a value. All must match',
        ),
      sort: UserListQuery.shape.sort.describe("Descending by activity, or by ID in no particular order"),
      ...listing,
    }),
    output: UserList,
    run: (api, values) => api(withQuery("/api/users", values)),
  },
  {
    name: "user_journey",
    title: "Follow a user",
    description:
      "Returns a user's IDs, properties, most frequent events, and their events, oldest or newest first. Any ID of the person finds all.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({
      userId: z.string().describe("An ID of the user, as events have it"),
      from: filters.from,
      to: filters.to,
      ...listing,
      order: z.enum(["asc", "desc"]).default("asc").describe("asc lists the oldest first"),
    }),
    output: EventPage.extend({ user: User }),
    async run(api, values) {
      const [{ user }, events] = await Promise.all([
        api(`/api/users/${segmentOf(values.userId)}`),
        listEvents(api, values),
      ]);
      return { ...events, user };
    },
  },
  {
    name: "user_profile",
    title: "See what is known of a user",
    description:
      "Returns a user's IDs, properties and most frequent events, the companies and other groups of which they are a member, the cohorts that they are in, and notes that members of the project wrote.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({ userId: z.string().describe("An ID of the user, as events have it") }),
    output: UserResponse.extend({
      groups: GroupsOfUser.shape.groups,
      cohorts: CohortsOfUser.shape.cohorts,
      notes: UserNoteList.shape.notes,
    }),
    async run(api, { userId }) {
      const path = `/api/users/${segmentOf(userId)}`;
      const [user, { groups }, { cohorts }, { notes }] = await Promise.all([
        api(path),
        api(`${path}/groups`),
        api(`${path}/cohorts`),
        api(`${path}/notes`),
      ]);
      return { ...user, groups, cohorts, notes };
    },
  },
  {
    name: "events_before",
    title: "See what happened before an event",
    description: "Lists the events of the same person before an event, newest first: what led to it.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({
      id: z.uuid("must be a UUID").describe("The event's id"),
      limit: z.int().min(1).max(100).default(20).describe("How many on a page"),
      cursor: z.string().optional().describe("nextCursor of the previous page"),
    }),
    output: EventPage,
    run: (api, { id, ...page }) => listEvents(api, page, `/api/events/${segmentOf(id)}/before`),
  },
  {
    name: "merge_users",
    title: "Merge two users",
    description:
      "Makes another user a part of this one, with all their IDs. Their events count for one person, past ones too. split_user undoes it.",
    permission: "users:change",
    isReadOnly: false,
    input: z.object({
      userId: z.string().describe("An ID of the user who stays"),
      otherId: z.string().describe("An ID of the other user"),
      force: z
        .boolean()
        .optional()
        .describe("Only if a person confirmed that two known users are the same: merges them"),
    }),
    output: MergeResponse,
    run: (api, { userId, otherId, force }) =>
      api(`/api/users/${segmentOf(userId)}/merge`, {
        userId: otherId,
        ...(force === true && { force }),
      }),
  },
  {
    name: "split_user",
    title: "Split an ID off a user",
    description:
      "Undoes a merge: the ID becomes a user of its own again. user_journey lists the IDs of a user.",
    permission: "users:change",
    isReadOnly: false,
    input: z.object({ userId: z.string().describe("The ID to split off") }),
    output: SplitResponse,
    run: (api, { userId }) => api(`/api/users/${segmentOf(userId)}/split`, {}),
  },
];
