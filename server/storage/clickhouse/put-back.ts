import { arrivals, bigints, integers, texts, uuids } from "../postgres/arrays.ts";
import { stampOf } from "../postgres/arrival.ts";
import type { OlderRow } from "../postgres/older.ts";
import type { Partitions } from "../postgres/partitions.ts";
import type { Query } from "../postgres/query.ts";
import { timedTokens } from "../postgres/scan-cursor.ts";

/** Stores rows of a project in PostgreSQL as they were there before. Those that are there stay. */
export async function putBack(
  runQuery: Query,
  partitions: Partitions,
  projectId: number,
  rows: readonly OlderRow[],
): Promise<void> {
  // Months without events in PostgreSQL have no partition.
  partitions.invalidate();
  await partitions.make(rows.map(({ ms }) => ms));
  await runQuery(
    `INSERT INTO events (created_at, arrival, id, project_id, notified, body, tokens)
     SELECT created_at, arrival, id, $1, notified = 1, body, array_to_tsvector(string_to_array(token_list, ' '))
     FROM unnest($2::bigint[], $3::bigint[], $4::uuid[], $5::integer[], $6::text[], $7::text[])
       AS old (created_at, arrival, id, notified, body, token_list)
     ON CONFLICT DO NOTHING`,
    [
      projectId,
      bigints(rows.map(({ ms }) => ms)),
      arrivals(rows.map(({ arrival }) => stampOf(arrival))),
      uuids(rows.map(({ id }) => id)),
      integers(rows.map(({ notified }) => (notified ? 1 : 0))),
      texts(rows.map(({ body }) => body)),
      texts(rows.map(({ tokens, ms }) => timedTokens(projectId, tokens, ms))),
    ],
  );
}
