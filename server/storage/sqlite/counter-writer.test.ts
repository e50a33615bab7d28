import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readMigrations } from "../migrations.ts";
import { createCounterWriter } from "./counter-writer.ts";

test("what a transaction would have counted that was rolled back is still to be counted", () => {
  using database = new Database(":memory:");
  for (const { sql } of readMigrations("sqlite")) database.run(sql);
  database.run("INSERT INTO projects (id, slug, name, created_at) VALUES (1, 'p', 'P', 0)");
  const counters = createCounterWriter(database);
  const counted = () =>
    database.query("SELECT channel, sum(events) FROM counters GROUP BY channel ORDER BY channel").values();

  counters.flush();
  database.run("BEGIN");
  counters.add(1, "stored", "n", 0, 0);
  counters.write();
  database.run("COMMIT");

  database.run("BEGIN");
  counters.add(1, "rolled back", "n", 0, 0);
  counters.write();
  counters.flush();
  database.run("ROLLBACK");
  counters.rolledBack();

  database.run("BEGIN");
  counters.add(1, "rolled back before its counts were written", "n", 0, 0);
  database.run("ROLLBACK");
  counters.rolledBack();

  expect(counters.isBehind).toBe(true);
  counters.flush();
  expect(counted()).toEqual([["stored", 1]]);
});
