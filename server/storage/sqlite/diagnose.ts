import type { Database } from "bun:sqlite";
import { limits } from "../../core/limits.ts";
import type { Event } from "../../event/event.ts";
import { token } from "../../event/tokens.ts";
import { CounterDeltas } from "../counter-deltas.ts";
import type { Diagnosis } from "../diagnosis.ts";
import { readMigrations } from "../migrations.ts";
import { createBodies } from "./bodies.ts";
import { DamagedGroup } from "./body-group.ts";
import { damagedDatabase } from "./damage.ts";
import { newestOf, versionOf } from "./open.ts";
import { msOf, type RowKey } from "./row-key.ts";

/** Sentinel rows are only in the index. */
const isSentinel = "id & 2097151 = 2097151";

/** Events that are read and counted at a time. */
const countedAtOnce = 10_000;

/**
 * The counts that the events give, which `countEvents` has made. Names beyond the first of an hour are counted together
 * (counted-names.ts).
 */
const countedRows = `
  SELECT project_id, channel, hour, name, events, last_at,
         row_number() OVER (PARTITION BY project_id, channel, hour ORDER BY events DESC, name) AS place
  FROM temp.counted_events`;
/** The counts that are stored: in the counters, and in commits that are not in them yet. */
const waitingRows = `
  SELECT value ->> 0 AS project_id, value ->> 1 AS channel, value ->> 2 AS name, value ->> 3 AS hour,
         value ->> 4 AS events, value ->> 5 AS last_at FROM uncounted, json_each(counts)`;

/** Compares pages, index, counters and blocks with the events. It reads everything. */
export function diagnose(database: Database): Diagnosis[] {
  const [pages] = database.query("PRAGMA integrity_check(1)").values();
  if (pages?.[0] !== "ok") return [{ part: "pages", detail: inOneLine(String(pages?.[0])) }];
  const version = versionOf(database);
  const newest = newestOf(readMigrations("sqlite"));
  if (version !== newest)
    return [{ part: "version", detail: `its schema is ${version}, and this program's is ${newest}` }];
  const [unreadable] = countEvents(database);
  if (unreadable !== undefined) return [{ part: "pages", detail: unreadable }];
  return [
    ...indexFaults(database),
    ...counterFaults(database),
    ...blockFaults(database),
    ...idFaults(database),
  ];
}

/**
 * Counts all events by project, channel, name and hour into a temporary table. Returns the errors of those whose bodies
 * can't be read.
 */
function countEvents(database: Database): Set<string> {
  database.run(`
    CREATE TEMP TABLE IF NOT EXISTS counted_events (
      project_id INTEGER, channel TEXT, name TEXT, hour INTEGER, events INTEGER, last_at INTEGER,
      PRIMARY KEY (project_id, channel, name, hour)) WITHOUT ROWID`);
  database.run("DELETE FROM temp.counted_events");
  const add = database.prepare(
    `INSERT INTO temp.counted_events
     SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(?1) WHERE true
     ON CONFLICT DO UPDATE SET events = events + excluded.events, last_at = max(last_at, excluded.last_at)`,
  );
  const select = database.prepare<{ rowKey: bigint; project: bigint; body: string }, [bigint, number]>(
    "SELECT row_key AS rowKey, project_id AS project, body FROM events WHERE row_key > ?1 ORDER BY row_key LIMIT ?2",
  );
  select.safeIntegers(true);
  const bodies = createBodies(database);
  const errors = new Set<string>();
  for (let after: RowKey = -1n; ; ) {
    const rows = select.all(after, countedAtOnce);
    const counts = new CounterDeltas();
    for (const { rowKey, project, body } of rows) {
      try {
        const { channelId, name } = JSON.parse(`{${bodies.of(body)}}`) as Event;
        counts.add(Number(project), channelId, name, msOf(rowKey));
      } catch (error) {
        if (!(error instanceof DamagedGroup)) throw error;
        errors.add(error.message);
      }
    }
    if (!counts.isEmpty) add.run(counts.toJson());
    const last = rows.at(-1);
    if (!last) return errors;
    after = last.rowKey;
  }
}

/** SQLite puts a heading before what it found. */
function inOneLine(found: string): string {
  return found.replace(/^\*\*\* in database main \*\*\*\n/, "").replaceAll("\n", "; ");
}

function* indexFaults(database: Database): Generator<Diagnosis> {
  const missing = numberIn(
    database,
    "SELECT count(*) FROM events WHERE row_key NOT IN (SELECT id FROM events_index_docsize)",
  );
  if (missing > 0) yield { part: "index", detail: `events that a search can't find: ${missing}` };
  const extra = numberIn(
    database,
    `SELECT count(*) FROM events_index_docsize WHERE NOT (${isSentinel}) AND id NOT IN (SELECT row_key FROM events)`,
  );
  if (extra > 0) yield { part: "index", detail: `index entries without an event: ${extra}` };
  if (missing + extra > 0) return;
  // Every event has its project's token.
  for (const [project, events] of database
    .query("SELECT project_id, count(*) FROM events GROUP BY 1")
    .values() as [number, number][]) {
    const found = numberIn(
      database,
      `SELECT count(*) FROM events_index WHERE events_index MATCH '"${token.every(project)}"'`,
    );
    if (found !== events)
      yield { part: "index", detail: `events of project ${project} that it finds: ${found} of ${events}` };
  }
}

function* counterFaults(database: Database): Generator<Diagnosis> {
  const byHour = (rows: string) =>
    `SELECT project_id, channel, hour, sum(events) FROM (${rows}) GROUP BY 1, 2, 3`;
  const stored = `SELECT project_id, channel, hour, events FROM channel_counters
                  UNION ALL SELECT project_id, channel, hour, events FROM (${waitingRows})`;
  const hours = differences(database, byHour(stored), byHour(countedRows));
  if (hours > 0)
    yield { part: "counters", detail: `hours of channels whose counts differ from their events: ${hours}` };
  const names = `SELECT project_id, channel, hour, events FROM counters
                 UNION ALL SELECT project_id, channel, hour, events FROM (${waitingRows})`;
  const byName = differences(database, byHour(names), byHour(countedRows));
  // Removed events are not subtracted from the counter of other names.
  const partial = numberIn(database, "SELECT count(*) FROM counters WHERE name = ''");
  if (byName > 0 && partial === 0)
    yield {
      part: "counters",
      detail: `hours of channels whose counts of names differ from their events: ${byName}`,
    };
  const channels = differences(
    database,
    `SELECT project_id, name, sum(events), max(last_at) FROM (
       SELECT project_id, name, events, last_event_at AS last_at FROM channels
       UNION ALL SELECT project_id, channel, events, last_at FROM (${waitingRows}))
     GROUP BY 1, 2 HAVING sum(events) <> 0`,
    `SELECT project_id, channel, sum(events), max(last_at) FROM (${countedRows}) GROUP BY 1, 2`,
  );
  if (channels > 0) yield { part: "counters", detail: `channels with a wrong number of events: ${channels}` };
}

function* blockFaults(database: Database): Generator<Diagnosis> {
  const wrong = numberIn(
    database,
    `SELECT count(*) FROM blocks WHERE events IS NOT NULL AND changed = 0 AND (
       events <> (SELECT count(*) FROM events WHERE row_key >= from_ms << 21 AND row_key < to_ms << 21)
       OR NOT EXISTS (SELECT 1 FROM block_timestamps WHERE place = from_ms << 21 AND events > 0))`,
  );
  if (wrong > 0) yield { part: "blocks", detail: `blocks that differ from their events: ${wrong}` };
}

function* idFaults(database: Database): Generator<Diagnosis> {
  const orphans = numberIn(
    database,
    "SELECT count(*) FROM sent_ids WHERE row_key NOT IN (SELECT row_key FROM events)",
  );
  if (orphans > 0) yield { part: "ids", detail: `ids of clients without an event: ${orphans}` };
}

/** Counts the rows that only one of two queries returns. */
function differences(database: Database, left: string, right: string): number {
  return Math.max(
    numberIn(database, `SELECT count(*) FROM (SELECT * FROM (${left}) EXCEPT SELECT * FROM (${right}))`),
    numberIn(database, `SELECT count(*) FROM (SELECT * FROM (${right}) EXCEPT SELECT * FROM (${left}))`),
  );
}

function numberIn(database: Database, sql: string): number {
  return database.query(sql).values()[0]![0] as number;
}

/** Rebuilds the counters from the events. Call it within a transaction. Throws if some can't be read. */
export function rebuildCounters(database: Database): void {
  const [unreadable] = countEvents(database);
  if (unreadable !== undefined) throw damagedDatabase(database.filename, unreadable);
  for (const table of ["counters", "channel_counters", "uncounted"]) database.run(`DELETE FROM ${table}`);
  database.run("UPDATE channels SET events = 0, last_event_at = NULL");
  database.run(`
    INSERT INTO counters (project_id, channel, hour, name, events)
    SELECT project_id, channel, hour, CASE WHEN place <= ${limits.countedNames} THEN name ELSE '' END, sum(events)
    FROM (${countedRows}) GROUP BY 1, 2, 3, 4`);
  database.run(`
    INSERT INTO channel_counters (project_id, channel, hour, events)
    SELECT project_id, channel, hour, sum(events) FROM (${countedRows}) GROUP BY 1, 2, 3`);
  database.run(`
    INSERT INTO channels (project_id, name, events, last_event_at, created_at)
    SELECT project_id, channel, sum(events), max(last_at), max(last_at) FROM (${countedRows})
    WHERE project_id IN (SELECT id FROM projects) GROUP BY 1, 2
    ON CONFLICT DO UPDATE SET events = excluded.events, last_event_at = excluded.last_event_at`);
}

/** Deletes ids of clients without an event. Call it within a transaction. */
export function deleteOrphanIds(database: Database): void {
  database.run("DELETE FROM sent_ids WHERE row_key NOT IN (SELECT row_key FROM events)");
}

/** Deletes all blocks. The server builds them again in the background. Call it within a transaction. */
export function deleteBlocks(database: Database): void {
  for (const table of ["block_tokens", "block_timestamps", "block_columns", "late_events", "blocks"])
    database.run(`DELETE FROM ${table}`);
}
