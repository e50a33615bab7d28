import pg, { type ClientBase } from "pg";
import { limits } from "../../core/limits.ts";
import type { Event } from "../../event/event.ts";
import { token, tokensOf } from "../../event/tokens.ts";
import type { Diagnosis } from "../diagnosis.ts";
import { jsonOf } from "../event-row.ts";
import { readMigrations } from "../migrations.ts";
import { timedTokens } from "./scan-cursor.ts";

const hourMs = 3_600_000;
/** Events whose tokens one statement rebuilds. */
const mendedAtATime = 1_000;
/** SQLSTATEs of damaged tables and indexes (class XX). */
const damage = /^XX00[12]$/;

/** The counts that the events give. Names beyond the first of an hour are counted together (counted-names.ts). */
const countedRows = `
  SELECT project_id, channel, hour, name, events, last_at,
         row_number() OVER (PARTITION BY project_id, channel, hour ORDER BY events DESC, name) AS place
  FROM (SELECT project_id, ('{' || body || '}')::json ->> 'channelId' COLLATE "C" AS channel,
               ('{' || body || '}')::json ->> 'name' COLLATE "C" AS name, (created_at / ${hourMs})::integer AS hour,
               count(*) AS events, max(created_at) AS last_at
        FROM events GROUP BY 1, 2, 3, 4) AS names`;

const indexesOfTables = `
  SELECT pg_index.indexrelid::regclass::text AS name, relkind = 'I' AS is_partitioned,
         pg_get_indexdef(pg_index.indexrelid) AS definition FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
  WHERE relnamespace = current_schema()::regnamespace AND NOT (indisvalid AND indisready)`;

/** Compares index, counters and blocks with the events. It reads everything, as of one moment. */
export async function diagnose(client: ClientBase): Promise<Diagnosis[]> {
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  try {
    const newest = readMigrations("postgres").at(-1)!.number;
    const version = await schemaVersion(client);
    if (version !== newest)
      return [{ part: "version", detail: `its schema is ${version}, and this program's is ${newest}` }];
    // What counts all events can't be compared with the newest ones: ../clickhouse/diagnose.ts does.
    if (await hasOlder(client)) return await indexFaults(client);
    return [
      ...(await indexFaults(client)),
      ...(await counterFaults(client)),
      ...(await blockFaults(client)),
      ...(await idFaults(client)),
    ];
  } catch (error) {
    if (error instanceof pg.DatabaseError && damage.test(error.code ?? ""))
      return [{ part: "pages", detail: `PostgreSQL can't read all of it: ${error.message}` }];
    throw error;
  } finally {
    // Nothing was changed, and after an error the connection may be gone.
    await client.query("ROLLBACK").catch(() => {});
  }
}

/** Whether events are in ClickHouse. */
async function hasOlder(client: ClientBase): Promise<boolean> {
  return (await numberIn(client, "SELECT count(*) FROM shipped_ranges WHERE shipped_at IS NOT NULL")) > 0;
}

/** 0 if the database has no tables yet. */
async function schemaVersion(client: ClientBase): Promise<number> {
  const { rows } = await client.query("SELECT to_regclass('tidings_migrations') IS NOT NULL AS is_there");
  return rows[0].is_there ? numberIn(client, "SELECT coalesce(max(number), 0) FROM tidings_migrations") : 0;
}

async function indexFaults(client: ClientBase): Promise<Diagnosis[]> {
  const faults: string[] = [];
  const { rows: invalid } = await client.query<{ name: string }>(indexesOfTables);
  if (invalid.length > 0)
    faults.push(`indexes that PostgreSQL doesn't use: ${invalid.map(({ name }) => name).join(", ")}`);
  const { rows: projects } = await client.query<{ id: number; events: number }>(
    "SELECT project_id AS id, count(*)::integer AS events FROM events GROUP BY 1",
  );
  for (const { id, events } of projects) {
    // Every event has its project's token.
    const every = [token.every(id)];
    const has = "FROM events WHERE project_id = $2 AND tokens @@ quote_literal($1)::tsquery";
    await scanning(client, { index: false });
    const known = await numberIn(client, `SELECT count(*) ${has}`, [...every, id]);
    await scanning(client, { index: true });
    const found = await numberIn(client, `SELECT count(*) ${has}`, [...every, id]);
    await client.query("SET LOCAL enable_seqscan TO DEFAULT; SET LOCAL enable_bitmapscan TO DEFAULT");
    if (known < events) faults.push(`events of project ${id} that a search can't find: ${events - known}`);
    else if (found !== known) faults.push(`events of project ${id} that it finds: ${found} of ${events}`);
  }
  return faults.map((detail) => ({ part: "index", detail }));
}

/** Makes the planner read tokens from the tables or from the index. */
async function scanning(client: ClientBase, { index }: { index: boolean }): Promise<void> {
  const [on, off] = index ? ["bitmapscan", "seqscan"] : ["seqscan", "bitmapscan"];
  await client.query(`SET LOCAL enable_${on} = on; SET LOCAL enable_${off} = off`);
}

async function counterFaults(client: ClientBase): Promise<Diagnosis[]> {
  const faults: string[] = [];
  const byHour = (rows: string) =>
    `SELECT project_id, channel, hour, sum(events) AS events FROM (${rows}) AS r GROUP BY 1, 2, 3`;
  const hours = await differences(
    client,
    "SELECT project_id, channel, hour, events FROM channel_counters",
    byHour(countedRows),
  );
  if (hours > 0) faults.push(`hours of channels whose counts differ from their events: ${hours}`);
  const byName = await differences(
    client,
    byHour("SELECT project_id, channel, hour, events FROM counters"),
    byHour(countedRows),
  );
  // Removed events are not subtracted from the counter of other names.
  const partial = await numberIn(client, "SELECT count(*) FROM counters WHERE name = ''");
  if (byName > 0 && partial === 0)
    faults.push(`hours of channels whose counts of names differ from their events: ${byName}`);
  const channels = await differences(
    client,
    "SELECT project_id, name, events, last_event_at FROM channels WHERE events <> 0",
    `SELECT project_id, channel, sum(events), max(last_at) FROM (${countedRows}) AS r GROUP BY 1, 2`,
  );
  if (channels > 0) faults.push(`channels with a wrong number of events: ${channels}`);
  return faults.map((detail) => ({ part: "counters", detail }));
}

async function blockFaults(client: ClientBase): Promise<Diagnosis[]> {
  const wrong = await numberIn(
    client,
    `SELECT count(*) FROM blocks WHERE events IS NOT NULL AND changed = 0 AND (
       events <> (SELECT count(*) FROM events AS stored WHERE stored.project_id = blocks.project_id
                  AND created_at >= from_ms AND created_at < to_ms)
       OR events > 0 AND NOT (EXISTS (SELECT FROM block_timestamps WHERE block = blocks.id)
                              AND EXISTS (SELECT FROM block_tokens WHERE block = blocks.id)))`,
  );
  return wrong > 0 ? [{ part: "blocks", detail: `blocks that differ from their events: ${wrong}` }] : [];
}

const orphanIds = `NOT EXISTS (SELECT FROM events WHERE events.project_id = sent_ids.project_id
  AND events.created_at = sent_ids.created_at AND events.id = sent_ids.id)`;

async function idFaults(client: ClientBase): Promise<Diagnosis[]> {
  const orphans = await numberIn(client, `SELECT count(*) FROM sent_ids WHERE ${orphanIds}`);
  return orphans > 0 ? [{ part: "ids", detail: `ids of clients without an event: ${orphans}` }] : [];
}

/** Counts the rows that only one of two queries returns. */
async function differences(client: ClientBase, left: string, right: string): Promise<number> {
  const only = (a: string, b: string) =>
    numberIn(
      client,
      `SELECT count(*) FROM (SELECT * FROM (${a}) AS a EXCEPT SELECT * FROM (${b}) AS b) AS rest`,
    );
  return Math.max(await only(left, right), await only(right, left));
}

async function numberIn(client: ClientBase, sql: string, parameters: unknown[] = []): Promise<number> {
  const { rows } = await client.query({ text: sql, values: parameters, rowMode: "array" });
  return Number(rows[0]![0]);
}

/**
 * Rebuilds parts of the database from its events, each in a transaction that keeps others from changing events. Throws if
 * events that they need are in ClickHouse.
 */
export async function rebuild(
  client: ClientBase,
  parts: ReadonlySet<"index" | "counters" | "blocks" | "ids">,
): Promise<void> {
  if ((parts.has("ids") || parts.has("counters")) && (await hasOlder(client))) {
    throw new Error(
      "Most events are in ClickHouse, so counters and ids can't be rebuilt from PostgreSQL. Restore PostgreSQL from a backup.",
    );
  }
  const steps = { ids: deleteOrphanIds, counters: rebuildCounters, blocks: deleteBlocks, index: mendTokens };
  for (const [part, mend] of Object.entries(steps)) {
    if (!parts.has(part as keyof typeof steps)) continue;
    await client.query("BEGIN");
    try {
      await client.query("SET LOCAL statement_timeout = 0; SELECT lock_events()");
      await mend(client);
      await client.query("COMMIT");
    } catch (error) {
      await client.query("ROLLBACK").catch(() => {});
      throw error;
    }
  }
  if (parts.has("index")) await rebuildIndexes(client);
}

async function deleteOrphanIds(client: ClientBase): Promise<void> {
  await client.query(`DELETE FROM sent_ids WHERE ${orphanIds}`);
}

async function rebuildCounters(client: ClientBase): Promise<void> {
  await client.query("DELETE FROM counters; DELETE FROM channel_counters");
  await client.query("UPDATE channels SET events = 0, last_event_at = NULL");
  await client.query(`
    INSERT INTO counters (project_id, channel, hour, name, events)
    SELECT project_id, channel, hour, CASE WHEN place <= ${limits.countedNames} THEN name ELSE '' END, sum(events)
    FROM (${countedRows}) AS r GROUP BY 1, 2, 3, 4`);
  await client.query(`
    INSERT INTO channel_counters (project_id, channel, hour, events)
    SELECT project_id, channel, hour, sum(events) FROM (${countedRows}) AS r GROUP BY 1, 2, 3`);
  await client.query(`
    INSERT INTO channels AS known (project_id, name, events, last_event_at, created_at)
    SELECT project_id, channel, sum(events), max(last_at), max(last_at) FROM (${countedRows}) AS r
    WHERE project_id IN (SELECT id FROM projects) GROUP BY 1, 2
    ON CONFLICT (project_id, name) DO UPDATE SET events = excluded.events, last_event_at = excluded.last_event_at`);
}

/** Deletes all blocks. The server builds them again in the background. */
async function deleteBlocks(client: ClientBase): Promise<void> {
  for (const table of ["late_events", "block_columns", "block_timestamps", "block_tokens", "blocks"])
    await client.query(`DELETE FROM ${table}`);
}

/** Rebuilds missing tokens. */
async function mendTokens(client: ClientBase): Promise<void> {
  const { rows: projects } = await client.query<{ id: number }>(
    "SELECT DISTINCT project_id AS id FROM events",
  );
  for (const { id: projectId } of projects) {
    for (;;) {
      const { rows } = await client.query<{ id: string; ms: string; body: string }>(
        `SELECT id, created_at AS ms, body FROM events
         WHERE project_id = $1 AND NOT tokens @@ quote_literal($2)::tsquery LIMIT ${mendedAtATime}`,
        [projectId, token.every(projectId)],
      );
      for (const { id, ms, body } of rows) {
        const event = JSON.parse(jsonOf(id, body, Number(ms))) as Event;
        await client.query(
          `UPDATE events SET tokens = array_to_tsvector(string_to_array($4, ' '))
           WHERE project_id = $1 AND created_at = $2 AND id = $3`,
          [projectId, ms, id, timedTokens(projectId, tokensOf(projectId, event), Number(ms))],
        );
      }
      if (rows.length < mendedAtATime) break;
    }
  }
}

/** Rebuilds the indexes of each partition of the events, one after the other, and all that PostgreSQL doesn't use. */
async function rebuildIndexes(client: ClientBase): Promise<void> {
  await client.query("SET statement_timeout = 0");
  const { rows: partitions } = await client.query<{ name: string }>(
    "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'events'::regclass",
  );
  for (const { name } of partitions) await client.query(`REINDEX TABLE ${name}`);
  const { rows: invalid } = await client.query<{
    name: string;
    is_partitioned: boolean;
    definition: string;
  }>(indexesOfTables);
  for (const { name, is_partitioned, definition } of invalid) {
    // PostgreSQL counts a partitioned index as valid once each partition has its part, which REINDEX does not make.
    if (is_partitioned)
      await client.query(`BEGIN; DROP INDEX ${name}; ${definition.replace(" ON ONLY ", " ON ")}; COMMIT`);
    else await client.query(`REINDEX INDEX ${name}`);
  }
}
