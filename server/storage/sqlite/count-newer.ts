import type { Database } from "bun:sqlite";
import type { Condition } from "../../event/match.ts";
import { token } from "../../event/tokens.ts";
import { Turns } from "../../turns.ts";
import type { NewerQuery } from "../event-queries.ts";
import { textOf } from "./match.ts";
import { rowKeyAt } from "./row-key.ts";

const hourMs = 3_600_000;

/**
 * Counts each channel's events after a time, up to a maximum. At most so many counters and index entries are read for
 * each channel, however many events there are.
 */
export function createCountNewer(database: Database) {
  // An hour without events has no counter.
  const selectHours = database.prepare<
    { events: number | null },
    [project: number, channel: string, after: number, to: number, max: number]
  >(
    `SELECT sum(events) AS events FROM (
       SELECT events FROM channel_counters
       WHERE project_id = ?1 AND channel = ?2 AND hour > ?3 AND hour <= ?4 ORDER BY hour LIMIT ?5)`,
  );
  const selectHour = database.prepare<{ events: number }, [project: number, channel: string, hour: number]>(
    "SELECT events FROM channel_counters WHERE project_id = ?1 AND channel = ?2 AND hour = ?3",
  );
  const selectEntries = database.prepare<{ events: number }, [string, bigint, bigint, number]>(
    `SELECT count(*) AS events FROM (
       SELECT 1 FROM events_index WHERE events_index MATCH ?1 AND rowid BETWEEN ?2 AND ?3
         AND rowid & 2097151 <> 2097151 ORDER BY rowid LIMIT ?4)`,
  );

  return async function countNewer({ projectId, channels, toMs, max }: NewerQuery): Promise<number[]> {
    const counts: number[] = [];
    const turns = new Turns(projectId);
    for (const { name, afterMs } of channels) {
      counts.push(countOf(projectId, name, afterMs, toMs, max));
      await turns.next();
    }
    return counts;
  };

  function countOf(projectId: number, channel: string, afterMs: number, toMs: number, max: number): number {
    const hour = Math.floor(afterMs / hourMs);
    const later = selectHours.get(projectId, channel, hour, Math.floor(toMs / hourMs), max + 1)?.events ?? 0;
    if (later >= max) return max;
    if (!selectHour.get(projectId, channel, hour)) return later;
    const condition: Condition = { kind: "tokens", tokens: [token.channel(projectId, channel)] };
    const [low, high] = [rowKeyAt(afterMs + 1), rowKeyAt((hour + 1) * hourMs) - 1n];
    const { events } = selectEntries.get(textOf(condition, { sentinels: true }), low, high, max)!;
    return Math.min(max, later + events);
  }
}
