// @engines sqlite, postgres, clickhouse
// @long postgres
import { expect, test } from "bun:test";
import { sql } from "kysely";
import { ArrivalClock } from "../event/id.ts";
import { createProject } from "../projects/projects.ts";
import { openPostgresStore } from "../storage/postgres/index.ts";
import { openSqliteStore } from "../storage/sqlite/index.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import { makeStorage, removeStorage, testWatch } from "../testing/engine.ts";
import { eraseTraces, eraseUser } from "../users/erase-user.ts";
import { openJobs, startJob } from "./jobs.ts";
import { BackgroundWorker } from "./worker.ts";

const blockEvents = 300;

test("blocks are built although other work takes its turn at each of their steps", async () => {
  const storage = await makeStorage();
  const store = storage.databaseUrl
    ? await openPostgresStore({ url: storage.databaseUrl, connections: 3 }, testWatch, blockEvents)
    : await openSqliteStore(storage.dataDirectory, testWatch, blockEvents);
  const projectId = (await createProject(store.control, "One", null)).id;
  const clock = new ArrivalClock(null);
  const startMs = Date.now() - 3_600_000;
  await store.events.appendAll(
    Array.from({ length: 1_000 }, (_, n) =>
      acceptedEvent({
        projectId,
        arrival: clock.next(),
        event: { name: `Paid ${n}`, userId: n % 50 === 0 ? "leaver" : `user ${n % 25}` },
        createdAtMs: startMs + n,
      }),
    ),
  );

  let steps = 0;
  let begun = 0;
  const indexBlocks: typeof store.events.indexBlocks = (pause, nowMs) => {
    begun++;
    return store.events.indexBlocks(async () => {
      if (++steps === 8) await startJob(store.control, { projectId, kind: "erase-user", subject: "leaver" });
      await pause();
      if (steps === 8) expect(await openJobs(store.control)).toEqual([]);
    }, nowMs);
  };
  const unused = () => Promise.reject(new Error("not a job of this test"));
  const errors: unknown[] = [];
  const worker = new BackgroundWorker({
    store: { ...store, events: { ...store.events, indexBlocks } },
    jobs: { "erase-user": eraseUser, "delete-channel": unused, "delete-project": unused },
    eraseTraces,
    correctUsers: async () => false,
    onRemoved: () => {},
    onError: (error) => errors.push(error),
    deliveryDays: 30,
    auditDays: 365,
    everyMs: 0,
  });
  // PostgreSQL begins the block whose events were erased again at the next look.
  for (const _look of [1, 2]) {
    worker.wake();
    await worker.idle();
  }
  await worker.close();
  expect(errors).toEqual([]);
  const { rows } = await sql<{ events: number; changed: number }>`
    SELECT sum(events) AS events, sum(changed) AS changed FROM blocks WHERE events IS NOT NULL`.execute(
    store.control,
  );
  expect(rows.map(({ events, changed }) => [Number(events), Number(changed)])).toEqual([[980, 0]]);
  expect(steps).toBeGreaterThan(20);
  expect(begun).toBe(2);
  await store.close();
  await removeStorage(storage);
});
