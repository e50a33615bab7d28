import { type Dialect, PostgresDialect, type PostgresPool, type PostgresPoolClient } from "kysely";
import type { Pool, PoolClient, QueryConfig } from "pg";
import { isLost, storageProblem } from "./failure.ts";

/**
 * How long a statement on a control table may take, each of which is small. With the wait for a connection it stays below the
 * time that a request has, so that its caller hears of a server that does not answer.
 */
const statementMs = 3_000;

/** Kysely over the shared pool: failures are problems, and no statement is waited for without end. */
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
    // The store ends it, after the last that uses it.
    end: async () => {},
  };
}

function controlClient(client: PoolClient): PostgresPoolClient {
  let failure: unknown;
  async function query(sql: string, parameters: readonly unknown[]) {
    // What comes after a lost connection, such as a ROLLBACK, would only wait for it as well.
    if (failure !== undefined) throw failure;
    // The server may not be there to keep a time-out of its own, and a pooler may not pass one on to it.
    const asked: QueryConfig & { query_timeout: number } = {
      text: sql,
      values: parameters.map(withoutNul),
      query_timeout: statementMs,
    };
    try {
      return await client.query(asked);
    } catch (error) {
      const told = storageProblem(error);
      if (isLost(error)) failure = told;
      throw told;
    }
  }
  // Kysely's type is also that of cursors, which nothing here asks for.
  const asked = query as unknown as PostgresPoolClient["query"];
  return { query: asked, release: () => client.release(failure !== undefined) };
}

/** PostgreSQL's texts hold no NUL: one that is sought finds nothing, rather than failing. */
function withoutNul(value: unknown): unknown {
  return typeof value === "string" && value.includes("\0") ? value.replaceAll("\0", "\uFFFD") : value;
}
