import { stampOfId } from "../../event/id.ts";
import type { AcceptedEvent } from "../event-store.ts";
import { arrivals, bigints, integers, texts, uuids } from "../postgres/arrays.ts";
import { stampOf } from "../postgres/arrival.ts";
import { Partitions } from "../postgres/partitions.ts";
import type { Query } from "../postgres/query.ts";
import type { ClickHouse } from "./connection.ts";
import type { Ranges } from "./ranges.ts";
import { find } from "./reads.ts";

/**
 * Puts events back into PostgreSQL whose ids are being sent again, so that the batch finds its duplicates. Their arrivals
 * are before the cut, so no read sees them twice, and they go with the next range.
 */
export function createRestore(clickHouse: ClickHouse, runQuery: Query, ranges: Ranges) {
  const partitions = new Partitions(runQuery);

  return async function restore(events: readonly AcceptedEvent[]): Promise<void> {
    const sent = events.filter(({ hasClientId }) => hasClientId);
    // An id that the server made is not in `sent_ids`: its event has the time in it.
    const gone = await runQuery<{ project_id: number; ms: number; id: string }>(
      `SELECT placed.* FROM (
         SELECT project_id, coalesce(sent_ids.created_at, listed.id_ms) AS ms, id
         FROM unnest($1::integer[], $2::uuid[], $3::bigint[]) AS listed (project_id, id, id_ms)
         LEFT JOIN sent_ids USING (project_id, id)) AS placed
       WHERE NOT EXISTS (
         SELECT FROM events
         WHERE events.project_id = placed.project_id AND events.created_at = placed.ms AND events.id = placed.id)`,
      [
        integers(sent.map(({ projectId }) => projectId)),
        uuids(sent.map(({ event }) => event.id)),
        bigints(sent.map(({ event }) => stampOfId(event.id).ms)),
      ],
    );
    const cut = await ranges.newestCut();
    for (const [projectId, keys] of Map.groupBy(gone, ({ project_id }) => project_id)) {
      const rows = cut ? await find(clickHouse, cut, projectId, keys) : [];
      if (rows.length > 0) {
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
            texts(rows.map(({ tokens }) => tokens)),
          ],
        );
      }
      // The event is nowhere: it was in a month that expired.
      const found = new Set(rows.map(({ id }) => id));
      const unknown = keys.filter(({ id }) => !found.has(id));
      await runQuery(
        `DELETE FROM sent_ids USING unnest($2::uuid[], $3::bigint[]) AS unknown (id, created_at)
         WHERE project_id = $1 AND sent_ids.id = unknown.id AND sent_ids.created_at = unknown.created_at`,
        [projectId, uuids(unknown.map(({ id }) => id)), bigints(unknown.map(({ ms }) => ms))],
      );
    }
  };
}
