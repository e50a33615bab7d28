import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { expectConsistent } from "../../testing/consistency.ts";
import { testApp } from "../../testing/test-app.ts";
import { tracesOf } from "../../testing/traces.ts";
import { untilJobDone } from "../../testing/until.ts";
import { databaseFile } from "./open.ts";

const userId = "Zoë.Quux+77@example.com";

test("what SQLite left in unallocated space is deleted, too", async () => {
  await using app = await testApp();
  for (let n = 0; n < 40; n++) {
    const sent = await app.post({ channel: "c", name: "n", userId: n % 2 ? userId : "other" });
    expect(sent.status).toBe(201);
  }
  const database = new Database(databaseFile(app.config.dataDirectory));
  database.run("PRAGMA busy_timeout = 30000");
  // Deletes without zeroing, which leaves the same as when SQLite moves a row to another page.
  database.run("PRAGMA secure_delete = OFF");
  database.run(
    "INSERT INTO users (project_id, user_id, properties, updated_at) VALUES (1, 'another', ?, 1)",
    [userId],
  );
  database.run("DELETE FROM users");
  // Overwrites the end of what is left.
  database.run("INSERT INTO users (project_id, user_id, properties, updated_at) VALUES (1, 'y', '{}', 1)");
  database.run("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
  expect(await tracesOf(app.config, "Zoë.Quux+77")).not.toBe("");
  const erasing = await app.request(`/api/users/${encodeURIComponent(userId)}`, { method: "DELETE" });
  expect((await untilJobDone(app, erasing)).done).toBe(20);
  for (const trace of [userId, "Quux", "51uux"]) expect(await tracesOf(app.config, trace)).toBe("");
  expect(await app.list()).toHaveLength(20);
  await expectConsistent(app.config);
});
