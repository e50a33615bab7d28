import { token } from "../../event/tokens.ts";
import { type NewerQuery, newerReadMax } from "../event-queries.ts";
import { arrivalOf } from "./arrival.ts";
import { queryOfTokens } from "./match.ts";
import { beforeCut, type OlderEvents } from "./older.ts";
import type { Query } from "./query.ts";
import { aboveSql } from "./scan-cursor.ts";

const hourMs = 3_600_000;

/** A channel that is not counted to its end: where it goes on. */
type Open = { at: number; fromMs: number; read: number };

/**
 * Counts each channel's events after a time, up to a maximum. The index has no order, so counters name the next hours
 * that have enough events. Events of these hours can have arrived before the time; then the next hours are read.
 */
export function createCountNewer(runQuery: Query, older: OlderEvents | null) {
  return async function countNewer(query: NewerQuery): Promise<number[]> {
    const { projectId, channels, max } = query;
    const { cut, value: earlier } = await beforeCut(older, (cut) => older!.countNewer(cut, query));
    const counts = earlier ?? channels.map(() => 0);
    let open: Open[] = channels.map(({ afterMs }, at) => ({ at, fromMs: afterMs + 1, read: 0 }));
    while (open.length > 0) {
      const hours = await nextHours(
        projectId,
        open.map(({ at, fromMs }) => ({ name: channels[at]!.name, fromMs })),
        max,
      );
      const parts = open.flatMap((each, index) => {
        const { hours: own, events, has_more } = hours[index]!;
        return own.length === 0
          ? []
          : [
              {
                ...each,
                hours: own,
                toMs: (own.at(-1)! + 1) * hourMs,
                read: each.read + Number(events),
                has_more,
              },
            ];
      });
      if (parts.length === 0) break;
      const found = await runQuery<{ events: number }>(
        `SELECT found.events
         FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::integer[])
           WITH ORDINALITY AS asked (from_ms, to_ms, arrival, query, max, place)
         CROSS JOIN LATERAL (
           SELECT count(*) AS events FROM (
             SELECT FROM events
             WHERE project_id = $1 AND created_at >= asked.from_ms AND created_at < asked.to_ms
               AND arrival >= asked.arrival ${aboveSql(cut?.arrival)} AND tokens @@ asked.query::tsquery
             LIMIT asked.max
           ) AS part
         ) AS found
         ORDER BY asked.place`,
        [
          projectId,
          parts.map(({ fromMs }) => fromMs),
          parts.map(({ toMs }) => toMs),
          parts.map(({ at }) => arrivalOf({ ms: channels[at]!.afterMs + 1, sequence: 0 })),
          parts.map(({ at, hours }) => queryOf(projectId, channels[at]!.name, hours)),
          parts.map(({ at }) => max - counts[at]!),
        ],
      );
      for (const [index, { at }] of parts.entries()) counts[at]! += Number(found[index]!.events);
      open = parts
        .filter(({ at, read, has_more }) => has_more && counts[at]! < max && read < newerReadMax)
        .map(({ at, toMs, read }) => ({ at, fromMs: toMs, read }));
    }
    return counts;
  };

  /** For each channel, the first hours from a time on that together have `max` events. */
  async function nextHours(projectId: number, from: { name: string; fromMs: number }[], max: number) {
    return runQuery<{ hours: number[]; events: number; has_more: boolean }>(
      `SELECT coalesce(next.hours, '{}') AS hours, coalesce(next.events, 0) AS events, coalesce(next.has_more, false) AS has_more
       FROM unnest($2::text[], $3::integer[]) WITH ORDINALITY AS asked (name, hour, place)
       CROSS JOIN LATERAL (
         SELECT array_agg(hour ORDER BY hour) FILTER (WHERE before < $4) AS hours,
           sum(events) FILTER (WHERE before < $4)::bigint AS events, bool_or(before >= $4) AS has_more
         FROM (
           SELECT hour, events, sum(events) OVER (ORDER BY hour) - events AS before FROM (
             SELECT hour, events FROM channel_counters
             WHERE project_id = $1 AND channel = asked.name AND hour >= asked.hour AND events > 0
             ORDER BY hour LIMIT $4 + 1
           ) AS hours
         ) AS sums
       ) AS next
       ORDER BY asked.place`,
      [projectId, from.map(({ name }) => name), from.map(({ fromMs }) => Math.floor(fromMs / hourMs)), max],
    );
  }
}

function queryOf(projectId: number, channel: string, hours: number[]): string {
  const own = hours.map((hour) => queryOfTokens([token.hour(projectId, hour)])).join(" | ");
  return `${queryOfTokens([token.channel(projectId, channel)])} & (${own})`;
}
