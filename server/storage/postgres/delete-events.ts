import type { Cursor, EventFilter } from "../../event/filter.ts";
import type { Search } from "../../event/search.ts";
import type { OneEvent, Removal, Removed } from "../event-queries.ts";
import { bigints, uuids } from "./arrays.ts";
import { matchOf } from "./match.ts";
import type { OlderEvents } from "./older.ts";
import type { Row } from "./page.ts";
import { Partitions } from "./partitions.ts";
import type { Query } from "./query.ts";
import type { createRead } from "./read.ts";
import { createRemoveOlder } from "./remove-older.ts";
import { aboveSql, earliest, latest } from "./scan-cursor.ts";

/** Rows of a page, which is parsed at once. */
const pageRows = 2_000;
/** Counting millions of events takes long. */
const countMs = 60_000;

/** Removes events. They are searched for before the lock is taken. */
export function createDeleteEvents(
  runQuery: Query,
  { readFullPage, createdAtOf }: ReturnType<typeof createRead>,
  older: OlderEvents | null,
) {
  const removeRows = older
    ? createRemoveOlder(runQuery, new Partitions(runQuery), older, { readFullPage })
    : removeStored;

  async function find(removal: Removal | OneEvent, limit: number): Promise<{ rows: Row[]; isLast: boolean }> {
    const { projectId } = removal;
    if ("id" in removal) {
      const key = { ms: await createdAtOf(projectId, removal.id), id: removal.id };
      const rows = await runQuery<Row>(
        `SELECT created_at AS ms, id, '' AS body FROM events WHERE project_id = $1 AND created_at = $2 AND id = $3`,
        [projectId, key.ms, key.id],
      );
      const cut = older && rows.length === 0 ? await older.cut() : null;
      return { rows: older && cut ? await older.find(cut, projectId, [key]) : rows, isLast: true };
    }
    const query = { projectId, filter: filterOf(removal), order: "asc" as const };
    const rows: Row[] = [];
    for (let after: Cursor | undefined; ; ) {
      const page = await readFullPage(
        { ...query, ...(after && { after }) },
        Math.min(pageRows, limit - rows.length),
      );
      // Thousands of whole events would take much memory.
      for (const { ms, id } of page.rows) rows.push({ ms, id, body: "" });
      if (page.next === null || rows.length >= limit) return { rows, isLast: page.next === null };
      after = page.next;
    }
  }

  async function removeStored(
    projectId: number,
    rows: readonly Row[],
    jobId: string | undefined,
  ): Promise<string[]> {
    const [removed] = await runQuery<{ ids: string[] }>(
      "SELECT remove_events_of_users($1, $2, $3, $4)::text[] AS ids",
      [projectId, bigints(rows.map(({ ms }) => ms)), uuids(rows.map(({ id }) => id)), jobId ?? null],
    );
    return removed!.ids;
  }

  return {
    async remove(removal: Removal | OneEvent, limit: number, jobId?: string): Promise<Removed> {
      const { rows, isLast } = await find(removal, limit);
      const next = isLast || "id" in removal ? null : { ...removal, fromMs: rows.at(-1)!.ms };
      if (rows.length === 0) return { ids: [], next };
      const removedIds = new Set(await removeRows(removal.projectId, rows, jobId));
      return {
        ids: rows.flatMap(({ id }) => (removedIds.has(id) ? [id] : [])),
        next,
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
      const match = matchOf(projectId, filterOf(removal));
      const cut = older && (await older.cut());
      const [row] = await runQuery<{ events: number }>(
        `SELECT count(*) AS events FROM events WHERE project_id = $1
           AND ($2::bigint IS NULL OR created_at >= $2) AND ($3::bigint IS NULL OR created_at < $3)
           AND ($4::tsquery IS NULL OR tokens @@ $4::tsquery) ${aboveSql(cut?.arrival)}`,
        [projectId, fromMs ?? null, toMs ?? null, match.query],
        countMs,
      );
      if (!older || !cut) return row!.events;
      const range = { fromMs: fromMs ?? earliest, toMs: toMs ?? latest };
      const [earlier] = await older.countGroups(cut, {
        projectId,
        condition: match.condition,
        range,
        bounds: [range.fromMs, range.toMs],
        split: undefined,
        values: undefined,
        groupsMax: 1,
      });
      return row!.events + (earlier?.events ?? 0);
    },
  };
}

function filterOf({ channels, userIds, fromMs, toMs }: Removal): EventFilter {
  const of: Search[] = [];
  if (channels) of.push({ kind: "field", field: "channel", values: channels });
  if (userIds) of.push({ kind: "field", field: "user", values: [...userIds] });
  return {
    ...(of.length > 0 && { search: { kind: "all", of } }),
    ...(fromMs !== undefined && { fromMs }),
    ...(toMs !== undefined && { toMs }),
  };
}
