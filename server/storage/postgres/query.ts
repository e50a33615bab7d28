import type { Pool, QueryConfig, QueryResultRow } from "pg";
import { storageProblem } from "./failure.ts";

/** Runs one statement and returns its rows. A statement that takes too long is abandoned, with its connection. */
export type Query = <Row extends QueryResultRow>(
  sql: string,
  parameters?: readonly unknown[],
  timeoutMs?: number,
) => Promise<Row[]>;

/**
 * Each statement is on its own, so that a pooler can give each another connection. It is unnamed, so that it is planned
 * for its own values.
 *
 * @param timeoutMs - the default
 */
export function createQuery(pool: Pool, timeoutMs: number): Query {
  return async <Row extends QueryResultRow>(
    sql: string,
    parameters: readonly unknown[] = [],
    ms = timeoutMs,
  ) => {
    const config: QueryConfig & { query_timeout: number } = {
      text: sql,
      values: parameters as unknown[],
      query_timeout: ms,
    };
    try {
      return (await pool.query<Row>(config)).rows;
    } catch (error) {
      throw storageProblem(error);
    }
  };
}
