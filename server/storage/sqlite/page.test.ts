import type { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { ArrivalClock } from "../../event/id.ts";
import { createProject } from "../../projects/projects.ts";
import { acceptedEvent } from "../../testing/accepted-event.ts";
import { makeStorage, removeStorage, testWatch } from "../../testing/engine.ts";
import { createBlocks } from "./blocks.ts";
import { createBodies } from "./bodies.ts";
import { openSqliteStore } from "./index.ts";
import { databaseFile, openForReading } from "./open.ts";
import { createReadPage } from "./page.ts";
import { openVocabulary } from "./vocabulary.ts";

const blockEvents = 100;
const startMs = Date.UTC(2026, 0, 31);

test("a page of a project does not go through the newer events of another one", async () => {
  const place = await makeStorage("sqlite");
  const store = await openSqliteStore(place.dataDirectory, testWatch, blockEvents);
  const [older, newer] = [
    (await createProject(store.control, "Older", null)).id,
    (await createProject(store.control, "Newer", null)).id,
  ];
  const clock = new ArrivalClock(null);
  const all = Array.from({ length: 2_000 }, (_, n) =>
    acceptedEvent({
      projectId: n < 1_200 ? older : newer,
      arrival: clock.next(),
      createdAtMs: startMs + n * 1_000,
    }),
  );
  await store.events.appendAll(all);
  await store.events.indexBlocks(async () => {}, startMs + 86_400_000);
  {
    using database = openForReading(databaseFile(place.dataDirectory));
    const countRows = database.query<{ count: number }, [bigint, bigint]>(
      "SELECT count(*) AS count FROM events WHERE row_key BETWEEN ?1 AND ?2",
    );
    let rowsScanned = 0;
    // Counts the rows in the ranges that are read without the index.
    const counting = Object.assign(Object.create(database) as Database, {
      transaction: database.transaction.bind(database),
      prepare(sql: string) {
        const statement = database.prepare(sql);
        if (!sql.includes("project_id = ?1 AND row_key BETWEEN")) return statement;
        return {
          all(project: number, low: bigint, high: bigint, count: number) {
            rowsScanned += countRows.get(low, high)!.count;
            return statement.all(project, low, high, count);
          },
        };
      },
    });
    const readPage = createReadPage(
      counting,
      openVocabulary(database),
      createBlocks(database),
      createBodies(database),
    );
    for (const projectId of [older, newer]) {
      rowsScanned = 0;
      const query = { projectId, filter: {}, order: "desc" as const };
      const { rows } = readPage(query, 50);
      const newest = all.filter((event) => event.projectId === projectId).slice(-50);
      expect(rows.map(({ ms }) => ms)).toEqual(newest.map(({ createdAtMs }) => createdAtMs).reverse());
      expect(rowsScanned).toBeLessThan(3 * blockEvents);
    }
  }
  await store.close();
  await removeStorage(place);
});
