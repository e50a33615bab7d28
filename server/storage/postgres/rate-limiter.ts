/// <reference path="../rate-limiter-flexible.d.ts" />
import type { Pool, QueryConfig } from "pg";
import RateLimiterPostgres from "rate-limiter-flexible/lib/RateLimiterPostgres.js";
import type { RateLimiter, RateLimiterOptions } from "../rate-limiter.ts";
import { rateLimiter } from "../rate-limiter.ts";
import { storageProblem } from "./failure.ts";

/** A limit that can't be checked in this time holds up what it limits. */
const statementMs = 3_000;

/**
 * Counts in the table `rate_limits`, for all nodes. A node remembers exhausted keys, and doesn't ask for them again.
 *
 * Invariant: rate limits are counted in the database, so they are one for all nodes. Checked by
 * `server/storage/rate-limiter.test.ts`.
 */
export function createRateLimiter(pool: Pool, options: RateLimiterOptions): RateLimiter {
  const { name, points, seconds } = options;
  const limiter = new RateLimiterPostgres({
    storeClient: { query: (config: QueryConfig) => query(pool, config) },
    storeType: "client",
    tableName: "rate_limits",
    tableCreated: true,
    keyPrefix: name,
    points,
    duration: seconds,
    inMemoryBlockOnConsumed: points,
  });
  return rateLimiter(limiter, options);
}

/** Without the statement's name, because statements must not need a session (../README.md). */
async function query(pool: Pool, { text, values = [] }: QueryConfig) {
  const config: QueryConfig & { query_timeout: number } = { text, values, query_timeout: statementMs };
  try {
    return await pool.query(config);
  } catch (error) {
    throw storageProblem(error);
  }
}
