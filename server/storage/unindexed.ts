/**
 * Counts stored events and those in blocks, at once at any number of events. An estimate: each change to a block counts
 * as a removal, and the counters of channels can follow a little later.
 */
export const blockCoverageSql = `
  SELECT (SELECT coalesce(sum(events), 0) FROM channels) AS stored,
         (SELECT coalesce(sum(events - changed), 0) FROM blocks) AS indexed`;

/** As the database returns it: PostgreSQL's sums are strings. */
export type BlockCoverage = { stored: number | string; indexed: number | string };

/** How many events are in no block, so that searches read them one by one. */
export function unindexedOf({ stored, indexed }: BlockCoverage): number {
  return Math.max(0, Number(stored) - Number(indexed));
}
