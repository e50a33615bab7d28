import type { Database } from "bun:sqlite";
import type { Event } from "../../event/event.ts";
import { csvRow, csvRowWith } from "../../event/event-format.ts";
import type { Cursor } from "../../event/filter.ts";
import { type ArrivalStamp, stampOfId } from "../../event/id.ts";
import { TagCounts } from "../../event/tag-counts.ts";
import type { EventQuery, Page } from "../event-queries.ts";
import type { ArrivedEvent } from "../event-store.ts";
import type { Blocks } from "./blocks.ts";
import type { Bodies } from "./bodies.ts";
import { matchEvery } from "./match.ts";
import { createReadPage, jsonOf, readRowsMin } from "./page.ts";
import { datedBit, earliest, latest, rowKeyAt, rowKeyOf, rowKeySql } from "./row-key.ts";
import { type Row, rowColumns } from "./rows-in-order.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** The length at which a chunk ends. */
const chunkCharacters = 1_048_576;

/** Queries on events. They hold no transaction open between calls. */
export function createRead(database: Database, vocabulary: Vocabulary, blocks: Blocks, bodies: Bodies) {
  const readPage = createReadPage(database, vocabulary, blocks, bodies);
  const selectSent = database.prepare<Row, [number, string]>(
    `SELECT ${rowColumns} FROM sent_ids JOIN events USING (row_key)
     WHERE sent_ids.project_id = ?1 AND sent_ids.id = unhex(?2, '-')`,
  );
  const selectMade = database.prepare<Row, [number, number, number, string]>(
    `SELECT ${rowColumns} FROM events
     WHERE (row_key = ${rowKeySql("?2", "?3")} OR arrival = ${rowKeySql("?2", "?3")})
       AND project_id = ?1 AND id = unhex(?4, '-')`,
  );
  // The arrival of a dated event is in its own column; that of any other event is its row key.
  const selectUndatedAfter = database.prepare<Row, [string, bigint, bigint, number]>(
    `SELECT ${rowColumns} FROM events_index JOIN events ON events.row_key = events_index.rowid
     WHERE events_index MATCH ?1 AND events_index.rowid BETWEEN ?2 AND ?3
       AND events_index.rowid & ${datedBit} = 0
     ORDER BY events_index.rowid LIMIT ?4`,
  );
  const selectDatedAfter = database.prepare<
    Row & { arrivalMs: number; arrivalSequence: number },
    [number, bigint, number]
  >(
    `SELECT ${rowColumns}, arrival >> 21 AS arrivalMs, arrival & 2097151 AS arrivalSequence FROM events
     WHERE arrival > ?2 AND project_id = ?1 ORDER BY arrival LIMIT ?3`,
  );
  const selectAny = database.prepare("SELECT 1 FROM events LIMIT 1");
  const selectLastUndated = database.prepare<{ ms: number; sequence: number }, [bigint]>(
    "SELECT row_key >> 21 AS ms, row_key & 2097151 AS sequence FROM events WHERE row_key > ?1 AND arrival IS NULL ORDER BY row_key DESC LIMIT 1",
  );
  const selectLastDated = database.prepare<{ ms: number; sequence: number }, []>(
    "SELECT arrival >> 21 AS ms, arrival & 2097151 AS sequence FROM events WHERE arrival IS NOT NULL ORDER BY arrival DESC LIMIT 1",
  );

  // Mean length of the last chunk's events, to keep chunks of long events small.
  let eventCharacters = chunkCharacters / readRowsMin;

  // One transaction: with a commit between the two reads, a later arrival could be returned and an earlier one missed.
  const readArrived = database.transaction((projectId: number, after: bigint, limit: number) => {
    const dated = selectDatedAfter.all(projectId, after, limit);
    // Undated events after the last dated one are not among the first `limit`: don't search for them.
    const last = dated.length === limit ? dated.at(-1) : undefined;
    const high = last ? rowKeyAt(last.arrivalMs, last.arrivalSequence) : latest;
    const undated = selectUndatedAfter.all(matchEvery(projectId), after + 1n, high, limit);
    return [bodies.in(() => undated), bodies.in(() => dated)] as const;
  });

  return {
    page(query: EventQuery, limit: number): Page {
      const { rows, next } = readPage(query, limit);
      return { events: rows.map(writerOf(query)), next };
    },

    /** Up to `limit` events as one text; fewer if the last chunk's events were long. */
    chunk(query: EventQuery, limit: number): { text: string; next: Cursor | null } {
      const { rows, next } = readPage(query, Math.min(limit, Math.ceil(chunkCharacters / eventCharacters)));
      const text = textOf(rows, query);
      if (rows.length > 0) eventCharacters = text.length / rows.length;
      return { text, next };
    },

    find(projectId: number, id: string): string | null {
      const stamp = stampOfId(id);
      const [row] = bodies.in(() => {
        const found =
          selectMade.get(projectId, stamp.ms, stamp.sequence, id) ?? selectSent.get(projectId, id);
        return found ? [found] : [];
      });
      return row ? jsonOf(row) : null;
    },

    arrivedAfter(projectId: number, stamp: ArrivalStamp, limit: number): ArrivedEvent[] {
      const [undatedRows, datedRows] = readArrived(projectId, rowKeyOf(stamp), limit);
      const undated = undatedRows.map((row) => ({
        arrival: { ms: row.ms, sequence: row.sequence },
        json: jsonOf(row),
      }));
      const dated = datedRows.map((row) => ({
        arrival: { ms: row.arrivalMs, sequence: row.arrivalSequence },
        json: jsonOf(row),
      }));
      const arrived = [...undated, ...dated]
        .sort((a, b) => a.arrival.ms - b.arrival.ms || a.arrival.sequence - b.arrival.sequence)
        .slice(0, limit);
      let characters = 0;
      for (const [index, { json }] of arrived.entries()) {
        characters += json.length;
        if (characters > chunkCharacters) return arrived.slice(0, Math.max(index, 1));
      }
      return arrived;
    },

    ping(): void {
      selectAny.get();
    },

    lastArrival(): ArrivalStamp | null {
      const dated = selectLastDated.get();
      // Search for an undated event only after the last dated one, so that dated events are not read through.
      return selectLastUndated.get(dated ? rowKeyOf(dated) : earliest) ?? dated;
    },
  };
}

/** The format of a query's rows. */
function writerOf({ format = "json", tagColumns }: EventQuery): (row: Row) => string {
  if (format === "json") return jsonOf;
  if (format === "ndjson") return (row) => `${jsonOf(row)}\n`;
  const write = tagColumns ? (event: Event) => csvRowWith(event, tagColumns) : csvRow;
  return (row) => write(JSON.parse(jsonOf(row)) as Event);
}

/** Rows as one text. */
function textOf(rows: readonly Row[], query: EventQuery): string {
  if (query.format !== "tagCounts")
    return rows.map(writerOf(query)).join((query.format ?? "json") === "json" ? "," : "");
  const counts = new TagCounts();
  for (const row of rows) counts.add(JSON.parse(jsonOf(row)) as Event);
  return rows.length > 0 ? JSON.stringify(counts.entries()) : "";
}
