import type { EventFilter } from "../store.ts";
import { token } from "./tokens.ts";

/** The full-text query that finds a filter's events (https://www.sqlite.org/fts5.html#full_text_query_syntax). */
export function matchOf(projectId: number, filter: EventFilter): string {
  const tokens: string[] = [];
  if (filter.channel !== undefined) tokens.push(token.channel(projectId, filter.channel));
  if (filter.userId) tokens.push(token.user(projectId, filter.userId));
  if (filter.name !== undefined) tokens.push(token.name(projectId, filter.name));
  for (const [key, value] of filter.tags ?? []) tokens.push(token.tag(projectId, key, value));
  if (filter.notify === true) tokens.push(token.notifies(projectId));
  if (tokens.length === 0) tokens.push(token.every(projectId));
  const all = tokens.map(quoted).join(" AND ");
  return filter.notify === false ? `(${all}) NOT ${quoted(token.notifies(projectId))}` : all;
}

/**
 * Whether what the index found is to be compared with the event itself: a text that is too long for a token stands there by
 * its hash, and an event without a user has no token to find it by.
 */
export function isNarrowed(filter: EventFilter): boolean {
  return (
    filter.channel !== undefined ||
    filter.userId !== undefined ||
    filter.name !== undefined ||
    filter.notify !== undefined ||
    (filter.tags ?? []).length > 0
  );
}

function quoted(token: string): string {
  return `"${token}"`;
}
