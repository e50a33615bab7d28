import { type Dialect, PostgresDialect, type PostgresPool, type PostgresPoolClient } from "kysely";
import type { Pool, PoolClient, QueryConfig } from "pg";
import { isLost, storageProblem } from "./failure.ts";

/**
 * The time limit of a statement on the small control tables. Together with the wait for a connection it is less than a
 * request's time limit, so callers learn that the server does not answer.
 */
const statementMs = 3_000;

/** Kysely over the shared pool. Failures become problems, and every statement has a time-out. */
export function createDialect(pool: Pool): Dialect {
  return new PostgresDialect({ pool: controlPool(pool) });
}

function controlPool(pool: Pool): PostgresPool {
  return {
    async connect() {
      try {
        return controlClient(await pool.connect());
      } catch (error) {
        throw storageProblem(error);
      }
    },
    // The store ends the pool, after its last use.
    end: async () => {},
  };
}

function controlClient(client: PoolClient): PostgresPoolClient {
  let failure: unknown;
  async function query(sql: string, parameters: readonly unknown[]) {
    // After a lost connection, the next statement, such as a ROLLBACK, would only wait for it, too.
    if (failure !== undefined) throw failure;
    // A client-side time-out: the server can be gone, and a pooler may not pass on the server's own setting.
    const config: QueryConfig & { query_timeout: number } = {
      text: sql,
      values: parameters.map(withoutNul),
      query_timeout: statementMs,
    };
    try {
      return await client.query(config);
    } catch (error) {
      const problem = storageProblem(error);
      if (isLost(error)) failure = problem;
      throw problem;
    }
  }
  // Kysely's type also has cursors, which are not used here.
  const clientQuery = query as unknown as PostgresPoolClient["query"];
  return { query: clientQuery, release: () => client.release(failure !== undefined) };
}

/** PostgreSQL's texts can't contain NUL. Replacing it makes a search find nothing instead of failing. */
function withoutNul(value: unknown): unknown {
  return typeof value === "string" && value.includes("\0") ? value.replaceAll("\0", "\uFFFD") : value;
}
