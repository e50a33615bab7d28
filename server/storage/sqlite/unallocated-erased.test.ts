import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { expectConsistent } from "../../testing/consistency.ts";
import { testProcess } from "../../testing/server-process.ts";
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

test("a file of a version that did not zero deletes is rewritten", async () => {
  await using app = await testProcess();
  for (let n = 0; n < 40; n++) {
    const sent = await app.post({ channel: "c", name: "n", userId: n % 2 ? userId : "other" });
    expect(sent.status).toBe(201);
  }
  await app.end("SIGTERM");
  const mode = () => {
    using database = new Database(databaseFile(app.config.dataDirectory), { readonly: true });
    return (database.query("PRAGMA auto_vacuum").get() as { auto_vacuum: number }).auto_vacuum;
  };
  {
    using database = new Database(databaseFile(app.config.dataDirectory));
    for (const pragma of ["journal_mode = DELETE", "auto_vacuum = NONE", "secure_delete = OFF"])
      database.run(`PRAGMA ${pragma}`);
    database.run("VACUUM");
    // Leaves free pages, and free cells within a page.
    database.run("CREATE TABLE old (id INTEGER PRIMARY KEY, text)");
    for (let id = 0; id < 1_000; id++) database.run("INSERT INTO old VALUES (?1, ?2)", [id, userId]);
    database.run("DELETE FROM old WHERE id % 100 > 0");
    database.run("UPDATE old SET text = ''");
    database.run("DROP TABLE old");
    database.run("PRAGMA journal_mode = WAL");
  }
  expect(mode()).toBe(0);
  expect(await tracesOf(app.config, "Zoë.Quux+77")).not.toBe("");
  await app.start();
  const erasing = await app.request(`/api/users/${encodeURIComponent(userId)}`, { method: "DELETE" });
  expect((await untilJobDone(app, erasing)).done).toBe(20);
  for (const trace of [userId, "Quux", "51uux"]) expect(await tracesOf(app.config, trace)).toBe("");
  expect(mode()).toBe(2);
  await app.end("SIGTERM");
  expect(await expectConsistent(app.config)).toBe(20);
});
