import type { JoinedId } from "../postgres/older.ts";
import { sentRowsSql } from "./sent-rows.ts";

/**
 * SQL for a person as 64 bits. Among 100 million people, two have the same with a probability of 1 in 3,700, and count as
 * one.
 */
export const personHashSql = "sipHash64(person)";

/** SQL for rows with a user, and the person whom that user is. */
export function withPersons(joined: readonly JoinedId[], rows: string): string {
  if (joined.length === 0) return `SELECT *, user AS person FROM (${rows})`;
  const people = `SELECT sent.1 AS id, sent.2 AS main FROM ${sentRowsSql(joined, ["String", "String"])}`;
  return `SELECT *, if(main = '', user, main) AS person FROM (${rows}) AS rows LEFT ANY JOIN (${people}) AS people ON user = id`;
}
