import { stampOfId } from "../../event/id.ts";
import type { AcceptedEvent } from "../event-store.ts";
import { bigints, integers, uuids } from "../postgres/arrays.ts";
import { Partitions } from "../postgres/partitions.ts";
import type { Query } from "../postgres/query.ts";
import type { Reader } from "./connection.ts";
import { putBack } from "./put-back.ts";
import type { Ranges } from "./ranges.ts";
import { find } from "./reads.ts";

/**
 * Puts events back into PostgreSQL whose ids are being sent again, so that the batch finds its duplicates. Their arrivals
 * are before the cut, so no read sees them twice, and they go with the next range.
 */
export function createRestore(clickHouse: Reader, runQuery: Query, ranges: Ranges) {
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
      if (rows.length > 0) await putBack(runQuery, partitions, projectId, rows);
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
