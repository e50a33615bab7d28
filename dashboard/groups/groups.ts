import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { EventList } from "../../server/event/event.ts";
import { printSearch } from "../../server/event/search.ts";
import type {
  Group,
  GroupList,
  GroupMembers,
  GroupsOfUser,
  GroupTypeList,
} from "../../server/schemas/group.ts";
import { pathSegment } from "../../server/schemas/path-segment.ts";
import type { UserProperties } from "../../server/schemas/user-rule.ts";
import { api } from "../api.ts";

type GroupName = Pick<Group, "type" | "id">;

const pathOf = ({ type, id }: GroupName) => `/api/groups/${pathSegment(type)}/${pathSegment(id)}`;
/** Events that a group's page lists. */
const recentEvents = "20";

/** The key of everything that shows groups of a project. */
export function groupsKey(project: string) {
  return ["groups", project];
}

export function groupTypesQuery(project: string) {
  return queryOptions({
    queryKey: [...groupsKey(project), "types"],
    queryFn: async ({ signal }) =>
      (await api<GroupTypeList>("/api/group-types", { query: { project }, signal })).types,
  });
}

export function groupsQuery(project: string, type: string, q: string) {
  return infiniteQueryOptions({
    queryKey: [...groupsKey(project), "list", type, q],
    queryFn: ({ pageParam, signal }) =>
      api<GroupList>("/api/groups", {
        query: { project, type, q: q || undefined, limit: "50", cursor: pageParam ?? undefined },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    // Shows the last list while the next one loads.
    placeholderData: (last) => last,
  });
}

export function groupQuery(project: string, name: GroupName) {
  return queryOptions({
    queryKey: [...groupsKey(project), "group", name.type, name.id],
    queryFn: async ({ signal }) =>
      (await api<{ group: Group }>(pathOf(name), { query: { project }, signal })).group,
  });
}

export function groupMembersQuery(project: string, name: GroupName) {
  return infiniteQueryOptions({
    queryKey: [...groupsKey(project), "members", name.type, name.id],
    queryFn: ({ pageParam, signal }) =>
      api<GroupMembers>(`${pathOf(name)}/members`, {
        query: { project, limit: "50", cursor: pageParam ?? undefined },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

export function groupEventsQuery(project: string, name: GroupName) {
  return queryOptions({
    queryKey: [...groupsKey(project), "events", name.type, name.id],
    queryFn: async ({ signal }) =>
      (
        await api<EventList>("/api/events", {
          query: { project, q: searchOf(name), limit: recentEvents },
          signal,
        })
      ).events,
  });
}

export function groupsOfUserQuery(project: string, userId: string) {
  return queryOptions({
    queryKey: [...groupsKey(project), "user", userId],
    queryFn: async ({ signal }) =>
      (await api<GroupsOfUser>(`/api/users/${pathSegment(userId)}/groups`, { query: { project }, signal }))
        .groups,
  });
}

/** Makes the properties of a version those that were entered: what is missing is removed. */
export function saveGroupProperties(
  project: string,
  base: Group,
  properties: UserProperties,
): Promise<unknown> {
  const removed = Object.keys(base.properties).filter((name) => !Object.hasOwn(properties, name));
  const body = Object.fromEntries([...Object.entries(properties), ...removed.map((name) => [name, null])]);
  return api(pathOf(base), { method: "PATCH", query: { project }, body, version: base.version });
}

/** Creates a group, or adds to one. */
export function saveGroup(
  project: string,
  name: GroupName,
  more: { properties?: UserProperties; userId?: string },
): Promise<unknown> {
  const { type, id } = name;
  return api("/api/groups", { method: "POST", query: { project }, body: { type, id, ...more } });
}

export function removeMember(project: string, name: GroupName, userId: string): Promise<unknown> {
  return api(`${pathOf(name)}/members/${pathSegment(userId)}`, { method: "DELETE", query: { project } });
}

export function deleteGroup(project: string, name: GroupName): Promise<unknown> {
  return api(pathOf(name), { method: "DELETE", query: { project } });
}

/** The search for the events of a group. */
export function searchOf({ type, id }: GroupName): string {
  return printSearch({ kind: "group", type, ids: [id] });
}
