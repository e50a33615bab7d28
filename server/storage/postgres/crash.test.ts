// @engines postgres
/**
 * The database is killed after an asynchronous commit, before the wait for the log: no lost event was acknowledged or
 * reported.
 */

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import pg from "pg";
import type { ProblemError } from "../../core/problems.ts";
import { ArrivalClock } from "../../event/id.ts";
import { openStore } from "../../process/open-store.ts";
import { createProject } from "../../projects/projects.ts";
import { acceptedEvent } from "../../testing/accepted-event.ts";
import { makeTables, testWatch } from "../../testing/engine.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";
import { until } from "../../testing/until.ts";
import type { AcceptedEvent } from "../event-store.ts";
import type { Store } from "../store.ts";

let postgres: TestPostgres;
let url: string;
let projectId: number;
const clock = new ArrivalClock(null);

beforeAll(async () => {
  // The log is not flushed by itself within the time of a test.
  postgres = await startPostgres({ durable: true, settings: { wal_writer_delay: "10s" } });
});
afterAll(() => postgres?.remove());

beforeEach(async () => {
  ({ url } = await postgres.database(makeTables));
  const store = await openStore({ databaseUrl: url, dataDirectory: "", databaseConnections: 2 }, testWatch);
  projectId = (await createProject(store.control, "Test", null)).id;
  await store.close();
});

/** Kills the database as a power cut would, then starts it again. */
async function crash(): Promise<void> {
  await postgres.stop("immediate");
  await postgres.start();
}

function make(): AcceptedEvent {
  return acceptedEvent({ projectId, arrival: clock.next() });
}

function openNode(): Promise<Store> {
  return openStore({ databaseUrl: url, dataDirectory: "", databaseConnections: 3 }, testWatch);
}

/** Collects what a node reports from now on. */
async function follow({ events }: Store): Promise<string[]> {
  const reported: string[] = [];
  await events.follow({
    projects: () => [projectId],
    arrived: ({ event }) => reported.push(event.id),
    reached() {},
    skipped() {},
    deleted() {},
    told() {},
  });
  return reported;
}

/** Queries on a connection of its own. */
async function query(sql: string, values: unknown[] = []): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql, values)).rowCount!;
  } finally {
    await client.end();
  }
}

const isThere = async (id: string) => (await query("SELECT FROM events WHERE id = $1", [id])) === 1;

/** Blocks whoever waits for the log, until released or until the database crashes. */
async function holdWaits(): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  await client.query("BEGIN");
  // This lock conflicts with writes to it.
  await client.query("ALTER SEQUENCE waits_for_log NO CYCLE");
  return async () => {
    await client.query("ROLLBACK");
    await client.end();
  };
}

/** Leaves a committed event whose node died before it waited for the log. */
async function leave(node: Store): Promise<string> {
  const letGo = await holdWaits();
  const event = make();
  const append = node.events.append(event).catch(() => {});
  await until(() => isThere(event.event.id));
  await query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CALL append_events%'",
  );
  await append;
  await letGo();
  return event.event.id;
}

test("acknowledged events survive a crash right after the acknowledgement", async () => {
  const node = await openNode();
  const acknowledged: string[] = [];
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let n = 0; n < 20; n++) {
        const event = make();
        await node.events.append(event);
        acknowledged.push(event.event.id);
      }
    }),
  );
  await crash();
  expect(await query("SELECT FROM events WHERE id = ANY ($1::uuid[])", [acknowledged])).toBe(320);
  await node.close();
});

test("an event lost before the log was durable is neither acknowledged nor reported, and can be sent again", async () => {
  const nodes = [await openNode(), await openNode()];
  const reported = await Promise.all(nodes.map(follow));
  const first = make();
  await nodes[0]!.events.append(first);
  await until(() => reported.every(({ length }) => length === 1));

  await holdWaits();
  const events = [make(), make()];
  const codes: unknown[] = [];
  const answers = events.map(async (event, at) => {
    // Neither of two blocks the other.
    if (at > 0) await until(() => isThere(events[0]!.event.id));
    await nodes[at]!.events.append(event).catch((error: ProblemError) => codes.push(error.code));
  });
  await until(async () => (await isThere(events[0]!.event.id)) && isThere(events[1]!.event.id));
  // Longer than the interval between two checks of the feed.
  await Bun.sleep(1_500);
  await crash();
  await Promise.all(answers);
  expect(codes).toEqual(["storage-unavailable", "storage-unavailable"]);
  for (const { event } of events) expect(await isThere(event.id)).toBe(false);

  for (const [at, event] of events.entries()) {
    expect(await nodes[at]!.events.append(event)).toEqual({ kind: "created" });
  }
  const ids = [first, ...events].map(({ event }) => event.id);
  await until(() => reported.every(({ length }) => length === 3));
  expect(reported).toEqual([ids, ids]);
  for (const node of nodes) await node.close();
});

test("other nodes report a dead node's event once it is durable, also to streams that resume", async () => {
  const [dying, other] = [await openNode(), await openNode()];
  // Otherwise this test would prove nothing.
  const lost = await leave(dying);
  await crash();
  expect(await isThere(lost)).toBe(false);

  const reported = await follow(other);
  const left = await leave(dying);
  await until(() => reported.includes(left));
  await crash();
  expect(await isThere(left)).toBe(true);
  await other.close();

  const later = await leave(dying);
  const arrived = await dying.events.arrivedAfter(projectId, { ms: 0, sequence: 0 }, 10);
  expect(arrived.map(({ json }) => JSON.parse(json).id)).toEqual([left, later]);
  await crash();
  expect(await isThere(later)).toBe(true);
  await dying.close();
});

test("a result stored under an Idempotency-Key is durable as soon as it can be read", async () => {
  const node = await openNode();
  await node.events.append(make());
  const letGo = await holdWaits();
  const companion = { kind: "idempotency", key: "k", bodyHash: "", responseTemplate: "[]" } as const;
  await node.events.appendWith([make()], companion);
  expect(await query("SELECT FROM idempotency_keys WHERE key = 'k'")).toBe(1);
  await crash();
  expect(await query("SELECT FROM idempotency_keys WHERE key = 'k'")).toBe(1);
  await letGo().catch(() => {});
  await node.close();
});
