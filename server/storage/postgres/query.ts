import type { Pool, QueryConfig, QueryResultRow } from "pg";
import { storageProblem } from "./failure.ts";

/** Runs one statement and gives its rows. A statement that takes too long is given up; its connection goes with it. */
export type Query = <Row extends QueryResultRow>(
  sql: string,
  parameters?: readonly unknown[],
  timeoutMs?: number,
) => Promise<Row[]>;

/**
 * Makes the function that asks the database: each statement for itself, so that a pooler may give each another connection, and without a
 * name, so that it is planned for the very values that it is asked with.
 *
 * @param timeoutMs - by default
 */
export function createQuery(pool: Pool, timeoutMs: number): Query {
  return async <Row extends QueryResultRow>(
    sql: string,
    parameters: readonly unknown[] = [],
    ms = timeoutMs,
  ) => {
    const asked: QueryConfig & { query_timeout: number } = {
      text: sql,
      values: parameters as unknown[],
      query_timeout: ms,
    };
    try {
      return (await pool.query<Row>(asked)).rows;
    } catch (error) {
      throw storageProblem(error);
    }
  };
}
