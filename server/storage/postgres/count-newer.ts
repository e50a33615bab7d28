import { token } from "../../event/tokens.ts";
import type { NewerQuery } from "../event-queries.ts";
import { queryOfTokens } from "./match.ts";
import type { Query } from "./query.ts";

const hourMs = 3_600_000;

/**
 * Counts each channel's events after a time, up to a maximum. At most so many counters are read for each channel; the
 * index is asked only for the channels that had an event in the hour of that time.
 */
export function createCountNewer(runQuery: Query) {
  return async function countNewer({ projectId, channels, toMs, max }: NewerQuery): Promise<number[]> {
    if (channels.length === 0) return [];
    const hours = channels.map(({ afterMs }) => Math.floor(afterMs / hourMs));
    const later = await runQuery<{ events: number; has_more: boolean }>(
      `SELECT coalesce(later.events, 0) AS events, EXISTS (
           SELECT FROM channel_counters
           WHERE project_id = $1 AND channel = asked.name AND hour = asked.hour
         ) AS has_more
       FROM unnest($2::text[], $3::integer[]) WITH ORDINALITY AS asked (name, hour, place)
       LEFT JOIN LATERAL (
         SELECT sum(events)::bigint AS events FROM (
           SELECT events FROM channel_counters
           WHERE project_id = $1 AND channel = asked.name AND hour > asked.hour AND hour <= $4
           ORDER BY hour LIMIT $5
         ) AS hours
       ) AS later ON true
       ORDER BY asked.place`,
      [projectId, channels.map(({ name }) => name), hours, Math.floor(toMs / hourMs), max + 1],
    );
    const counts = later.map(({ events }) => Math.min(max, Number(events)));
    const open = channels.flatMap((_, at) => (counts[at]! < max && later[at]!.has_more ? [at] : []));
    if (open.length === 0) return counts;
    const rest = await runQuery<{ events: number }>(
      `SELECT found.events
       FROM unnest($2::bigint[], $3::bigint[], $4::text[]) WITH ORDINALITY AS asked (after_ms, to_ms, query, place)
       CROSS JOIN LATERAL (
         SELECT count(*) AS events FROM (
           SELECT FROM events
           WHERE project_id = $1 AND created_at > asked.after_ms AND created_at < asked.to_ms
             AND tokens @@ asked.query::tsquery
           LIMIT $5
         ) AS hour
       ) AS found
       ORDER BY asked.place`,
      [
        projectId,
        open.map((at) => channels[at]!.afterMs),
        open.map((at) => (hours[at]! + 1) * hourMs),
        open.map((at) => queryOf(projectId, channels[at]!.name, hours[at]!)),
        max,
      ],
    );
    for (const [index, at] of open.entries()) {
      counts[at] = Math.min(max, counts[at]! + Number(rest[index]!.events));
    }
    return counts;
  };
}

function queryOf(projectId: number, channel: string, hour: number): string {
  return `${queryOfTokens([token.channel(projectId, channel)])} & ${queryOfTokens([token.hour(projectId, hour)])}`;
}
