import { limits } from "../../core/limits.ts";
import { type ArrivedLaterQuery, type LateQuery, lateReadMax } from "../event-queries.ts";
import { jsonOf } from "../event-row.ts";
import { arrivalOf } from "./arrival.ts";
import { beforeCut, type OlderEvents } from "./older.ts";
import type { Row } from "./page.ts";
import type { Query } from "./query.ts";
import { aboveSql } from "./scan-cursor.ts";

/** Compares events' arrivals with a time. */
export function createLateEvents(runQuery: Query, older: OlderEvents | null) {
  return {
    async lateEvents(query: LateQuery): Promise<string[][]> {
      const { projectId, times } = query;
      if (times.length === 0) return [];
      const { cut, value: earlier } = await beforeCut(older, (cut) => older!.lateEvents(cut, query));
      const late = earlier ?? times.map((): string[] => []);
      const age = limits.notifyAgeMs;
      const rows = await runQuery<Row & { place: string }>(
        `SELECT asked.place, late.ms, late.id, late.body
         FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS asked (ms, from_arrival, to_arrival, place)
         CROSS JOIN LATERAL (
           SELECT created_at AS ms, id, body FROM (
             SELECT created_at, arrival, id, body FROM events
             WHERE project_id = $1 AND arrival >= asked.from_arrival AND arrival < asked.to_arrival ${aboveSql(cut?.arrival)}
               AND created_at > asked.ms - ${age} AND created_at <= asked.ms + ${age + limits.maxClockSkewMs}
             ORDER BY arrival LIMIT $5
           ) AS arrived
           WHERE created_at <= asked.ms AND (arrival >> 20) - created_at <= ${age}
         ) AS late`,
        [
          projectId,
          times,
          times.map((ms) => arrivalOf({ ms: ms + 1, sequence: 0 })),
          times.map((ms) => arrivalOf({ ms: ms + age + 1, sequence: 0 })),
          lateReadMax,
        ],
      );
      for (const { place, id, body, ms } of rows) late[Number(place) - 1]!.push(jsonOf(id, body, ms));
      return late;
    },

    async arrivedLater({ projectId, afterMs, events }: ArrivedLaterQuery): Promise<boolean[]> {
      const from = arrivalOf({ ms: afterMs + 1, sequence: 0 });
      const rows = await runQuery<{ is_later: boolean | null }>(
        `SELECT events.arrival >= $4 AS is_later
         FROM unnest($2::bigint[], $3::uuid[]) WITH ORDINALITY AS asked (ms, id, place)
         LEFT JOIN events ON events.project_id = $1 AND events.created_at = asked.ms AND events.id = asked.id
         ORDER BY asked.place`,
        [projectId, events.map(({ ms }) => ms), events.map(({ id }) => id), from],
      );
      const missing = events.filter((_, at) => rows[at]!.is_later === null);
      const cut = older && missing.length > 0 ? await older.cut() : null;
      const found = older && cut ? await older.find(cut, projectId, missing) : [];
      const later = new Set(
        found.flatMap(({ arrival, id }) => (BigInt(arrival) >= BigInt(from) ? [id] : [])),
      );
      return events.map(({ id }, at) => rows[at]!.is_later ?? later.has(id));
    },
  };
}
