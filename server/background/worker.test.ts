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
import { until } from "../testing/until.ts";
import { eraseTraces, eraseUser } from "../users/erase-user.ts";
import { openJobs, startJob } from "./jobs.ts";
import { BackgroundWorker } from "./worker.ts";

const blockEvents = 300;

/** A store with a thousand events, and what a worker with it needs. */
async function openWithEvents() {
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
  const unused = () => Promise.reject(new Error("not a job of this test"));
  const errors: unknown[] = [];
  const deps = {
    store,
    jobs: { "erase-user": unused, "delete-channel": unused, "delete-project": unused },
    eraseTraces,
    correctUsers: async () => false,
    onRemoved: () => {},
    onError: (error: unknown) => errors.push(error),
    deliveryDays: 30,
    auditDays: 365,
    everyMs: 0,
  };
  return {
    ...{ store, projectId, deps, errors },
    async blocks(): Promise<{ events: number; changed: number }> {
      const { rows } = await sql<{ events: number; changed: number }>`
        SELECT coalesce(sum(events), 0) AS events, coalesce(sum(changed), 0) AS changed FROM blocks
        WHERE events IS NOT NULL`.execute(store.control);
      return { events: Number(rows[0]!.events), changed: Number(rows[0]!.changed) };
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await store.close();
      await removeStorage(storage);
    },
  };
}

test("blocks are built although other work takes its turn at each of their steps", async () => {
  await using opened = await openWithEvents();
  const { store, projectId, deps, errors } = opened;
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
  const worker = new BackgroundWorker({
    ...deps,
    store: { ...store, events: { ...store.events, indexBlocks } },
    jobs: { ...deps.jobs, "erase-user": eraseUser },
    turnMs: 0,
  });
  // PostgreSQL begins the block whose events were erased again at the next look.
  for (const _look of [1, 2]) {
    worker.wake();
    await worker.idle();
  }
  await worker.close();
  expect(errors).toEqual([]);
  expect(await opened.blocks()).toEqual({ events: 980, changed: 0 });
  expect(steps).toBeGreaterThan(20);
  expect(begun).toBe(2);
});

test.each(["erase-user", "delete-channel"] as const)(
  "blocks and then expiry have their turn although jobs never end: %s",
  async (kind) => {
    await using opened = await openWithEvents();
    const { store, projectId, deps, errors } = opened;
    const start = () => startJob(store.control, { projectId, kind, subject: crypto.randomUUID() });
    let runs = 0;
    let days = 0;
    const worker: BackgroundWorker = new BackgroundWorker({
      ...deps,
      now: () => Date.now() + days * 24 * 3_600_000,
      jobs: {
        ...deps.jobs,
        // Another one is asked for while one is done.
        "erase-user": async () => {
          runs++;
          await Bun.sleep(5);
          await start();
          worker.wake();
        },
        "delete-channel": async ({ pause }) => {
          runs++;
          for (;;) await pause();
        },
      },
      eraseTraces: async () => {},
      turnMs: 50,
    });
    await start();
    worker.wake();
    await until(async () => (await opened.blocks()).events === 1_000);
    const runsBefore = runs;
    await until(() => runs > runsBefore);
    await store.control.updateTable("projects").set({ retentionDays: 1 }).execute();
    days = 2;
    await until(async () => (await store.events.countRemovable({ projectId })) === 0);
    await worker.close();
    expect(errors).toEqual([]);
  },
);

test("expiry has a turn of many steps between erasures that another node starts", async () => {
  await using opened = await openWithEvents();
  const { store, projectId, deps, errors } = opened;
  const start = () =>
    startJob(store.control, { projectId, kind: "erase-user", subject: crypto.randomUUID() });
  const done: string[] = [];
  const remove: typeof store.events.remove = async (...args) => {
    if (done.push("step") === 1) await start();
    return store.events.remove(...args);
  };
  const worker = new BackgroundWorker({
    ...deps,
    store: { ...store, events: { ...store.events, remove, removalStep: 10, removeExpired: async () => 0 } },
    now: () => Date.now() + 2 * 24 * 3_600_000,
    jobs: {
      ...deps.jobs,
      "erase-user": async () => {
        done.push("erasure");
        await Bun.sleep(200);
        await start();
      },
    },
    eraseTraces: async () => {},
  });
  await store.control.updateTable("projects").set({ retentionDays: 1 }).execute();
  worker.wake();
  await until(async () => (await store.events.countRemovable({ projectId })) === 0);
  await worker.close();
  expect(errors).toEqual([]);
  expect(done.filter((each, n) => each === "step" && done[n - 1] === "step").length).toBeGreaterThan(50);
});
