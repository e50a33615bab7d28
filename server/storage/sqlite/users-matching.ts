import type { Database } from "bun:sqlite";
import { Turns } from "../../turns.ts";
import type { UserTermsQuery } from "../event-queries.ts";
import { endOfPrefix } from "../text-range.ts";
import { conditionsOf } from "../user-terms.ts";

/** Users that one statement reads, of those with properties and of those with events. */
const stepUsers = 2_000;

/** Finds users by their ID and properties. Yields to other work. */
export function createUsersMatching(database: Database) {
  return async function usersMatching(
    { projectId, prefix, terms }: UserTermsQuery,
    limit: number,
    signal: AbortSignal | undefined,
  ): Promise<string[]> {
    const values: string[] = [];
    const parameter = (value: string) => `?${values.push(value) + 3}`;
    const to = prefix === "" ? "" : `AND user_id < ${parameter(endOfPrefix(prefix))}`;
    const rest = `project_id = ?1 AND user_id > ?2 AND user_id >= ${parameter(prefix)} ${to}`;
    const bounds = [...values];
    const { ofUser, ofId } = conditionsOf(terms, (column) => `lower(${column})`, parameter);
    const lastOf = (table: string) =>
      `(SELECT user_id FROM ${table} WHERE ${rest} ORDER BY user_id LIMIT 1 OFFSET ?3)`;
    // The first of both, so that a step is short whichever table has more users. `min` leaves out null.
    using selectLast = database.prepare(
      `SELECT min(user_id) FROM (SELECT ${lastOf("users")} AS user_id UNION ALL SELECT ${lastOf("user_activity")})`,
    );
    const step = `${rest} AND (?3 IS NULL OR user_id <= ?3)`;
    using selectMatching = database.prepare(
      [
        `SELECT user_id FROM users WHERE ${step} AND ${ofUser}`,
        ...(ofId === null ? [] : [`SELECT user_id FROM user_activity WHERE ${step} AND ${ofId}`]),
      ].join(" UNION "),
    );
    const found: string[] = [];
    const turns = new Turns();
    for (let after = ""; ; ) {
      const [last] = selectLast.values(projectId, after, stepUsers - 1, ...bounds)[0] as [string | null];
      const rows = selectMatching.values(projectId, after, last, ...values) as [string][];
      for (const [userId] of rows) found.push(userId);
      if (last === null || found.length >= limit) return found.slice(0, limit);
      after = last;
      await turns.next();
      signal?.throwIfAborted();
    }
  };
}
