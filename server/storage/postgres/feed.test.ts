// @engines postgres
/** Two nodes on one database: both report what either stores, in one order. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import pg from "pg";
import type { DeletedEvents } from "../../event/event.ts";
import { ArrivalClock, type ArrivalStamp, compareStamps } from "../../event/id.ts";
import { openStore } from "../../process/open-store.ts";
import { createProject } from "../../projects/projects.ts";
import { acceptedEvent } from "../../testing/accepted-event.ts";
import { makeStorage, removeStorage, type TestStorage, testWatch } from "../../testing/engine.ts";
import { until } from "../../testing/until.ts";
import type { AcceptedEvent, AccountMessage, Arrival } from "../event-store.ts";
import type { Store } from "../store.ts";
import { Feed } from "./feed.ts";
import { connectionSettings, openPool } from "./pool.ts";
import { createQuery } from "./query.ts";

type Report = { id: string; arrival: ArrivalStamp; atMs: number };
type Node = Awaited<ReturnType<typeof openNode>>;

let storage: TestStorage;
let nodes: Node[];
let projectId: number;

beforeEach(async () => {
  storage = await makeStorage("postgres");
  nodes = [await openNode(0), await openNode(-5_000), await openNode(0)];
  projectId = (await createProject(nodes[0]!.store.control, "Test", null)).id;
  for (const node of nodes) await node.follow();
});
afterEach(async () => {
  for (const { store } of nodes) await store.close();
  await removeStorage(storage);
});

/** @param skewMs - the error of its clock */
async function openNode(skewMs: number) {
  const store: Store = await openStore({ ...storage, databaseConnections: 5 }, testWatch);
  const clock = new ArrivalClock(null, { now: () => Date.now() + skewMs });
  const reports: Report[] = [];
  const skipped: ArrivalStamp[] = [];
  const deleted: [number, DeletedEvents][] = [];
  const told: AccountMessage[] = [];
  let reached: ArrivalStamp = { ms: 0, sequence: 0 };
  let heard: () => number[] = () => [projectId];
  return {
    store,
    reports,
    skipped,
    deleted,
    told,
    reached: () => reached,
    hear(projects: () => number[]) {
      heard = projects;
    },
    follow: () =>
      store.events.follow({
        projects: () => heard(),
        arrived: ({ event, arrival }: Arrival) =>
          reports.push({ id: event.id, arrival, atMs: performance.now() }),
        reached: (moment) => {
          reached = moment;
        },
        skipped: (moment) => skipped.push(moment),
        deleted: (...reports) => deleted.push(reports),
        told: (message) => told.push(message),
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

const idsOf = (reports: Report[]) => reports.map(({ id }) => id);

/** Stores events from two nodes at the same time. Each of several clients sends one after another. */
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

test("every node reports all events of all nodes once, in the order of arrival", async () => {
  const stored = await storeMany(16, 30);
  await until(() => nodes.every(({ reports }) => reports.length >= stored.length));
  for (const { reports } of nodes) {
    expect(idsOf(reports)).toEqual(idsOf(nodes[0]!.reports));
    for (let n = 1; n < reports.length; n++)
      expect(compareStamps(reports[n - 1]!.arrival, reports[n]!.arrival)).toBeLessThan(0);
  }
  expect(idsOf(nodes[0]!.reports).toSorted()).toEqual(stored.toSorted());
  // A stream that resumes gets the same events in the same order.
  const arrived: string[] = [];
  for (let after: ArrivalStamp = { ms: 0, sequence: 0 }; ; ) {
    const page = await nodes[2]!.store.events.arrivedAfter(projectId, after, 50);
    if (page.length === 0) break;
    arrived.push(...page.map(({ json }) => (JSON.parse(json) as { id: string }).id));
    after = page.at(-1)!.arrival;
  }
  expect(arrived).toEqual(idsOf(nodes[0]!.reports));
});

test("a node reports another node's event within 100 ms", async () => {
  const latencies: number[] = [];
  for (let n = 0; n < 20; n++) {
    const event = nodes[0]!.make();
    await nodes[0]!.store.events.append(event);
    const startMs = performance.now();
    await until(() => nodes[2]!.reports.length > n);
    latencies.push(nodes[2]!.reports[n]!.atMs - startMs);
    await Bun.sleep(20);
  }
  // Tolerates one slow run on a busy machine.
  expect(latencies.toSorted((a, b) => a - b)[17]!).toBeLessThan(100);
});

test("every node reports each deletion once", async () => {
  const ids = Array.from({ length: 50 }, () => Bun.randomUUIDv7());
  // The longest announcement still fits in a notification.
  const channels = Array.from({ length: 20 }, (_, n) => `${n}${"\u{1f4b0}".repeat(62)}`);
  const announced: DeletedEvents[] = [{ ids }, { channels, before: new Date().toISOString() }];
  for (const deleted of announced) await nodes[0]!.store.events.announceDeleted(projectId, deleted);
  await nodes[1]!.store.events.announceDeleted(projectId, { channels: ["last"] });
  await until(() => nodes.every(({ deleted }) => deleted.length >= 3));
  const expected = [...announced, { channels: ["last"] }].map((deleted) => [projectId, deleted]);
  for (const { deleted } of [nodes[0]!, nodes[2]!]) expect(deleted).toEqual(expected as typeof deleted);
});

test("every node reports a deletion of thousands of events", async () => {
  const ids = Array.from({ length: 5_000 }, () => Bun.randomUUIDv7());
  await nodes[0]!.store.events.announceDeleted(projectId, { ids });
  const reported = ({ deleted }: Node) =>
    deleted.flatMap(([, events]) => ("ids" in events ? events.ids : []));
  await until(() => nodes.every((node) => reported(node).length >= ids.length));
  for (const node of nodes) expect(reported(node)).toEqual(ids);
});

test("every node reports once what an account is told", async () => {
  const message: AccountMessage = {
    accountId: "a",
    projectId,
    type: "seen",
    data: { channels: ["\u{1f4b0}".repeat(750)] },
  };
  await nodes[0]!.store.events.tellAccount(message);
  await until(() => nodes.every(({ told }) => told.length >= 1));
  for (const { told } of nodes) expect(told).toEqual([message]);
});

test("lost connections leave no gap", async () => {
  const admin = new pg.Client({ connectionString: storage.databaseUrl! });
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
  await until(() => nodes.every(({ reports }) => reports.length >= stored.length));
  for (const { reports } of nodes) expect(idsOf(reports)).toEqual(idsOf(nodes[0]!.reports));
  expect(idsOf(nodes[0]!.reports).toSorted()).toEqual(stored.toSorted());
});

test("a node reports its own commit once, even if part of it was read before the commit's answer came", async () => {
  const address = { url: storage.databaseUrl!, connections: 2 };
  const pool = openPool(address, () => {});
  const reports: string[] = [];
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
    arrived: ({ event }) => reports.push(event.id),
    reached: (moment) => {
      reached = moment;
    },
    skipped() {},
    deleted() {},
    told() {},
  });
  // The commit's last arrival is after its last stored event, as if a duplicate followed that.
  const last = { ms: first.arrival.ms, sequence: first.arrival.sequence + 1 };
  feed.committed({
    before: { ms: 1, sequence: 0 },
    last,
    shift: 0,
    created: [first],
  });
  await until(() => compareStamps(reached, last) === 0);
  await Bun.sleep(5);
  const second = nodes[0]!.make();
  await nodes[0]!.store.events.append(second);
  await until(() => reports.length > 0);
  expect(reports).toEqual([second.event.id]);
  await feed.close();
  await pool.end();
});

test("a node reports a project's events as soon as a stream listens to it", async () => {
  const follower = nodes[2]!;
  follower.hear(() => []);
  await storeMany(4, 10);
  await until(() => nodes[0]!.reports.length === 40);
  const { arrival } = nodes[0]!.reports.at(-1)!;
  await until(() => compareStamps(follower.reached(), arrival) >= 0);
  expect(follower.reports).toEqual([]);
  follower.hear(() => [projectId]);
  const event = nodes[0]!.make();
  await nodes[0]!.store.events.append(event);
  await until(() => follower.reports.length > 0);
  expect(idsOf(follower.reports)).toEqual([event.event.id]);
});

test("too many events for streams to catch up are skipped", async () => {
  const { store, make } = nodes[0]!;
  const follower = nodes[2]!;
  follower.hear(() => {
    throw new Error("It can't be told now.");
  });
  await store.events.appendAll(Array.from({ length: 25_000 }, () => make()));
  follower.hear(() => [projectId]);
  await until(() => follower.skipped.length > 0);
  expect(follower.reports.length).toBeLessThan(25_000);
  const event = make();
  await store.events.append(event);
  await until(() => follower.reports.at(-1)?.id === event.event.id);
});

test("if two nodes get the same id at once, one stores the event and both report the same", async () => {
  for (let n = 0; n < 20; n++) {
    const id = Bun.randomUUIDv7();
    const events = nodes.map(({ make }) => make({ id }));
    const results = await Promise.all(nodes.map(({ store }, at) => store.events.append(events[at]!)));
    const winner = results.findIndex(({ kind }) => kind === "created");
    expect(results.toSpliced(winner, 1)).toEqual([
      { kind: "duplicate", json: events[winner]!.json },
      { kind: "duplicate", json: events[winner]!.json },
    ]);
  }
});

test("if two nodes use the same key or resend the same rejected event at once, one succeeds", async () => {
  for (let n = 0; n < 10; n++) {
    const { events, control } = { ...nodes[0]!.store, events: nodes[0]!.store.events };
    await events.keepRejected(
      [{ projectId, keyId: null, body: "{}", cut: false, problem: "{}", reason: "", rejectedAt: Date.now() }],
      { events: 10, ms: 60_000 },
    );
    const { id } = await control.selectFrom("rejectedEvents").select("id").executeTakeFirstOrThrow();
    for (const companion of [
      { kind: "replay", rejectedId: id } as const,
      { kind: "idempotency", key: `${n}`, bodyHash: "", responseTemplate: "[]" } as const,
    ]) {
      const results = await Promise.all(
        nodes.map(({ store, make }) => store.events.appendWith([make()], companion)),
      );
      expect(results.filter((result) => result !== null)).toHaveLength(1);
    }
  }
});
