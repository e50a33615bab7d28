// @engines sqlite, postgres, clickhouse
// @long postgres
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { SQL } from "bun";
import { deleteChannel } from "../channels/delete-channel.ts";
import { deleteProject } from "../projects/delete-project.ts";
import { databaseFile } from "../storage/sqlite/open.ts";
import { expectConsistent } from "../testing/consistency.ts";
import { engine, makeStorage, removeStorage } from "../testing/engine.ts";
import { createFirstAccount } from "../testing/first-account.ts";
import { openTestStore, type TestApp, testApp, testConfig } from "../testing/test-app.ts";
import { untilListed } from "../testing/until.ts";
import { eraseTraces, eraseUser } from "../users/erase-user.ts";
import { repairTimes } from "../users/repair-times.ts";
import { expireRecords, isAnythingExpired } from "./retention.ts";
import { BackgroundWorker } from "./worker.ts";

const dayMs = 24 * 60 * 60 * 1_000;
const kept = { deliveryDays: 30, auditDays: 365 };

async function keep(app: TestApp, retentionDays: unknown): Promise<Response> {
  const headers = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
  return app.request("/api/projects/default", {
    method: "PATCH",
    headers,
    body: JSON.stringify({ retentionDays }),
  });
}

async function post(app: TestApp, channel: string, daysAgo: number, count = 1): Promise<void> {
  for (let n = 0; n < count; n++) {
    const createdAt = Date.now() - daysAgo * dayMs - n;
    expect((await app.post({ channel, name: `${daysAgo} days`, createdAt })).status).toBe(201);
  }
}

async function untilLeft(app: TestApp, count: number): Promise<string[]> {
  return (await untilListed(app, count)).map(({ channelId, name }) => `${channelId}: ${name}`);
}

/** Sets a channel's retention, and leaves the rest to the worker. */
async function keepChannel(app: TestApp, name: string, retentionDays: number): Promise<void> {
  const store = await openTestStore(app.config);
  await store.control.updateTable("channels").set({ retentionDays }).where("name", "=", name).execute();
  await store.close();
}

test("events are kept for the project's retention, for the channel's own, or forever", async () => {
  await using app = await testApp();
  await post(app, "audit", 400);
  for (const daysAgo of [10, 6]) for (const channel of ["logins", "debug"]) await post(app, channel, daysAgo);
  await post(app, "debug", 0);
  await keepChannel(app, "audit", 3650);
  await keepChannel(app, "debug", 1);
  expect(await (await keep(app, 7)).json()).toMatchObject({ ok: true, project: { retentionDays: 7 } });
  expect(await untilLeft(app, 3)).toEqual(["debug: 0 days", "logins: 6 days", "audit: 400 days"]);
  await expectConsistent(app.config);
  expect(await (await keep(app, null)).json()).toMatchObject({ project: { retentionDays: null } });
});

test("with many channels, each has its own retention or the project's", async () => {
  await using app = await testApp();
  const channels = Array.from({ length: 45 }, (_, n) => `c${n}`);
  const kept = (n: number) => [1, 5, 5, null][n % 4]!;
  await app.post(
    channels.flatMap((channel) =>
      [0, 3, 7, 20].map((daysAgo) => ({
        channel,
        name: `${daysAgo}`,
        createdAt: Date.now() - daysAgo * dayMs - 1_000,
      })),
    ),
  );
  const store = await openTestStore(app.config);
  for (const [n, name] of channels.entries()) {
    await store.control
      .updateTable("channels")
      .set({ retentionDays: kept(n) })
      .where("name", "=", name)
      .execute();
  }
  await store.close();
  await keep(app, 10);
  const left = channels.flatMap((channel, n) =>
    [0, 3, 7].filter((daysAgo) => daysAgo < (kept(n) ?? 10)).map((daysAgo) => `${channel}: ${daysAgo}`),
  );
  expect((await untilLeft(app, left.length)).sort()).toEqual(left.sort());
  await expectConsistent(app.config);
});

test.if(engine === "postgres")("a month without events is dropped as a whole", async () => {
  await using app = await testApp();
  await post(app, "a", 100);
  await post(app, "a", 0);
  const database = new SQL(app.config.databaseUrl!);
  const months = () => database`SELECT relname FROM pg_class WHERE relname ~ '^events_[0-9]{4}_[0-9]{2}$'`;
  expect(await months()).toHaveLength(2);
  await keep(app, 7);
  expect(await untilLeft(app, 1)).toEqual(["a: 0 days"]);
  while ((await months()).length > 1) await Bun.sleep(20);
  await database.close();
});

test("in a project without retention, a channel's own applies", async () => {
  await using app = await testApp();
  await post(app, "a", 3_000);
  await post(app, "b", 2);
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ retentionDays: 1 });
  expect((await app.request("/api/channels/b", { method: "PATCH", headers, body })).status).toBe(200);
  expect(await untilLeft(app, 1)).toEqual(["a: 3000 days"]);
});

test("invalid retention is rejected", async () => {
  await using app = await testApp();
  for (const days of [0, -1, 3_651, 1.5, "7", true]) expect((await keep(app, days)).status).toBe(422);
});

test("an expired event is removed, and its disk space is freed", async () => {
  await using app = await testApp();
  const pages = () => {
    if (engine !== "sqlite") return null;
    const database = new Database(databaseFile(app.config.dataDirectory));
    const { page_count } = database.query("PRAGMA page_count").get() as { page_count: number };
    database.close();
    return page_count;
  };
  const empty = pages();
  for (let round = 0; round < 10; round++) {
    await Promise.all(
      Array.from({ length: 200 }, () =>
        app.post({ channel: "c", name: "n", description: "long ".repeat(100) }),
      ),
    );
  }
  await keep(app, 30);
  const before = pages();
  const removed: string[] = [];
  let nowMs = Date.now() + 29 * dayMs;
  const store = await openTestStore(app.config);
  const worker = new BackgroundWorker({
    deliveryDays: 30,
    auditDays: 365,
    jobs: { "erase-user": eraseUser, "delete-channel": deleteChannel, "delete-project": deleteProject },
    eraseTraces,
    correctUsers: (projectId) => repairTimes(store, projectId),
    store,
    onRemoved: (ids) => removed.push(...ids),
    onError: fail,
    now: () => nowMs,
  });
  worker.wake();
  await worker.idle();
  expect(removed).toEqual([]);
  expect(await isAnythingExpired(store, nowMs, kept)).toBe(false);
  nowMs += 2 * dayMs;
  expect(await isAnythingExpired(store, nowMs, kept)).toBe(true);
  // The server's own worker may be running, and only one runs at a time.
  while (removed.length === 0) {
    worker.wake();
    await worker.idle();
  }
  expect(new Set(removed).size).toBe(2_000);
  await worker.close();
  await store.close();
  if (empty !== null) expect(pages()! - empty).toBeLessThan((before! - empty) / 3);
  expect(await app.list()).toEqual([]);
  await expectConsistent(app.config);
});

function fail(error: unknown): never {
  throw error;
}

test("deliveries expire after 30 days, finished jobs after 90, alerts and silences a year after they end; others stay", async () => {
  await using storage = await testPlace();
  const { control } = storage.store;
  const now = Date.now();
  const { accountId, projectId } = await createFirstAccount(control);
  const delivery = (daysAgo: number, readAt: number | null) => ({
    projectId,
    eventId: Bun.randomUUIDv7(),
    accountId,
    destinationId: null,
    kind: "dashboard" as const,
    label: "Dashboard",
    state: "delivered" as const,
    detail: null,
    createdAt: now - daysAgo * dayMs,
    nextAttemptAt: null,
    deliveredAt: null,
    readAt,
  });
  const old = Array.from({ length: 450 }, (_, n) => delivery(31, n % 2 ? now : null));
  const young = [delivery(29, null), delivery(29, now), delivery(0, null)];
  await control.insertInto("deliveries").values(old).execute();
  await control.insertInto("deliveries").values(young).execute();
  const job = (endedDaysAgo: number | null) => ({
    id: Bun.randomUUIDv7(),
    projectId,
    kind: "erase-user" as const,
    state: endedDaysAgo === null ? ("waiting" as const) : ("done" as const),
    detail: "{}",
    createdAt: 1,
    endedAt: endedDaysAgo === null ? null : now - endedDaysAgo * dayMs,
  });
  const keptJobs = [job(89), job(null)];
  await control
    .insertInto("jobs")
    .values([job(91), job(400), ...keptJobs])
    .execute();
  const entry = { action: "key.created", actorKind: "command", detail: "{}" } as const;
  const createdAt = (daysAgo: number) => ({ ...entry, createdAt: now - daysAgo * dayMs });
  await control
    .insertInto("auditLog")
    .values([createdAt(366), createdAt(364), createdAt(400)])
    .execute();
  const alert = (id: string, resolvedDaysAgo: number | null) => ({
    ...{ id, projectId, ruleId: `rule of ${id}`, ruleName: "Disk", q: "", title: "Disk", urgent: 0 },
    ...{ matches: 1, openedAt: 1, steps: 0 },
    resolvedAt: resolvedDaysAgo === null ? null : now - resolvedDaysAgo * dayMs,
  });
  await control
    .insertInto("alerts")
    .values([alert("old", 366), alert("kept", 364), alert("open", null)])
    .execute();
  const silence = (id: string, endedDaysAgo: number) => ({
    ...{ id, projectId, reason: "Deployment", q: "", rules: "[]", startsAt: 1, createdAt: 1 },
    endsAt: now - endedDaysAgo * dayMs,
  });
  await control
    .insertInto("silences")
    .values([silence("old", 366), silence("kept", 364), silence("planned", -3)])
    .execute();
  const invitation = (id: string, expiredDaysAgo: number) => ({
    id,
    projectId,
    email: null,
    role: "viewer" as const,
    tokenHash: id,
    createdBy: accountId,
    createdAt: 1,
    expiresAt: now - expiredDaysAgo * dayMs,
  });
  await control
    .insertInto("invitations")
    .values([invitation("old", 31), invitation("expired", 29), invitation("open", -1)])
    .execute();
  let pauses = 0;
  const pause = async () => void pauses++;
  const context = { store: storage.store, pause, onRemoved: () => {}, correctUsers: async () => false };
  await expireRecords(context, now, kept);
  const left = await control.selectFrom("deliveries").select("eventId").orderBy("id").execute();
  expect(left.map(({ eventId }) => eventId)).toEqual(young.map(({ eventId }) => eventId));
  const jobs = await control.selectFrom("jobs").select("id").orderBy("id").execute();
  expect(jobs.map(({ id }) => id)).toEqual(keptJobs.map(({ id }) => id));
  const entries = await control
    .selectFrom("auditLog")
    .select("createdAt")
    .where("action", "=", "key.created")
    .execute();
  expect(entries).toEqual([{ createdAt: now - 364 * dayMs }]);
  const invitations = await control.selectFrom("invitations").select("id").orderBy("id").execute();
  expect(invitations.map(({ id }) => id)).toEqual(["expired", "open"]);
  const alerts = await control.selectFrom("alerts").select("id").orderBy("id").execute();
  expect(alerts.map(({ id }) => id)).toEqual(["kept", "open"]);
  const silences = await control.selectFrom("silences").select("id").orderBy("id").execute();
  expect(silences.map(({ id }) => id)).toEqual(["kept", "planned"]);
  expect(pauses).toBe(2);

  // Each kind is seen by itself.
  const isAny = () => isAnythingExpired(storage.store, now, kept);
  expect(await isAny()).toBe(false);
  for (const insert of [
    () => control.insertInto("deliveries").values(delivery(31, null)).execute(),
    () => control.insertInto("jobs").values(job(91)).execute(),
    () => control.insertInto("auditLog").values(createdAt(366)).execute(),
    () => control.insertInto("invitations").values(invitation("other", 31)).execute(),
    () => control.insertInto("alerts").values(alert("other", 366)).execute(),
  ]) {
    await insert();
    expect(await isAny()).toBe(true);
    await expireRecords(context, now, kept);
    expect(await isAny()).toBe(false);
  }
  await control
    .updateTable("projects")
    .set({ deletedAt: now - dayMs })
    .where("id", "=", projectId)
    .execute();
  expect(await isAny()).toBe(true);
});

async function testPlace() {
  const storage = await makeStorage();
  const store = await openTestStore({
    ...(await testConfig({ dataDirectory: storage.dataDirectory })),
    ...storage,
  });
  return {
    store,
    async [Symbol.asyncDispose]() {
      await store.close();
      await removeStorage(storage);
    },
  };
}
