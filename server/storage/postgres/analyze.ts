import type { Query } from "./query.ts";

/** Smaller partitions are fast to search with any plan. */
const bytesMin = 1_048_576;
/** Statistics are from a sample, so they take some seconds however large a partition is. */
const analyzeMs = 120_000;

/**
 * Analyzes partitions that have no statistics yet. Autovacuum would do so a minute later, and until then searches have
 * bad plans.
 */
export function createAnalyze(runQuery: Query) {
  return async function analyze(): Promise<void> {
    const partitions = await runQuery<{ name: string }>(
      `SELECT quote_ident(relname) AS name FROM pg_inherits JOIN pg_class ON oid = inhrelid
       WHERE inhparent = 'events'::regclass AND NOT inhdetachpending AND reltuples < 0 AND pg_relation_size(oid) >= $1`,
      [bytesMin],
    );
    for (const { name } of partitions) await runQuery(`ANALYZE (SKIP_LOCKED) ${name}`, [], analyzeMs);
  };
}
