import { expect, test } from "bun:test";
import { expectConsistent } from "../../testing/consistency.ts";
import { testApp } from "../../testing/test-app.ts";
import { databaseFile, openForReading, openForWriting } from "./open.ts";
import { lastDatedSequence, rowKeyAt } from "./row-key.ts";

test("counters, channels and index agree with the rows, whatever arrives at once", async () => {
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
  expect(await expectConsistent(app.config)).toBe(600 - 60 + 1);
  using database = openForReading(databaseFile(app.config.dataDirectory));
  // One entry, for the client's id; ids of the server need none.
  expect(database.query("SELECT project_id, lower(hex(id)) AS id FROM sent_ids").all()).toEqual([
    { project_id: 1, id: id.replaceAll("-", "") },
  ]);
});

test("a millisecond with a million events accepts no more, and other events of the batch are stored", async () => {
  await using app = await testApp();
  const createdAt = Date.UTC(2026, 0, 1);
  const database = openForWriting(databaseFile(app.config.dataDirectory));
  database
    .query("INSERT INTO events (row_key, project_id, id, body) VALUES (?, 1, zeroblob(16), '')")
    .run(rowKeyAt(createdAt, lastDatedSequence));
  database.close();
  const [full, other] = await Promise.all([
    app.post({ channel: "imports", name: "Too many", createdAt }),
    app.post({ channel: "imports", name: "Other", createdAt: createdAt + 1 }),
  ]);
  expect(full.status).toBe(422);
  expect(((await full.json()) as { errors: { pointer: string }[] }).errors[0]!.pointer).toBe("/createdAt");
  expect(other.status).toBe(201);
});
