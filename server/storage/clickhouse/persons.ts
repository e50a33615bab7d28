import type { SentRows } from "./sent-rows.ts";

/**
 * SQL for a person as 64 bits. Among 100 million people, two have the same with a probability of 1 in 3,700, and count as
 * one.
 */
export const personHashSql = "sipHash64(person)";

/**
 * SQL for rows with a user, and the person whom that user is.
 *
 * @param joined - IDs, each with the main ID of its person
 */
export function withPersons(joined: SentRows, rows: string): string {
  if (joined.count === 0) return `SELECT *, user AS person FROM (${rows})`;
  const people = `SELECT sent.1 AS id, sent.2 AS main FROM ${joined.sql(["String", "String"])}`;
  return `SELECT *, if(main = '', user, main) AS person FROM (${rows}) AS rows LEFT ANY JOIN (${people}) AS people ON user = id`;
}
