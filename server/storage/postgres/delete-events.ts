import type { EventFilter } from "../../event/filter.ts";
import { stampOfId } from "../../event/id.ts";
import type { OneEvent, Removal, Removed } from "../event-queries.ts";
import { bigints, uuids } from "./arrays.ts";
import { matchOf } from "./match.ts";
import type { Row } from "./page.ts";
import type { Query } from "./query.ts";
import type { createRead } from "./read.ts";

/** Counting millions of events takes long. */
const countMs = 60_000;

/** Removes events. They are searched for before the lock is taken. */
export function createDeleteEvents(runQuery: Query, { readFullPage }: ReturnType<typeof createRead>) {
  async function find(removal: Removal | OneEvent, limit: number): Promise<{ rows: Row[]; isLast: boolean }> {
    const { projectId } = removal;
    if ("id" in removal) {
      const rows = await runQuery<Row>(
        `SELECT created_at AS ms, id, '' AS body FROM events
         WHERE project_id = $1 AND id = $2 AND created_at = coalesce(
           (SELECT created_at FROM sent_ids WHERE project_id = $1 AND id = $2), $3)`,
        [projectId, removal.id, stampOfId(removal.id).ms],
      );
      return { rows, isLast: true };
    }
    const { rows, next } = await readFullPage({ projectId, filter: filterOf(removal), order: "asc" }, limit);
    return { rows, isLast: next === null };
  }

  return {
    async remove(removal: Removal | OneEvent, limit: number, jobId?: string): Promise<Removed> {
      const { rows, isLast } = await find(removal, limit);
      if (rows.length === 0) return { ids: [], lastMs: null, isLast };
      const [removed] = await runQuery<{ ids: string[] }>(
        "SELECT remove_events_of_users($1, $2, $3, $4)::text[] AS ids",
        [
          removal.projectId,
          bigints(rows.map(({ ms }) => ms)),
          uuids(rows.map(({ id }) => id)),
          jobId ?? null,
        ],
      );
      const removedIds = new Set(removed!.ids);
      return {
        ids: rows.flatMap(({ id }) => (removedIds.has(id) ? [id] : [])),
        lastMs: rows.at(-1)!.ms,
        isLast,
      };
    },

    async removeEmptyChannel(projectId: number, name: string): Promise<void> {
      await runQuery("DELETE FROM channels WHERE project_id = $1 AND name = $2 AND events <= 0", [
        projectId,
        name,
      ]);
    },

    async countRemovable(removal: Removal): Promise<number> {
      const { projectId, fromMs, toMs } = removal;
      const [row] = await runQuery<{ events: number }>(
        `SELECT count(*) AS events FROM events WHERE project_id = $1
           AND ($2::bigint IS NULL OR created_at >= $2) AND ($3::bigint IS NULL OR created_at < $3)
           AND ($4::tsquery IS NULL OR tokens @@ $4::tsquery)`,
        [projectId, fromMs ?? null, toMs ?? null, matchOf(projectId, filterOf(removal)).query],
        countMs,
      );
      return row!.events;
    },
  };
}

function filterOf({ channels, userId, fromMs, toMs }: Removal): EventFilter {
  return {
    ...(channels && { search: { kind: "field", field: "channel", values: channels } }),
    ...(userId !== undefined && { userId }),
    ...(fromMs !== undefined && { fromMs }),
    ...(toMs !== undefined && { toMs }),
  };
}
