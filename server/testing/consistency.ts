import { expect } from "bun:test";
import { databaseFile, openForReading } from "../storage/sqlite/open.ts";
import { token } from "../storage/sqlite/tokens.ts";
import type { Event } from "../wire/event.ts";

const hourMs = 3_600_000;

/** Checks that counters, channels, ids and the index say the same as the rows of a data directory. */
export function expectConsistent(dataDirectory: string): void {
  const database = openForReading(databaseFile(dataDirectory));
  const all = (sql: string) => database.query(sql).all();
  const rows = `SELECT project_id, json_extract('{' || body || '}', '$.channelId') AS channel, position,
                       json_extract('{' || body || '}', '$.name') AS name, (position >> 21) / ${hourMs} AS hour FROM events`;
  expect(all("SELECT project_id, channel, name, hour, events FROM counters ORDER BY 1, 2, 3, 4")).toEqual(
    all(
      `SELECT project_id, channel, name, hour, count(*) AS events FROM (${rows}) GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`,
    ),
  );
  expect(
    all("SELECT project_id, name, events, last_event_at FROM channels WHERE events <> 0 ORDER BY 1, 2"),
  ).toEqual(
    all(
      `SELECT project_id, channel AS name, count(*) AS events, max(position >> 21) AS last_event_at FROM (${rows}) GROUP BY 1, 2 ORDER BY 1, 2`,
    ),
  );
  expect(all("SELECT name FROM channels WHERE events = 0 AND last_event_at IS NOT NULL")).toEqual([]);
  expect(all("SELECT position FROM sent_ids WHERE position NOT IN (SELECT position FROM events)")).toEqual(
    [],
  );
  const byToken = new Map<string, number[]>();
  const events = database
    .query<{ project: number; body: string; row: number }, []>(
      "SELECT project_id AS project, body, row_number() OVER (ORDER BY position) AS row FROM events ORDER BY position",
    )
    .all();
  for (const { project, body, row } of events) {
    const event = JSON.parse(`{${body}}`) as Event;
    const tokens = [
      token.every(project),
      token.channel(project, event.channelId),
      token.name(project, event.name),
      ...(event.userId === "" ? [] : [token.user(project, event.userId)]),
      ...Object.entries(event.tags).map(([key, value]) => token.tag(project, key, value)),
    ];
    for (const text of tokens) byToken.set(text, [...(byToken.get(text) ?? []), row]);
  }
  const found = database.query<{ row: number }, [string]>(
    `SELECT row FROM events_index JOIN (SELECT position, row_number() OVER (ORDER BY position) AS row FROM events) numbered
     ON numbered.position = events_index.rowid WHERE events_index MATCH ?1 ORDER BY 1`,
  );
  for (const [text, expected] of byToken) {
    expect([text, found.all(`"${text}"`).map(({ row }) => row)]).toEqual([text, expected]);
  }
  expect(all("SELECT count(*) AS n FROM events_index_docsize")).toEqual(
    all("SELECT count(*) AS n FROM events"),
  );
  database.close();
}
