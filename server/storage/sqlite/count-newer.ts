import type { Database } from "bun:sqlite";
import type { Condition } from "../../event/match.ts";
import { token } from "../../event/tokens.ts";
import { Turns } from "../../scheduling/turns.ts";
import { type NewerQuery, newerReadMax } from "../event-queries.ts";
import { textOf } from "./match.ts";
import { datedBit, latest, rowKeyAt } from "./row-key.ts";

/** Counts each channel's events after a time, up to a maximum, from the index and the arrivals of dated events. */
export function createCountNewer(database: Database) {
  // Only a dated event can have arrived before its `createdAt`.
  const selectEntries = database.prepare<
    { events: number },
    [match: string, low: bigint, high: bigint, read: number, after: bigint, max: number]
  >(
    `SELECT count(*) AS events FROM (
       SELECT 1 FROM (
         SELECT rowid AS row_key FROM events_index WHERE events_index MATCH ?1 AND rowid BETWEEN ?2 AND ?3
           AND rowid & 2097151 <> 2097151 ORDER BY rowid LIMIT ?4
       ) AS entries
       WHERE row_key & ${datedBit} = 0
         OR (SELECT arrival FROM events WHERE events.row_key = entries.row_key) >= ?5
       LIMIT ?6)`,
  );

  return async function countNewer({ projectId, channels, max }: NewerQuery): Promise<number[]> {
    const counts: number[] = [];
    const turns = new Turns(projectId);
    for (const { name, afterMs } of channels) {
      const condition: Condition = { kind: "tokens", tokens: [token.channel(projectId, name)] };
      const after = rowKeyAt(afterMs + 1);
      const match = textOf(condition, { sentinels: true });
      counts.push(selectEntries.get(match, after, latest, newerReadMax, after, max)!.events);
      await turns.next();
    }
    return counts;
  };
}
