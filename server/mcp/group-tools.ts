import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import {
  GroupList,
  GroupMembers,
  GroupResponse,
  GroupTypeList,
  NewGroup,
  SavedGroupResponse,
} from "../schemas/group.ts";
import { segmentOf, type Tool, withQuery } from "./tool.ts";

const type = z.string().describe("The type of the group, such as company");
const id = z.string().describe("The group's ID");

/** The tools of groups of users, such as companies. */
export const groupTools: readonly Tool[] = [
  {
    name: "list_group_types",
    title: "List types of groups",
    description:
      "Lists the kinds of groups of users that the project has, such as company or team. Searches find their events by TYPE:ID, such as company:acme.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({}),
    output: GroupTypeList,
    run: (api) => api("/api/group-types"),
  },
  {
    name: "find_groups",
    title: "Find companies and other groups",
    description:
      "Lists groups of a type with their properties, numbers of people and events, and when they were last seen.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({
      type,
      q: z
        .string()
        .optional()
        .describe(
          'Words of the ID or a property: acme, plan:team, plan:"team" for all of a value. All must match',
        ),
      limit: z.int().min(1).max(limits.listedGroups).default(20).describe("How many on a page"),
      cursor: z.string().optional().describe("nextCursor of the previous page"),
    }),
    output: GroupList,
    run: (api, values) => api(withQuery("/api/groups", values)),
  },
  {
    name: "get_group",
    title: "Get a company or another group",
    description:
      "Returns a group's properties, most frequent events and people. search_events finds its events with q=TYPE:ID.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({
      type,
      id,
      limit: z.int().min(1).max(100).default(20).describe("How many people"),
      cursor: z.string().optional().describe("nextCursor of the previous page of people"),
    }),
    output: GroupResponse.extend(GroupMembers.omit({ ok: true, people: true }).shape),
    async run(api, values) {
      const path = `/api/groups/${segmentOf(values.type)}/${segmentOf(values.id)}`;
      const [{ group }, { users, nextCursor }] = await Promise.all([
        api(path),
        api(withQuery(`${path}/members`, { limit: values.limit, cursor: values.cursor })),
      ]);
      return { ok: true, group, users, nextCursor };
    },
  },
  {
    name: "save_group",
    title: "Save a company or another group",
    description:
      "Creates a group or merges properties into it, and makes a user a member. The events of members are the group's from then on, past ones too.",
    permission: "users:identify",
    isReadOnly: false,
    input: NewGroup.omit({ signature: true }),
    output: SavedGroupResponse,
    run: (api, values) => api("/api/groups", values),
  },
];
