/**
 * Estimates the number of stored events and of those in blocks, fast at any number of events. Each change to a block
 * counts as a removal, and the counters of channels can lag a little behind.
 */
export const blockCoverageSql = `
  SELECT (SELECT coalesce(sum(events), 0) FROM channels) AS stored,
         (SELECT coalesce(sum(events - changed), 0) FROM blocks) AS indexed`;

/** The value as the database returns it: PostgreSQL's sums are strings. */
export type BlockCoverage = { stored: number | string; indexed: number | string };

/** Counts the events outside blocks, which searches read one by one. */
export function unindexedOf({ stored, indexed }: BlockCoverage): number {
  return Math.max(0, Number(stored) - Number(indexed));
}

/** Counts the events in blocks whose bodies are not compressed yet, those of the small newest blocks too. On SQLite. */
export const uncompressedSql = "SELECT coalesce(sum(events), 0) AS events FROM blocks WHERE packed = 0";
