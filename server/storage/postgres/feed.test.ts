// @engines postgres
/** Two nodes on one database: each is told of what either stores, in one order. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import pg from "pg";
import type { DeletedEvents } from "../../event/event.ts";
import { ArrivalClock, type ArrivalStamp, compareStamps } from "../../event/id.ts";
import { openStore } from "../../open-store.ts";
import { createProject } from "../../projects/projects.ts";
import { acceptedEvent } from "../../testing/accepted-event.ts";
import { makePlace, type Place, removePlace, testWatch } from "../../testing/engine.ts";
import { until } from "../../testing/until.ts";
import type { AcceptedEvent, Arrival, Store } from "../store.ts";
import { Feed } from "./feed.ts";
import { connectionSettings, openPool } from "./pool.ts";
import { createQuery } from "./query.ts";

type Told = { id: string; arrival: ArrivalStamp; atMs: number };
type Node = Awaited<ReturnType<typeof openNode>>;

let place: Place;
let nodes: Node[];
let projectId: number;

beforeEach(async () => {
  place = await makePlace("postgres");
  nodes = [await openNode(0), await openNode(-5_000), await openNode(0)];
  projectId = (await createProject(nodes[0]!.store.control, "Test", null)).id;
  for (const node of nodes) await node.follow();
});
afterEach(async () => {
  for (const { store } of nodes) await store.close();
  await removePlace(place);
});

/** @param skewMs - by how much its clock is wrong */
async function openNode(skewMs: number) {
  const store: Store = await openStore({ ...place, databaseConnections: 5 }, testWatch);
  const clock = new ArrivalClock(null, { now: () => Date.now() + skewMs });
  const told: Told[] = [];
  const skipped: ArrivalStamp[] = [];
  const deleted: [number, DeletedEvents][] = [];
  let reached: ArrivalStamp = { ms: 0, sequence: 0 };
  let heard: () => number[] = () => [projectId];
  return {
    store,
    told,
    skipped,
    deleted,
    reached: () => reached,
    hear(projects: () => number[]) {
      heard = projects;
    },
    follow: () =>
      store.events.follow({
        projects: () => heard(),
        arrived: ({ event, arrival }: Arrival) =>
          told.push({ id: event.id, arrival, atMs: performance.now() }),
        reached: (moment) => {
          reached = moment;
        },
        skipped: (moment) => skipped.push(moment),
        deleted: (...told) => deleted.push(told),
      }),
    make(more: { id?: string; createdAtMs?: number; projectId?: number } = {}): AcceptedEvent {
      const { id, createdAtMs } = more;
      return acceptedEvent({
        projectId: more.projectId ?? projectId,
        arrival: clock.next(),
        event: id === undefined ? {} : { id },
        createdAtMs,
        hasClientId: id !== undefined,
      });
    },
  };
}

const idsOf = (told: Told[]) => told.map(({ id }) => id);

/** Stores events from two nodes at once, one after another in each of some clients. */
async function storeMany(clients: number, each: number): Promise<string[]> {
  const ids: string[] = [];
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      const { store, make } = nodes[client % 2]!;
      for (let n = 0; n < each; n++) {
        const event = make(n % 7 === 0 ? { createdAtMs: Date.now() - n * 86_400_000 } : {});
        if ((await store.events.append(event)).kind === "created") ids.push(event.event.id);
      }
    }),
  );
  return ids;
}

test("every node is told of all that any stores, once, in the order of arrival", async () => {
  const stored = await storeMany(16, 30);
  await until(() => nodes.every(({ told }) => told.length >= stored.length));
  for (const { told } of nodes) {
    expect(idsOf(told)).toEqual(idsOf(nodes[0]!.told));
    for (let n = 1; n < told.length; n++)
      expect(compareStamps(told[n - 1]!.arrival, told[n]!.arrival)).toBeLessThan(0);
  }
  expect(idsOf(nodes[0]!.told).toSorted()).toEqual(stored.toSorted());
  // What a stream that comes again is sent is the same, in the same order.
  const arrived: string[] = [];
  for (let after: ArrivalStamp = { ms: 0, sequence: 0 }; ; ) {
    const page = await nodes[2]!.store.events.arrivedAfter(projectId, after, 50);
    if (page.length === 0) break;
    arrived.push(...page.map(({ json }) => (JSON.parse(json) as { id: string }).id));
    after = page.at(-1)!.arrival;
  }
  expect(arrived).toEqual(idsOf(nodes[0]!.told));
});

test("a node is told of what another stores within 100 ms", async () => {
  const latencies: number[] = [];
  for (let n = 0; n < 20; n++) {
    const event = nodes[0]!.make();
    await nodes[0]!.store.events.append(event);
    const startMs = performance.now();
    await until(() => nodes[2]!.told.length > n);
    latencies.push(nodes[2]!.told[n]!.atMs - startMs);
    await Bun.sleep(20);
  }
  // One may meet a busy machine.
  expect(latencies.toSorted((a, b) => a - b)[17]!).toBeLessThan(100);
});

test("every node is told of what any deletes, once", async () => {
  const ids = Array.from({ length: 50 }, () => Bun.randomUUIDv7());
  // As long as an announcement gets: the notification still has room.
  const channels = Array.from({ length: 20 }, (_, n) => `${n}${"\u{1f4b0}".repeat(62)}`);
  const announced: DeletedEvents[] = [{ ids }, { channels, before: new Date().toISOString() }];
  for (const deleted of announced) await nodes[0]!.store.events.announceDeleted(projectId, deleted);
  await nodes[1]!.store.events.announceDeleted(projectId, { channels: ["last"] });
  await until(() => nodes.every(({ deleted }) => deleted.length >= 3));
  const expected = [...announced, { channels: ["last"] }].map((deleted) => [projectId, deleted]);
  for (const { deleted } of [nodes[0]!, nodes[2]!]) expect(deleted).toEqual(expected as typeof deleted);
});

test("connections that are lost leave no gap", async () => {
  const admin = new pg.Client({ connectionString: place.databaseUrl! });
  await admin.connect();
  let isStoring = true;
  const killing = (async () => {
    while (isStoring) {
      await admin.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND query LIKE 'LISTEN%' AND pid <> pg_backend_pid()`,
      );
      await Bun.sleep(50);
    }
  })();
  const stored = await storeMany(8, 60);
  isStoring = false;
  await killing;
  await admin.end();
  await until(() => nodes.every(({ told }) => told.length >= stored.length));
  for (const { told } of nodes) expect(idsOf(told)).toEqual(idsOf(nodes[0]!.told));
  expect(idsOf(nodes[0]!.told).toSorted()).toEqual(stored.toSorted());
});

test("of its own commit a node tells once, also where it was read in part before the commit's answer came", async () => {
  const address = { url: place.databaseUrl!, connections: 2 };
  const pool = openPool(address, () => {});
  const told: string[] = [];
  let reached: ArrivalStamp = { ms: 0, sequence: 0 };
  const feed = new Feed({
    runQuery: createQuery(pool, 5_000),
    connect: () => new pg.Client(connectionSettings(address)),
    node: "alone",
    durableArrival: () => nodes[0]!.store.events.lastArrival(),
    onError: () => {},
  });
  const first = nodes[0]!.make();
  await nodes[0]!.store.events.append(first);
  await feed.follow({
    projects: () => [projectId],
    arrived: ({ event }) => told.push(event.id),
    reached: (moment) => {
      reached = moment;
    },
    skipped() {},
    deleted() {},
  });
  // The commit ends behind its last event that was stored, as where one behind that was a duplicate.
  const last = { ms: first.arrival.ms, sequence: first.arrival.sequence + 1 };
  feed.committed({
    before: { ms: 1, sequence: 0 },
    last,
    shift: 0,
    created: [{ event: first, notified: false }],
  });
  await until(() => compareStamps(reached, last) === 0);
  await Bun.sleep(5);
  const second = nodes[0]!.make();
  await nodes[0]!.store.events.append(second);
  await until(() => told.length > 0);
  expect(told).toEqual([second.event.id]);
  await feed.close();
  await pool.end();
});

test("a node is told of a project's events from the moment on that somebody listens to it", async () => {
  const follower = nodes[2]!;
  follower.hear(() => []);
  await storeMany(4, 10);
  await until(() => nodes[0]!.told.length === 40);
  const { arrival } = nodes[0]!.told.at(-1)!;
  await until(() => compareStamps(follower.reached(), arrival) >= 0);
  expect(follower.told).toEqual([]);
  follower.hear(() => [projectId]);
  const event = nodes[0]!.make();
  await nodes[0]!.store.events.append(event);
  await until(() => follower.told.length > 0);
  expect(idsOf(follower.told)).toEqual([event.event.id]);
});

test("so much that nobody could take it is skipped", async () => {
  const { store, make } = nodes[0]!;
  const follower = nodes[2]!;
  follower.hear(() => {
    throw new Error("It can't be told now.");
  });
  await store.events.appendAll(Array.from({ length: 25_000 }, () => make()));
  follower.hear(() => [projectId]);
  await until(() => follower.skipped.length > 0);
  expect(follower.told.length).toBeLessThan(25_000);
  const event = make();
  await store.events.append(event);
  await until(() => follower.told.at(-1)?.id === event.event.id);
});

test("of an id that two nodes are sent at once, one stores the event, and both tell of the same", async () => {
  for (let n = 0; n < 20; n++) {
    const id = Bun.randomUUIDv7();
    const events = nodes.map(({ make }) => make({ id }));
    const verdicts = await Promise.all(nodes.map(({ store }, at) => store.events.append(events[at]!)));
    const winner = verdicts.findIndex(({ kind }) => kind === "created");
    expect(verdicts.toSpliced(winner, 1)).toEqual([
      { kind: "duplicate", json: events[winner]!.json },
      { kind: "duplicate", json: events[winner]!.json },
    ]);
  }
});

test("of a key and of a rejected event that two nodes have at once, one stores what is tied to it", async () => {
  for (let n = 0; n < 10; n++) {
    const { events, control } = { ...nodes[0]!.store, events: nodes[0]!.store.events };
    await events.keepRejected(
      [{ projectId, keyId: null, body: "{}", cut: false, problem: "{}", rejectedAt: Date.now() }],
      { events: 10, ms: 60_000 },
    );
    const { id } = await control.selectFrom("rejectedEvents").select("id").executeTakeFirstOrThrow();
    for (const tie of [
      { kind: "replay", rejectedId: id } as const,
      { kind: "idempotency", key: `${n}`, bodyHash: "", draft: "[]" } as const,
    ]) {
      const verdicts = await Promise.all(
        nodes.map(({ store, make }) => store.events.appendWith([make()], tie)),
      );
      expect(verdicts.filter((verdict) => verdict !== null)).toHaveLength(1);
    }
  }
});
