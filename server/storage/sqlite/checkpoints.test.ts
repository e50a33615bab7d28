import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { testApp } from "../../testing/test-app.ts";
import { databaseFile } from "./open.ts";

test("events are moved from the log into the database while others are recorded", async () => {
  await using app = await testApp();
  const file = databaseFile(app.config.dataDirectory);
  const copy = join(app.config.dataDirectory, "copy.db");
  let held = 0;
  // One by one: each is a commit of its own, and together they are far from filling the log.
  for (let sent = 0; held === 0 && sent < 400; sent += 50) {
    for (let n = 0; n < 50; n++) expect((await app.post({ channel: "c", name: "n" })).status).toBe(201);
    // In another process: closing the file in this one would drop SQLite's locks.
    await Bun.spawn(["cp", file, copy]).exited;
    using database = new Database(copy);
    held = database.query<{ events: number }, []>("SELECT count(*) AS events FROM events").get()!.events;
  }
  expect(held).toBeGreaterThan(0);
});
