import type { UserTermsQuery } from "../event-queries.ts";
import { endOfPrefix } from "../text-range.ts";
import { conditionsOf, personColumns } from "../user-terms.ts";
import type { Query } from "./query.ts";

/** Ten million users take some seconds. */
const matchingMs = 30_000;

/** Finds users by their ID and properties. */
export function createUsersMatching(runQuery: Query) {
  return async function usersMatching(
    { projectId, prefix, terms }: UserTermsQuery,
    limit: number,
    signal?: AbortSignal,
  ): Promise<string[]> {
    signal?.throwIfAborted();
    const parameters: unknown[] = [projectId, limit];
    const parameter = (value: string) => `$${parameters.push(value)}`;
    const within =
      prefix === ""
        ? "project_id = $1"
        : `project_id = $1 AND user_id >= ${parameter(prefix)} AND user_id < ${parameter(endOfPrefix(prefix))}`;
    // The database's own collation makes `lower` take four times as long.
    const { ofUser, ofId } = conditionsOf(terms, (column) => `lower(${column} COLLATE "C")`, parameter);
    const ofPerson = conditionsOf(
      terms,
      (column) => `lower(${personColumns[column]} COLLATE "C")`,
      parameter,
    ).ofUser;
    const selects = [
      `(SELECT user_id FROM users WHERE ${within} AND ${ofUser} LIMIT $2)`,
      ...(ofId === null ? [] : [`(SELECT user_id FROM user_activity WHERE ${within} AND ${ofId} LIMIT $2)`]),
      `(SELECT person_id FROM person_ids WHERE ${within.replaceAll("user_id", "person_id")}
        AND person_id <> user_id AND ${ofPerson} LIMIT $2)`,
    ];
    // Without a join or an order, both tables are read once, with and without statistics.
    const rows = await runQuery<{ user_id: string }>(selects.join(" UNION ALL "), parameters, matchingMs);
    return [...new Set(rows.map(({ user_id }) => user_id))].slice(0, limit);
  };
}
