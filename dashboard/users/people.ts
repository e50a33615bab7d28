import type { QueryClient } from "@tanstack/react-query";
import { pathSegment } from "../../server/schemas/path-segment.ts";
import type { User } from "../../server/schemas/user.ts";
import { api } from "../api.ts";

/** Merges another user into this one; `force` if both are known. */
export async function mergeUser(
  project: string,
  userId: string,
  other: string,
  force: boolean,
): Promise<User> {
  const { user } = await api<{ user: User }>(`/api/users/${pathSegment(userId)}/merge`, {
    method: "POST",
    query: { project },
    body: { userId: other, ...(force && { force }) },
  });
  return user;
}

export async function splitUser(project: string, userId: string): Promise<void> {
  await api(`/api/users/${pathSegment(userId)}/split`, { method: "POST", query: { project } });
}

/** Reads again everything on pages that a merge changes: users, their events, and all numbers that count users. */
export async function refreshPeople(queries: QueryClient, project: string): Promise<void> {
  await queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey.includes(project) });
}

/** An ID, and those that leave with it: those that were joined to it, or to one of these. */
export function idsBelow({ ids }: Pick<User, "ids">, userId: string): string[] {
  const found = [userId];
  for (let at = 0; at < found.length; at++)
    for (const id of ids) if (id.joinedTo === found[at] && !found.includes(id.userId)) found.push(id.userId);
  return found;
}
