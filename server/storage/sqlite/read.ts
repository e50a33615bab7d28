import type { Database } from "bun:sqlite";
import { csvRow } from "../../events/csv.ts";
import { holds } from "../../events/filter.ts";
import { type Moment, momentOfId } from "../../events/id.ts";
import type { Event } from "../../wire/event.ts";
import { dashed, eventJson } from "../event-row.ts";
import type { ArrivedEvent, Cursor, EventForm, EventQuery, Page } from "../store.ts";
import { matchEvery, matchOf } from "./match.ts";
import { datedBit, positionAfter, positionAt, positionOf, positionSql } from "./position.ts";
import type { Vocabulary } from "./vocabulary.ts";

type Row = { ms: number; sequence: number; id: string; body: string };

const columns =
  "events.position >> 21 AS ms, events.position & 2097151 AS sequence, lower(hex(events.id)) AS id, events.body";
const earliest = 0n;
const latest = 2n ** 63n - 1n;
/** Rows that a page reads at least at a time, for the case that some do not hold; the more did not, the more it reads. */
const runRowsMin = 50;
/** Rows that are looked at before others have their turn; a page goes on from there. */
const comparedRowsMax = 5_000;
/** A chunk is long enough with so many characters. */
const chunkCharacters = 1_048_576;

/** The queries on events. All are read-only and hold no transaction open between calls. */
export function createRead(database: Database, vocabulary: Vocabulary) {
  const indexed = (order: "ASC" | "DESC") =>
    database.prepare<Row, [string, bigint, bigint, number]>(
      `SELECT ${columns} FROM events_index JOIN events ON events.position = events_index.rowid
       WHERE events_index MATCH ?1 AND events_index.rowid BETWEEN ?2 AND ?3
       ORDER BY events_index.rowid ${order} LIMIT ?4`,
    );
  const select = { asc: indexed("ASC"), desc: indexed("DESC") };
  // Where most rows are of the project that is asked for, reading them in their own order is four times as quick as the index.
  const scanned = (order: "ASC" | "DESC") =>
    database.prepare<Row, [number, bigint, bigint, number]>(
      `SELECT ${columns} FROM events WHERE project_id = ?1 AND position BETWEEN ?2 AND ?3
       ORDER BY position ${order} LIMIT ?4`,
    );
  const scan = { asc: scanned("ASC"), desc: scanned("DESC") };
  const selectShare = database.prepare<{ own: number; all: number }, [number]>(
    `SELECT coalesce(sum(events) FILTER (WHERE project_id = ?1), 0) AS own, coalesce(sum(events), 0) AS "all" FROM channels`,
  );
  const selectSent = database.prepare<Row, [number, string]>(
    `SELECT ${columns} FROM sent_ids JOIN events USING (position)
     WHERE sent_ids.project_id = ?1 AND sent_ids.id = unhex(?2, '-')`,
  );
  const selectMade = database.prepare<Row, [number, number, number, string]>(
    `SELECT ${columns} FROM events
     WHERE (position = ${positionSql("?2", "?3")} OR arrival = ${positionSql("?2", "?3")})
       AND project_id = ?1 AND id = unhex(?4, '-')`,
  );
  // What came undated arrived at its position; what came dated says so in its own column.
  const selectUndatedAfter = database.prepare<Row, [string, bigint, bigint, number]>(
    `SELECT ${columns} FROM events_index JOIN events ON events.position = events_index.rowid
     WHERE events_index MATCH ?1 AND events_index.rowid BETWEEN ?2 AND ?3
       AND events_index.rowid & ${datedBit} = 0
     ORDER BY events_index.rowid LIMIT ?4`,
  );
  const selectDatedAfter = database.prepare<
    Row & { arrivalMs: number; arrivalSequence: number },
    [number, bigint, number]
  >(
    `SELECT ${columns}, arrival >> 21 AS arrivalMs, arrival & 2097151 AS arrivalSequence FROM events
     WHERE arrival > ?2 AND project_id = ?1 ORDER BY arrival LIMIT ?3`,
  );
  const selectAny = database.prepare("SELECT 1 FROM events LIMIT 1");
  const selectLastUndated = database.prepare<{ ms: number; sequence: number }, [bigint]>(
    "SELECT position >> 21 AS ms, position & 2097151 AS sequence FROM events WHERE position > ?1 AND arrival IS NULL ORDER BY position DESC LIMIT 1",
  );
  const selectLastDated = database.prepare<{ ms: number; sequence: number }, []>(
    "SELECT arrival >> 21 AS ms, arrival & 2097151 AS sequence FROM events WHERE arrival IS NOT NULL ORDER BY arrival DESC LIMIT 1",
  );

  /**
   * The next rows in order, at least `count` where there are as many; whole milliseconds, since the events of one are in
   * the order of their ids and not of their positions.
   */
  function readRun(
    read: ReadRows,
    order: EventQuery["order"],
    { low, high }: Bounds,
    count: number,
  ): { rows: Row[]; isLast: boolean } {
    if (low > high) return { rows: [], isLast: true };
    const ascending = order === "asc";
    const rows = read(low, high, count);
    const isLast = rows.length < count;
    const last = rows.at(-1);
    if (last && !isLast) {
      const end = positionAt(last.ms, last.sequence);
      const rest = ascending
        ? read(end + 1n, positionAfter(last.ms) - 1n, -1)
        : read(positionAt(last.ms), end - 1n, -1);
      for (const row of rest) rows.push(row);
    }
    return { rows: sortWithinMs(rows, ascending), isLast };
  }

  /** Whether a query asks for so much that rows are read as they lie: all of a project that has at least half of them. */
  function isScanned({ projectId, filter }: EventQuery): boolean {
    if (!Object.keys(filter).every((name) => name === "fromMs" || name === "toMs")) return false;
    const { own, all } = selectShare.get(projectId)!;
    return own * 2 >= all;
  }

  /** Up to `limit` events, fewer also where many were looked at in vain, and where to go on. */
  function readPage(query: EventQuery, limit: number): { rows: Row[]; next: Cursor | null } {
    const { projectId, after, filter, order } = query;
    const ascending = order === "asc";
    const isPast = (row: Row): boolean =>
      after !== undefined &&
      row.ms === after.ms &&
      (ascending ? dashed(row.id) <= after.id : dashed(row.id) >= after.id);
    const match = matchOf(projectId, filter, vocabulary);
    const milestones = (ascending ? filter.toMs : filter.fromMs) !== undefined;
    const matchQuery = match.query({ milestones });
    const readRows: ReadRows = isScanned(query)
      ? (low, high, count) => scan[order].all(projectId, low, high, count)
      : (low, high, count) => select[order].all(matchQuery, low, high, count);
    const rows: Row[] = [];
    const bounds = boundsOf(query);
    for (let seen = 0; ; ) {
      const run = readRun(readRows, order, bounds, Math.max(limit - rows.length + 1, runRowsMin, seen));
      for (const row of run.rows) {
        if (isPast(row)) continue;
        if (!match.isExact && !holds(filter, JSON.parse(jsonOf(row)) as Event)) continue;
        rows.push(row);
      }
      if (rows.length > limit) {
        rows.length = limit;
        return { rows, next: cursorOf(rows.at(-1)!) };
      }
      if (run.isLast) return { rows, next: null };
      const last = run.rows.at(-1)!;
      seen += run.rows.length;
      if (!match.isExact && seen >= comparedRowsMax) return { rows, next: cursorOf(last) };
      // The run ended with a whole millisecond: the next one starts beyond it.
      if (ascending) bounds.low = positionAfter(last.ms);
      else bounds.high = positionAt(last.ms) - 1n;
    }
  }

  // Mean length of the last chunk's events, so that a chunk of long ones does not fill the memory.
  let eventCharacters = chunkCharacters / runRowsMin;

  // One transaction: a commit between the two would show a later arrival and hide an earlier one, which was then missed.
  const readArrived = database.transaction(
    (projectId: number, after: bigint, limit: number) =>
      [
        selectUndatedAfter.all(matchEvery(projectId), after + 1n, latest, limit),
        selectDatedAfter.all(projectId, after, limit),
      ] as const,
  );

  return {
    page(query: EventQuery, limit: number): Page {
      const { rows, next } = readPage(query, limit);
      return { events: rows.map(written[query.form ?? "json"]), next };
    },

    /** Up to `limit` events as one text; fewer where the last ones were long. */
    chunk(query: EventQuery, limit: number): { text: string; next: Cursor | null } {
      const { rows, next } = readPage(query, Math.min(limit, Math.ceil(chunkCharacters / eventCharacters)));
      const { form = "json" } = query;
      const write = written[form];
      const between = form === "json" ? "," : "";
      let text = "";
      for (const row of rows) text += text === "" ? write(row) : between + write(row);
      if (rows.length > 0) eventCharacters = text.length / rows.length;
      return { text, next };
    },

    find(projectId: number, id: string): string | null {
      const moment = momentOfId(id);
      const row = selectMade.get(projectId, moment.ms, moment.sequence, id) ?? selectSent.get(projectId, id);
      return row ? jsonOf(row) : null;
    },

    arrivedAfter(projectId: number, moment: Moment, limit: number): ArrivedEvent[] {
      const [undatedRows, datedRows] = readArrived(projectId, positionOf(moment), limit);
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

    lastArrival(): Moment | null {
      const dated = selectLastDated.get();
      // Only what came after it can be later still: events that clients dated are not read through for one that they did not.
      return selectLastUndated.get(dated ? positionOf(dated) : earliest) ?? dated;
    },
  };
}

function jsonOf(row: Row): string {
  return eventJson(row.id, row.body, row.ms);
}

const written: Record<EventForm, (row: Row) => string> = {
  json: jsonOf,
  ndjson: (row) => `${jsonOf(row)}\n`,
  csv: (row) => csvRow(JSON.parse(jsonOf(row)) as Event),
};

function cursorOf({ ms, id }: Row): Cursor {
  return { ms, id: dashed(id) };
}

/** Reads rows between two positions, both inclusive, in the order of a query. */
type ReadRows = (low: bigint, high: bigint, count: number) => Row[];

/** Positions between which a query's events stand, both inclusive. */
type Bounds = { low: bigint; high: bigint };

function boundsOf({ filter, order, after }: EventQuery): Bounds {
  const low = filter.fromMs === undefined ? earliest : positionAt(Math.max(filter.fromMs, 0));
  const high = filter.toMs === undefined ? latest : positionAt(Math.max(filter.toMs, 0)) - 1n;
  if (!after) return { low, high };
  // The cursor's own millisecond is read again: others of it may follow.
  return order === "desc"
    ? { low, high: smaller(high, positionAfter(after.ms) - 1n) }
    : { low: larger(low, positionAt(after.ms)), high };
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/** Sorts by id within each millisecond; ids that the server made are in order already, and cost one comparison. */
function sortWithinMs(rows: Row[], ascending: boolean): Row[] {
  const isInOrder = (a: Row, b: Row): boolean => a.ms !== b.ms || (ascending ? a.id < b.id : a.id > b.id);
  for (let index = 1; index < rows.length; index++) {
    if (isInOrder(rows[index - 1]!, rows[index]!)) continue;
    const sign = ascending ? 1 : -1;
    return rows.sort((a, b) => sign * (a.ms - b.ms || (a.id < b.id ? -1 : 1)));
  }
  return rows;
}
