import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { EventList } from "../../server/event/event.ts";
import { pathSegment } from "../../server/schemas/path-segment.ts";
import type { Stats } from "../../server/schemas/stats.ts";
import type { User, UserInList, UserSort } from "../../server/schemas/user.ts";
import type { CohortsOfUser, UserNote, UserNoteList } from "../../server/schemas/user-note.ts";
import { api } from "../api.ts";
import { zone } from "../components/zone.ts";
import { activityStart } from "./activity-days.ts";

type UserList = { ok: true; users: UserInList[]; nextCursor: string | null };

export const sorts: Record<UserSort, string> = {
  lastSeen: "Last seen",
  firstSeen: "Newest",
  events: "Most active",
  id: "ID",
};

export function sortIn(text: string | undefined): UserSort {
  return text !== undefined && Object.hasOwn(sorts, text) ? (text as UserSort) : "lastSeen";
}

export function usersQuery(project: string, sort: UserSort, q: string) {
  return infiniteQueryOptions({
    queryKey: ["users", project, sort, q],
    queryFn: ({ pageParam, signal }) =>
      api<UserList>("/api/users", {
        query: { project, sort, q: q || undefined, limit: "100", cursor: pageParam ?? undefined },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    // Shows the last list while the next one loads.
    placeholderData: (last) => last,
    // A long list or a search is not worth a refetch every few seconds.
    refetchInterval: ({ state }) => (q !== "" || (state.data?.pages.length ?? 1) > 3 ? false : 5_000),
  });
}

const pathOf = (userId: string) => `/api/users/${pathSegment(userId)}`;

export function userQuery(project: string, userId: string) {
  return queryOptions({
    queryKey: ["user", project, userId],
    queryFn: async ({ signal }) =>
      (await api<{ ok: true; user: User }>(pathOf(userId), { query: { project }, signal })).user,
  });
}

/** @param version - the version of the properties that are replaced; without it, whichever there are */
export function saveProperties(
  project: string,
  userId: string,
  properties: User["properties"],
  version?: string,
) {
  const options = { method: "PUT", query: { project }, body: properties } as const;
  return api(pathOf(userId), { ...options, ...(version !== undefined && { version }) });
}

export function eraseUser(project: string, userId: string) {
  return api<{ ok: true; job: { id: string } }>(pathOf(userId), { method: "DELETE", query: { project } });
}

export function cohortsOfUserQuery(project: string, userId: string) {
  return queryOptions({
    queryKey: ["user-cohorts", project, userId],
    queryFn: async ({ signal }) =>
      (await api<CohortsOfUser>(`${pathOf(userId)}/cohorts`, { query: { project }, signal })).cohorts,
  });
}

export function notesQuery(project: string, userId: string) {
  return queryOptions({
    queryKey: ["user-notes", project, userId],
    queryFn: async ({ signal }) =>
      (await api<UserNoteList>(`${pathOf(userId)}/notes`, { query: { project }, signal })).notes,
  });
}

export function writeNote(project: string, userId: string, text: string) {
  return api(`${pathOf(userId)}/notes`, { method: "POST", query: { project }, body: { text } });
}

export function changeNote(project: string, userId: string, { id, version }: UserNote, text: string) {
  return api(`${pathOf(userId)}/notes/${id}`, {
    method: "PATCH",
    query: { project },
    body: { text },
    version,
  });
}

export function deleteNote(project: string, userId: string, { id }: UserNote) {
  return api(`${pathOf(userId)}/notes/${id}`, { method: "DELETE", query: { project } });
}

/** What a person did before an event. */
export function beforeQuery(project: string, eventId: string) {
  return infiniteQueryOptions({
    queryKey: ["before", project, eventId],
    queryFn: ({ pageParam, signal }) =>
      api<EventList & { nextCursor?: string | null }>(`/api/events/${eventId}/before`, {
        query: { project, limit: "20", cursor: pageParam ?? undefined },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? null,
  });
}

export function journeyQuery(project: string, userId: string) {
  return infiniteQueryOptions({
    queryKey: ["journey", project, userId],
    queryFn: ({ pageParam, signal }) =>
      api<EventList & { nextCursor?: string | null }>("/api/events", {
        query: { project, userId, limit: "50", cursor: pageParam ?? undefined },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? null,
  });
}

/** Of a user, or of a search, such as a group's. */
export type ActivityFilter = { userId: string } | { q: string };

/** The events by day, in the page's time zone. */
export function activityQuery(project: string, filter: ActivityFilter) {
  return queryOptions({
    queryKey: ["user-activity", project, filter],
    queryFn: async ({ signal }) => {
      const from = activityStart(Date.now()).toISOString();
      const { starts, series } = await api<Stats>("/api/stats", {
        query: { project, ...filter, by: "day", timeZone: zone(), from },
        signal,
      });
      return starts.map((start, at) => ({ start, events: series[0]?.counts[at] ?? 0 }));
    },
  });
}
