import type { Database } from "bun:sqlite";
import type { Turns } from "../../scheduling/turns.ts";
import { rowKeyAt } from "./row-key.ts";

/** Index entries that one statement counts. */
const runEntries = 20_000;

/** Counts an index query's matches between two row keys, both inclusive, and yields to other work. */
export function createCountEntries(database: Database) {
  const countNext = database.prepare<
    { events: number; ms: number; sequence: number },
    [string, bigint, bigint, number]
  >(
    `SELECT count(*) AS events, max(rowid) >> 21 AS ms, max(rowid) & 2097151 AS sequence FROM (
       SELECT rowid FROM events_index WHERE events_index MATCH ?1 AND rowid BETWEEN ?2 AND ?3
         AND rowid & 2097151 <> 2097151 ORDER BY rowid LIMIT ?4)`,
  );

  return async function countEntries(
    match: string,
    low: bigint,
    high: bigint,
    turns: Turns,
  ): Promise<number> {
    let all = 0;
    for (let from = low; ; ) {
      const { events, ms, sequence } = countNext.get(match, from, high, runEntries)!;
      all += events;
      if (events < runEntries) return all;
      from = rowKeyAt(ms, sequence) + 1n;
      await turns.next();
    }
  };
}
