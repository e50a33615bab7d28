import { expect } from "bun:test";
import pg from "pg";
import type { Event } from "../event/event.ts";
import { token, tokensOf } from "../event/tokens.ts";
import { connect } from "../storage/clickhouse/connection.ts";
import { indexTokenOf } from "../storage/clickhouse/event-tokens.ts";
import { rowOf, type WholeRow, wholeColumns } from "../storage/clickhouse/rows.ts";
import { timedTokens } from "../storage/postgres/scan-cursor.ts";
import { createBodies } from "../storage/sqlite/bodies.ts";
import { databaseFile, openForReading } from "../storage/sqlite/open.ts";
import { busyFrom, datedBit } from "../storage/sqlite/row-key.ts";
import type { TestStorage } from "./engine.ts";

const hourMs = 3_600_000;

/** Expects counters, channels, ids and the index to agree with the event rows. Returns the number of rows. */
export async function expectConsistent({
  dataDirectory,
  databaseUrl,
  clickhouseUrl,
}: TestStorage): Promise<number> {
  return databaseUrl === null
    ? expectSqliteConsistent(dataDirectory)
    : await expectPostgresConsistent(databaseUrl, clickhouseUrl);
}

/** `expectConsistent` for PostgreSQL, also with ClickHouse behind it. */
export async function expectPostgresConsistent(url: string, clickhouseUrl?: string | null): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const query = async (sql: string) => (await client.query({ text: sql, rowMode: "array" })).rows;
  try {
    // A single snapshot for all queries, whatever happens meanwhile.
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const shipped = await query(
      "SELECT block, to_arrival FROM shipped_ranges WHERE shipped_at IS NOT NULL ORDER BY block DESC LIMIT 1",
    );
    const [block, above] = shipped[0] ?? [-1, -1];
    const older = clickhouseUrl ? await shippedEvents(clickhouseUrl, block) : [];
    const listed = pg.escapeLiteral(JSON.stringify(older));
    const rows = `SELECT *, created_at / ${hourMs} AS hour FROM (
        SELECT project_id, ('{' || body || '}')::json ->> 'channelId' COLLATE "C" AS channel,
               ('{' || body || '}')::json ->> 'name' COLLATE "C" AS name, created_at, id
        FROM events WHERE arrival > ${above}
        UNION ALL SELECT project_id, channel COLLATE "C", name COLLATE "C", created_at, id
        FROM json_to_recordset(${listed}) AS r (project_id integer, channel text, name text, created_at bigint, id uuid)) AS one`;
    // Hours with a counter without a name don't count all names separately (counted-names.ts).
    const whole =
      "(project_id, channel, hour) NOT IN (SELECT project_id, channel, hour FROM counters WHERE name = '')";
    const byName = `SELECT project_id, channel, name, hour, count(*) AS events FROM (${rows}) AS r GROUP BY 1, 2, 3, 4`;
    expect(
      await query(
        `SELECT project_id, channel, name, hour::bigint, events FROM counters WHERE ${whole} ORDER BY 1, 2, 3, 4`,
      ),
    ).toEqual(await query(`SELECT * FROM (${byName}) AS r WHERE ${whole} ORDER BY 1, 2, 3, 4`));
    expect(
      await query(
        `SELECT counters.* FROM counters LEFT JOIN (${byName}) AS r USING (project_id, channel, name, hour)
         WHERE name <> '' AND counters.events > coalesce(r.events, 0)`,
      ),
    ).toEqual([]);
    expect(
      await query("SELECT project_id, channel, hour::bigint, events FROM channel_counters ORDER BY 1, 2, 3"),
    ).toEqual(
      await query(
        `SELECT project_id, channel, hour, count(*) FROM (${rows}) AS r GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
      ),
    );
    expect(
      await query(
        "SELECT project_id, name, events, last_event_at FROM channels WHERE events <> 0 ORDER BY 1, 2",
      ),
    ).toEqual(
      await query(
        `SELECT project_id, channel, count(*), max(created_at) FROM (${rows}) AS r GROUP BY 1, 2 ORDER BY 1, 2`,
      ),
    );
    expect(await query("SELECT name FROM channels WHERE events = 0 AND last_event_at IS NOT NULL")).toEqual(
      [],
    );
    expect(
      await query(
        `SELECT id FROM sent_ids WHERE NOT EXISTS (SELECT FROM (${rows}) AS r WHERE r.project_id = sent_ids.project_id
           AND r.created_at = sent_ids.created_at AND r.id = sent_ids.id)`,
      ),
    ).toEqual([]);
    const { rows: events } = await client.query<{
      project: number;
      body: string;
      ms: string;
      tokens: string[];
    }>(
      `SELECT project_id AS project, body, created_at AS ms, tsvector_to_array(tokens) AS tokens FROM events
       WHERE arrival > ${above}`,
    );
    const wrong = events.filter(({ project, body, ms, tokens }) => {
      const wanted = new Set(
        timedTokens(project, tokensOf(project, JSON.parse(`{${body}}`) as Event), Number(ms)).split(" "),
      );
      return tokens.length !== wanted.size || !tokens.every((token) => wanted.has(token));
    });
    expect(wrong).toEqual([]);
    return events.length + older.length;
  } finally {
    await client.end();
  }
}

/** The events in ClickHouse, up to a block. Expects their tokens to be those of the other engines. */
async function shippedEvents(url: string, block: number) {
  const clickHouse = connect(url, { onWarning: () => {}, onInfo: () => {} });
  try {
    const rows = await clickHouse.read<WholeRow & { tokens: string[] }>(
      `SELECT ${wholeColumns}, tokens FROM events WHERE block <= ${block}`,
    );
    return rows.map((row) => {
      const { ms, id, body } = rowOf(row);
      const event = JSON.parse(`{${body}}`) as Event;
      const project = Number(row.project);
      const wanted = tokensOf(project, event).split(" ").map(indexTokenOf);
      expect(new Set([token.every(project), ...row.tokens])).toEqual(new Set(wanted));
      return {
        ...{ project_id: project, channel: event.channelId, name: event.name },
        ...{ created_at: ms, id },
      };
    });
  } finally {
    await clickHouse.close();
  }
}

/** `expectConsistent` for SQLite. */
function expectSqliteConsistent(dataDirectory: string): number {
  using database = openForReading(databaseFile(dataDirectory));
  const all = (sql: string) => database.query(sql).all();
  const bodies = createBodies(database);
  const events = database
    .query<{ project: number; body: string; rowKey: string }, []>(
      "SELECT project_id AS project, body, CAST(row_key AS TEXT) AS rowKey FROM events ORDER BY row_key",
    )
    .all()
    .map((row) => ({ ...row, event: JSON.parse(`{${bodies.of(row.body)}}`) as Event }));
  database.run("CREATE TEMP TABLE event_rows (project_id, channel, name, row_key)");
  const insertRow = database.prepare("INSERT INTO temp.event_rows VALUES (?1, ?2, ?3, CAST(?4 AS INTEGER))");
  database.transaction(() => {
    for (const { project, event, rowKey } of events)
      insertRow.run(project, event.channelId, event.name, rowKey);
  })();
  const rows = `SELECT project_id, channel, name, row_key, (row_key >> 21) / ${hourMs} AS hour FROM temp.event_rows`;
  const uncounted = `SELECT value ->> 0 AS project_id, value ->> 1 AS channel, value ->> 2 AS name, value ->> 3 AS hour,
                            value ->> 4 AS events, value ->> 5 AS last_event_at FROM uncounted, json_each(counts)`;
  const counters = `SELECT project_id, channel, name, hour, sum(events) AS events FROM (
      SELECT project_id, channel, name, hour, events FROM counters
      UNION ALL SELECT project_id, channel, name, hour, events FROM (${uncounted})) GROUP BY 1, 2, 3, 4`;
  // Hours with a counter without a name don't count all names separately (counted-names.ts).
  const whole = `(project_id, channel, hour) NOT IN (SELECT project_id, channel, hour FROM (${counters}) WHERE name = '')`;
  const byName = `SELECT project_id, channel, name, hour, count(*) AS events FROM (${rows}) GROUP BY 1, 2, 3, 4`;
  expect(all(`SELECT * FROM (${counters}) WHERE ${whole} ORDER BY 1, 2, 3, 4`)).toEqual(
    all(`SELECT * FROM (${byName}) WHERE ${whole} ORDER BY 1, 2, 3, 4`),
  );
  expect(
    all(
      `SELECT * FROM (${counters}) AS c WHERE name <> '' AND events > coalesce((
         SELECT events FROM (${byName}) AS r
         WHERE r.project_id = c.project_id AND r.channel = c.channel AND r.name = c.name AND r.hour = c.hour), 0)`,
    ),
  ).toEqual([]);
  const byHour = "SELECT project_id, channel, hour, sum(events) AS events FROM";
  expect(
    all(
      `${byHour} (SELECT * FROM channel_counters UNION ALL SELECT project_id, channel, hour, events FROM (${uncounted}))
       GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
    ),
  ).toEqual(all(`${byHour} (${byName}) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`));
  expect(
    all(
      `SELECT project_id, name, sum(events) AS events, max(last_event_at) AS last_event_at FROM (
         SELECT project_id, name, events, last_event_at FROM channels
         UNION ALL SELECT project_id, channel, events, last_event_at FROM (${uncounted}))
       GROUP BY 1, 2 HAVING sum(events) <> 0 ORDER BY 1, 2`,
    ),
  ).toEqual(
    all(
      `SELECT project_id, channel AS name, count(*) AS events, max(row_key >> 21) AS last_event_at FROM (${rows}) GROUP BY 1, 2 ORDER BY 1, 2`,
    ),
  );
  expect(all("SELECT name FROM channels WHERE events = 0 AND last_event_at IS NOT NULL")).toEqual([]);
  expect(all("SELECT row_key FROM sent_ids WHERE row_key NOT IN (SELECT row_key FROM events)")).toEqual([]);
  const byToken = new Map<string, string[]>();
  for (const { project, event, rowKey } of events) {
    const tokens = [
      token.every(project),
      token.channel(project, event.channelId),
      token.name(project, event.name),
      token.user(project, event.userId),
      ...Object.entries(event.tags).map(([key, value]) => token.tag(project, key, value)),
    ];
    for (const text of tokens) {
      const rowKeys = byToken.get(text);
      if (rowKeys) rowKeys.push(rowKey);
      else byToken.set(text, [rowKey]);
    }
  }
  const found = database.query<{ rowKey: string }, [string]>(
    "SELECT CAST(rowid AS TEXT) AS rowKey FROM events_index WHERE events_index MATCH ?1 ORDER BY rowid",
  );
  const wrong = [...byToken].filter(
    ([text, expected]) =>
      !Bun.deepEquals(
        found.all(`"${text}"`).map(({ rowKey }) => rowKey),
        expected,
      ),
  );
  expect(wrong).toEqual([]);
  // Sentinel rows are only in the index.
  expect(all("SELECT count(*) AS n FROM events_index_docsize WHERE id & 2097151 <> 2097151")).toEqual(
    all("SELECT count(*) AS n FROM events"),
  );
  // Within a busy millisecond, ids increase with row keys, unless the millisecond is listed in `unsorted_ms`.
  expect(
    all(`SELECT ms FROM (
           SELECT row_key >> 21 AS ms, row_key, id, lag(id) OVER (PARTITION BY row_key >> 21 ORDER BY row_key) AS before
           FROM events WHERE arrival IS NOT NULL AND row_key >> 21 IN (SELECT row_key >> 21 FROM events WHERE row_key & 2097151 >= ${datedBit + busyFrom}))
         WHERE before > id AND ms NOT IN (SELECT ms FROM unsorted_ms)`),
  ).toEqual([]);
  expect(all("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  return events.length;
}
