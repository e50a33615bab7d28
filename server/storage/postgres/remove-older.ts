import { arrivals, bigints, integers, texts, uuids } from "./arrays.ts";
import { stampOf } from "./arrival.ts";
import type { OlderEvents, OlderRow } from "./older.ts";
import type { Row } from "./page.ts";
import type { Partitions } from "./partitions.ts";
import type { Query } from "./query.ts";
import type { createRead } from "./read.ts";

const hourMs = 3_600_000;
/** Events of one transaction, for which new ones wait. */
const stepEvents = 250;

/**
 * Removes events wherever they are. Rows that are only in ClickHouse come back for the transaction that removes them, so
 * that counters, channels, deliveries and users change as with any other event.
 */
export function createRemoveOlder(
  runQuery: Query,
  partitions: Partitions,
  older: OlderEvents,
  { readFullPage }: Pick<ReturnType<typeof createRead>, "readFullPage">,
) {
  /** The rows that PostgreSQL no longer has, with all their columns. */
  async function gone(projectId: number, rows: readonly Row[]): Promise<OlderRow[]> {
    const cut = await older.cut();
    if (cut === null) return [];
    const kept = await runQuery<{ id: string }>(
      `SELECT id FROM events JOIN unnest($2::bigint[], $3::uuid[]) AS listed (created_at, id) USING (created_at, id)
       WHERE project_id = $1`,
      [projectId, bigints(rows.map(({ ms }) => ms)), uuids(rows.map(({ id }) => id))],
    );
    const known = new Set(kept.map(({ id }) => id));
    const missing = rows.filter(({ id }) => !known.has(id));
    return missing.length === 0 ? [] : older.find(cut, projectId, missing);
  }

  /** Dates the last event of channels whose newest events of an hour are in ClickHouse. */
  async function dateChannels(projectId: number): Promise<void> {
    const channels = await runQuery<{ name: string; ms: number }>(
      `SELECT name, last_event_at AS ms FROM channels
       WHERE project_id = $1 AND events > 0 AND last_event_at % ${hourMs} = 0`,
      [projectId],
    );
    for (const { name, ms } of channels) {
      const filter = { channel: name, fromMs: ms, toMs: ms + hourMs };
      const { rows } = await readFullPage({ projectId, filter, order: "desc" }, 1);
      await runQuery(
        "UPDATE channels SET last_event_at = $3 WHERE project_id = $1 AND name = $2 AND last_event_at = $4",
        [projectId, name, rows[0]?.ms ?? ms, ms],
      );
    }
  }

  async function removeStep(
    projectId: number,
    rows: readonly Row[],
    jobId: string | undefined,
  ): Promise<string[]> {
    const old = await gone(projectId, rows);
    if (old.length > 0) {
      // Months without events in PostgreSQL have no partition.
      partitions.invalidate();
      await partitions.make(old.map(({ ms }) => ms));
    }
    const [removed] = await runQuery<{ ids: string[] }>(
      `SELECT remove_shipped_events($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)::text[] AS ids`,
      [
        projectId,
        bigints(rows.map(({ ms }) => ms)),
        uuids(rows.map(({ id }) => id)),
        jobId ?? null,
        bigints(old.map(({ ms }) => ms)),
        arrivals(old.map(({ arrival }) => stampOf(arrival))),
        uuids(old.map(({ id }) => id)),
        integers(old.map(({ notified }) => (notified ? 1 : 0))),
        texts(old.map(({ body }) => body)),
        texts(old.map(({ tokens }) => tokens)),
        bigints(old.map(({ block }) => block)),
        Date.now(),
      ],
    );
    return removed!.ids;
  }

  /** Returns the ids of those that still existed. ClickHouse deletes them together. */
  return async function removeOlder(
    projectId: number,
    rows: readonly Row[],
    jobId: string | undefined,
  ): Promise<string[]> {
    const ids: string[] = [];
    for (let from = 0; from < rows.length; from += stepEvents)
      ids.push(...(await removeStep(projectId, rows.slice(from, from + stepEvents), jobId)));
    await older.applyRemovals();
    await dateChannels(projectId);
    return ids;
  };
}
