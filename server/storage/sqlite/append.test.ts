import { expect, test } from "bun:test";
import { testApp } from "../../testing/test-app.ts";
import { databaseFile, openForReading, openForWriting } from "./open.ts";
import { lastDatedSequence, positionAt } from "./position.ts";

test("counters, channels and index say the same as the rows, whatever came at once", async () => {
  await using app = await testApp();
  const other = await app.another("Other", "other@example.com");
  const hour = 3_600_000;
  const id = Bun.randomUUIDv7();
  await Promise.all(
    Array.from({ length: 600 }, (_, n) =>
      app.post(
        {
          channel: `c${n % 3}`,
          name: n % 7 === 0 ? "a\tb".replace("\t", " ") : `n${n % 5}`,
          ...(n % 4 === 0 && { createdAt: Date.UTC(2026, 0, 1) + (n % 48) * hour }),
          ...(n % 10 === 0 && { id }),
        },
        n % 2 ? other.secret : app.key,
      ),
    ),
  );
  const database = openForReading(databaseFile(app.config.dataDirectory));
  const all = (sql: string) => database.query(sql).all();
  const rows = `SELECT project_id, json_extract('{' || body || '}', '$.channelId') AS channel,
                       json_extract('{' || body || '}', '$.name') AS name, (position >> 21) / ${hour} AS hour, position FROM events`;
  expect(all("SELECT count(*) AS n FROM events")).toEqual([{ n: 600 - 60 + 1 }]);
  expect(all("SELECT project_id, channel, name, hour, events FROM counters ORDER BY 1, 2, 3, 4")).toEqual(
    all(
      `SELECT project_id, channel, name, hour, count(*) AS events FROM (${rows}) GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`,
    ),
  );
  const sumsByChannel =
    "SELECT project_id, channel, hour, sum(events) AS events FROM counters GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";
  expect(all("SELECT * FROM channel_counters ORDER BY 1, 2, 3")).toEqual(all(sumsByChannel));
  expect(all("SELECT project_id, name, events, last_event_at FROM channels ORDER BY 1, 2")).toEqual(
    all(
      `SELECT project_id, channel AS name, count(*) AS events, max(position >> 21) AS last_event_at FROM (${rows}) GROUP BY 1, 2 ORDER BY 1, 2`,
    ),
  );
  for (const [project, token] of [
    [1, "1a"],
    [2, "2a"],
  ]) {
    expect(
      all(`SELECT rowid AS position FROM events_index WHERE events_index MATCH '${token}' ORDER BY 1`),
    ).toEqual(all(`SELECT position FROM events WHERE project_id = ${project} ORDER BY 1`));
  }
  // One entry for the one id that a client made; ids of the server need none.
  expect(all("SELECT project_id, lower(hex(id)) AS id FROM sent_ids")).toEqual([
    { project_id: 1, id: id.replaceAll("-", "") },
  ]);
  database.close();
});

test("a millisecond that a million events carry takes no other, and those beside it are stored", async () => {
  await using app = await testApp();
  const createdAt = Date.UTC(2026, 0, 1);
  const database = openForWriting(databaseFile(app.config.dataDirectory));
  database
    .query("INSERT INTO events (position, project_id, id, body) VALUES (?, 1, zeroblob(16), '')")
    .run(positionAt(createdAt, lastDatedSequence));
  database.close();
  const [crowded, beside] = await Promise.all([
    app.post({ channel: "imports", name: "Too many", createdAt }),
    app.post({ channel: "imports", name: "Beside it", createdAt: createdAt + 1 }),
  ]);
  expect(crowded.status).toBe(422);
  expect(((await crowded.json()) as { errors: { pointer: string }[] }).errors[0]!.pointer).toBe("/createdAt");
  expect(beside.status).toBe(201);
});

test("whatever corrects the counters corrects their sums by channel", async () => {
  await using app = await testApp();
  const createdAt = Date.UTC(2026, 0, 1);
  for (const name of ["a", "a", "b", "c"]) await app.post({ channel: "payments", name, createdAt });
  const database = openForWriting(databaseFile(app.config.dataDirectory));
  const sums = () => database.query("SELECT channel, events FROM channel_counters").all();
  database.run("UPDATE counters SET events = events - 1 WHERE name = 'a'");
  expect(sums()).toEqual([{ channel: "payments", events: 3 }]);
  database.run("DELETE FROM counters WHERE name = 'b'");
  expect(sums()).toEqual([{ channel: "payments", events: 2 }]);
  database.run("DELETE FROM counters");
  expect(sums()).toEqual([]);
  database.close();
});
