import type { Database } from "bun:sqlite";
import { Turns } from "../../scheduling/turns.ts";
import type { UserTermsQuery } from "../event-queries.ts";
import { endOfPrefix } from "../text-range.ts";
import { conditionsOf, personColumns } from "../user-terms.ts";

/** Users that one statement reads, of those with properties and of those with events. */
const stepUsers = 2_000;
/** SQLite sorts blobs after all texts. */
const afterAllTexts = new Uint8Array();

/** Finds users by their ID and properties. Yields to other work. */
export function createUsersMatching(database: Database) {
  return async function usersMatching(
    { projectId, prefix, terms }: UserTermsQuery,
    limit: number,
    signal: AbortSignal | undefined,
  ): Promise<string[]> {
    const values: string[] = [];
    const parameter = (value: string) => `?${values.push(value) + 3}`;
    const { ofUser, ofId } = conditionsOf(terms, (column) => `lower(${column})`, parameter);
    const ofPerson = conditionsOf(terms, (column) => `lower(${personColumns[column]})`, parameter).ofUser;
    // One lower and one upper bound each: SQLite seeks only one, and checks others on each row.
    const within = "project_id = ?1 AND user_id >= ?2 AND user_id < ?3";
    const lastOf = (table: string) =>
      `(SELECT user_id FROM ${table} WHERE ${within} ORDER BY user_id LIMIT 1 OFFSET ?4)`;
    const lastPerson = lastOf("person_ids").replaceAll("user_id", "person_id");
    // The first of all, so that a step is short whichever table has more users. `min` leaves out null.
    using selectLast = database.prepare(
      `SELECT min(user_id) FROM (SELECT ${lastOf("users")} AS user_id UNION ALL SELECT ${lastOf("user_activity")}
         UNION ALL SELECT ${lastPerson})`,
    );
    using selectMatching = database.prepare(
      [
        `SELECT user_id FROM users WHERE ${within} AND ${ofUser}`,
        ...(ofId === null ? [] : [`SELECT user_id FROM user_activity WHERE ${within} AND ${ofId}`]),
        `SELECT person_id FROM person_ids WHERE ${within.replaceAll("user_id", "person_id")}
         AND person_id <> user_id AND ${ofPerson}`,
      ].join(" UNION "),
    );
    const end = prefix === "" ? afterAllTexts : endOfPrefix(prefix);
    const found: string[] = [];
    const turns = new Turns(projectId);
    for (let from = prefix; ; ) {
      const [last] = selectLast.values(projectId, from, end, stepUsers - 1)[0] as [string | null];
      // Right after the last one, because IDs have no control characters.
      const next = last === null ? end : `${last}\u0001`;
      const rows = selectMatching.values(projectId, from, next, ...values) as [string][];
      for (const [userId] of rows) found.push(userId);
      if (last === null || found.length >= limit) return found.slice(0, limit);
      from = next as string;
      await turns.next();
      signal?.throwIfAborted();
    }
  };
}
