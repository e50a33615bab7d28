import type { Database } from "bun:sqlite";
import { Turns } from "../../turns.ts";
import { rowKeyAt } from "./row-key.ts";

/** Entries of the index that one statement counts. */
const entriesOfRun = 20_000;

/** Makes the function that counts what a query of the index finds between two positions, both inclusive, in turns with others. */
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
    turns = new Turns(),
  ): Promise<number> {
    let all = 0;
    for (let from = low; ; ) {
      const { events, ms, sequence } = countNext.get(match, from, high, entriesOfRun)!;
      all += events;
      if (events < entriesOfRun) return all;
      from = rowKeyAt(ms, sequence) + 1n;
      await turns.next();
    }
  };
}
