import type { Query } from "./query.ts";

/** A partition of fewer bytes is quick to search, however it is searched. */
const bytesMin = 1_048_576;
/** Statistics are a sample, and take some seconds however large a partition is. */
const analyzeMs = 120_000;

/** Makes the function that has statistics made of partitions that have none yet: autovacuum comes a minute later, and until then searches take the wrong way. */
export function createAnalyze(ask: Query) {
  return async function analyze(): Promise<void> {
    const partitions = await ask<{ name: string }>(
      `SELECT quote_ident(relname) AS name FROM pg_inherits JOIN pg_class ON oid = inhrelid
       WHERE inhparent = 'events'::regclass AND NOT inhdetachpending AND reltuples < 0 AND pg_relation_size(oid) >= $1`,
      [bytesMin],
    );
    for (const { name } of partitions) await ask(`ANALYZE (SKIP_LOCKED) ${name}`, [], analyzeMs);
  };
}
