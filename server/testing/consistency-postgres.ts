import { expect } from "bun:test";
import pg from "pg";
import type { Event } from "../event/event.ts";
import { tokensOf } from "../event/tokens.ts";
import { timedTokens } from "../storage/postgres/tokens.ts";

const hourMs = 3_600_000;

/** `expectConsistent` for PostgreSQL. */
export async function expectPostgresConsistent(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const query = async (sql: string) => (await client.query({ text: sql, rowMode: "array" })).rows;
  try {
    // A single snapshot for all queries, whatever happens meanwhile.
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const rows = `SELECT project_id, ('{' || body || '}')::json ->> 'channelId' COLLATE "C" AS channel,
                         ('{' || body || '}')::json ->> 'name' COLLATE "C" AS name, created_at, created_at / ${hourMs} AS hour
                  FROM events`;
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
        `SELECT id FROM sent_ids WHERE NOT EXISTS (SELECT FROM events WHERE events.project_id = sent_ids.project_id
           AND events.created_at = sent_ids.created_at AND events.id = sent_ids.id)`,
      ),
    ).toEqual([]);
    const { rows: events } = await client.query<{
      project: number;
      body: string;
      ms: string;
      tokens: string[];
    }>(
      "SELECT project_id AS project, body, created_at AS ms, tsvector_to_array(tokens) AS tokens FROM events",
    );
    const wrong = events.filter(({ project, body, ms, tokens }) => {
      const wanted = new Set(
        timedTokens(project, tokensOf(project, JSON.parse(`{${body}}`) as Event), Number(ms)).split(" "),
      );
      return tokens.length !== wanted.size || !tokens.every((token) => wanted.has(token));
    });
    expect(wrong).toEqual([]);
    return events.length;
  } finally {
    await client.end();
  }
}
