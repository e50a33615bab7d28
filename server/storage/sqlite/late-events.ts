import type { Database } from "bun:sqlite";
import { limits } from "../../core/limits.ts";
import { Turns } from "../../scheduling/turns.ts";
import { type ArrivedLaterQuery, type LateQuery, lateReadMax } from "../event-queries.ts";
import type { Bodies } from "./bodies.ts";
import { jsonOf } from "./page.ts";
import { rowKeyAt } from "./row-key.ts";
import { type Row, rowColumns } from "./rows-in-order.ts";

/** Compares events' arrivals with a time. */
export function createLateEvents(database: Database, bodies: Bodies) {
  // The index of arrivals has the row keys, so only the rows of late events are read.
  const selectLate = database.prepare<
    Row,
    [project: number, from: bigint, to: bigint, read: number, low: bigint, high: bigint]
  >(
    `SELECT ${rowColumns} FROM events WHERE row_key IN (
       SELECT row_key FROM (
         SELECT row_key, arrival FROM events WHERE arrival >= ?2 AND arrival < ?3 ORDER BY arrival LIMIT ?4)
       WHERE row_key BETWEEN ?5 AND ?6 AND (arrival >> 21) - (row_key >> 21) <= ${limits.notifyAgeMs})
     AND project_id = ?1`,
  );
  const selectArrival = database.prepare<
    { isLater: number },
    [project: number, id: string, low: bigint, high: bigint, after: bigint]
  >(
    `SELECT coalesce(arrival, row_key) >= ?5 AS isLater FROM events
     WHERE row_key BETWEEN ?3 AND ?4 AND project_id = ?1 AND id = unhex(?2, '-')`,
  );

  return {
    async lateEvents({ projectId, times }: LateQuery): Promise<string[][]> {
      const late: string[][] = [];
      const turns = new Turns(projectId);
      for (const ms of times) {
        const [low, mark] = [rowKeyAt(Math.max(0, ms - limits.notifyAgeMs)), rowKeyAt(ms + 1)];
        const to = rowKeyAt(ms + limits.notifyAgeMs + 1);
        const rows = bodies.in(() => selectLate.all(projectId, mark, to, lateReadMax, low, mark - 1n));
        late.push(rows.map(jsonOf));
        await turns.next();
      }
      return late;
    },

    arrivedLater({ projectId, afterMs, events }: ArrivedLaterQuery): boolean[] {
      return events.map(({ ms, id }) => {
        const [low, high] = [rowKeyAt(ms), rowKeyAt(ms + 1) - 1n];
        return selectArrival.get(projectId, id, low, high, rowKeyAt(afterMs + 1))?.isLater === 1;
      });
    },
  };
}
