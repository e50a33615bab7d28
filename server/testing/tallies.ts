import { expect } from "bun:test";
import { databaseFile, openForReading } from "../storage/sqlite/open.ts";

const hourMs = 3_600_000;

/** Expects that counters, channels and index say the same as the rows; gives the number of rows. */
export function expectTallies(dataDirectory: string): number {
  using database = openForReading(databaseFile(dataDirectory));
  const all = (sql: string) => database.query(sql).all();
  const rows = `SELECT project_id, json_extract('{' || body || '}', '$.channelId') AS channel,
                       json_extract('{' || body || '}', '$.name') AS name, (position >> 21) / ${hourMs} AS hour, position FROM events`;
  expect(all("SELECT project_id, channel, name, hour, events FROM counters ORDER BY 1, 2, 3, 4")).toEqual(
    all(
      `SELECT project_id, channel, name, hour, count(*) AS events FROM (${rows}) GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`,
    ),
  );
  expect(all("SELECT * FROM channel_counters ORDER BY 1, 2, 3")).toEqual(
    all(
      "SELECT project_id, channel, hour, sum(events) AS events FROM counters GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
    ),
  );
  expect(
    all("SELECT project_id, name, events, last_event_at FROM channels WHERE events > 0 ORDER BY 1, 2"),
  ).toEqual(
    all(
      `SELECT project_id, channel AS name, count(*) AS events, max(position >> 21) AS last_event_at FROM (${rows}) GROUP BY 1, 2 ORDER BY 1, 2`,
    ),
  );
  for (const { id } of all("SELECT id FROM projects") as { id: number }[]) {
    expect(
      all(`SELECT rowid AS position FROM events_index WHERE events_index MATCH '${id}a' ORDER BY 1`),
    ).toEqual(all(`SELECT position FROM events WHERE project_id = ${id} ORDER BY 1`));
  }
  expect(
    all("SELECT sent_ids.position FROM sent_ids LEFT JOIN events USING (position) WHERE body IS NULL"),
  ).toEqual([]);
  expect(all("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  return (all("SELECT count(*) AS rows FROM events") as { rows: number }[])[0]!.rows;
}
