// @engines sqlite, postgres
// @long
/** Heartbeats of servers that are killed, and of two nodes on one database: each event is recorded once. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Config } from "../config/config.ts";
import type { Event } from "../event/event.ts";
import type { Heartbeat } from "../schemas/heartbeat.ts";
import type { Store } from "../storage/store.ts";
import { effort, engine, removeStorage } from "../testing/engine.ts";
import { type Node, startNodes } from "../testing/nodes.ts";
import { openTestStore, testConfig } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import type { HeartbeatState } from "./heartbeat-state.ts";

let config: Config;
let nodes: Node[];
let store: Store;
beforeEach(async () => {
  config = await testConfig();
  nodes = await startNodes(config, engine === "postgres" ? 2 : 1);
  store = await openTestStore(config);
});
afterEach(async () => {
  for (const node of nodes) await node.end("SIGKILL");
  await store.close();
  await removeStorage(config);
});

async function create(name: string): Promise<{ id: string; path: string }> {
  const response = await nodes[0]!.request("/api/heartbeats", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name, schedule: { type: "period", minutes: 60 }, graceMinutes: 0 }),
  });
  const { heartbeat, url } = (await response.json()) as { heartbeat: Heartbeat; url: string };
  return { id: heartbeat.id, path: new URL(url).pathname };
}

/** Every event, oldest first, once all are recorded. */
async function allEvents(): Promise<Event[]> {
  // A ping wakes the worker, as the next one would.
  await until(async () => {
    const rows = await store.control.selectFrom("heartbeatEvents").select("id").limit(1).execute();
    return rows.length === 0;
  });
  const response = await nodes[0]!.request("/api/events");
  return ((await response.json()) as { events: Event[] }).events.toReversed();
}

/** Compares the events with what the kept pings of a heartbeat mean. */
async function expectEachOnce(id: string, events: Event[]): Promise<void> {
  const rows = await store.control
    .selectFrom("heartbeatPings")
    .selectAll()
    .where("heartbeatId", "=", id)
    .orderBy("id")
    .execute();
  const { slug } = await store.control
    .selectFrom("heartbeats")
    .select("slug")
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  const own = events.filter(({ tags }) => tags.heartbeat === slug);
  expect(own.filter(({ tags }) => tags.ping).map(({ tags }) => tags.ping)).toEqual(
    rows.map(({ kind }) => kind),
  );
  const changes: string[] = [];
  for (const { kind } of rows) {
    const state = kind === "fail" ? "down" : "up";
    if (state !== (changes.at(-1) ?? "up")) changes.push(state);
  }
  expect(own.flatMap(({ tags }) => tags.state ?? []).toSorted()).toEqual(changes.toSorted());
}

test("a ping that was acknowledged is one event, however often servers are killed", async () => {
  const jobs = await Promise.all(["One", "Two", "Three", "Four"].map(create));
  let acknowledged = 0;
  for (let round = 0; round < effort(3, 8); round++) {
    const before = acknowledged;
    const pinging = Array.from({ length: 40 }, async (_, ping) => {
      const { path } = jobs[ping % jobs.length]!;
      const node = nodes[ping % 3 === 0 ? 0 : nodes.length - 1]!;
      // Whoever is killed before the answer doesn't know.
      const response = await node.request(ping % 2 === 0 ? path : `${path}/fail`).catch(() => null);
      if (response?.ok) acknowledged++;
    });
    // Some have events that are not recorded yet, and some have no answer.
    await until(() => acknowledged >= before + 10);
    await nodes[0]!.end("SIGKILL");
    await Promise.all(pinging);
    await nodes[0]!.start();
  }
  const events = await allEvents();
  expect(events.filter(({ tags }) => tags.ping).length).toBeGreaterThanOrEqual(acknowledged);
  for (const { id } of jobs) await expectEachOnce(id, events);
});

test("pings at the same time change a heartbeat one after the other", async () => {
  const { id, path } = await create("Busy");
  await Promise.all(
    Array.from({ length: 50 }, (_, ping) =>
      nodes[ping % nodes.length]!.request(ping % 3 === 0 ? `${path}/fail` : path),
    ),
  );
  await expectEachOnce(id, await allEvents());
});

test("a heartbeat that is due is down once, whichever node notices", async () => {
  const jobs = await Promise.all(Array.from({ length: 8 }, (_, job) => create(`Job ${job}`)));
  for (const { path } of jobs) expect((await nodes[0]!.request(path)).status).toBe(200);
  await allEvents();
  // As if an hour had passed.
  for (const { id } of jobs)
    await store.control.transaction().execute(async (transaction) => {
      const { state } = await transaction
        .selectFrom("heartbeats")
        .select("state")
        .where("id", "=", id)
        .executeTakeFirstOrThrow();
      const parsed = JSON.parse(state) as HeartbeatState;
      const past = { ...parsed, sinceMs: parsed.sinceMs! - 3_600_000 };
      await transaction
        .updateTable("heartbeats")
        .set({ state: JSON.stringify(past), dueAt: Date.now() })
        .where("id", "=", id)
        .execute();
    });
  const waker = await create("Waker");
  await Promise.all(nodes.map((node) => node.request(`${waker.path}/log`)));
  await until(async () => (await allEvents()).filter(({ tags }) => tags.state).length >= jobs.length);
  for (const node of nodes) await node.request(`${waker.path}/log`);
  const down = (await allEvents()).filter(({ tags }) => tags.state === "down");
  expect(down.map(({ tags }) => tags.heartbeat).toSorted()).toEqual(jobs.map((_, job) => `job-${job}`));
});
