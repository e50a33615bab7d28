/** A database that is killed between a commit that did not wait for the log and the wait for it: nothing is acknowledged or told that it lost. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import pg from "pg";
import { ArrivalClock, eventIdOf } from "../../events/id.ts";
import { createProject } from "../../projects/projects.ts";
import { makeTables, testWatch } from "../../testing/engine.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";
import { ProblemError } from "../../wire/problems.ts";
import { openStore } from "../open.ts";
import type { AcceptedEvent } from "../store.ts";
import { type Commit, createAppend } from "./append.ts";
import { type Ask, createAsk } from "./ask.ts";
import { Log } from "./log.ts";
import { Partitions } from "./partitions.ts";
import { openPool } from "./pool.ts";
import { NewTexts } from "./vocabulary.ts";
import { Writer } from "./writer.ts";

let postgres: TestPostgres;
let url: string;
let projectId: number;
const clock = new ArrivalClock(null);

beforeAll(async () => {
  // By itself, the log gets to the disk after longer than a test takes.
  postgres = await startPostgres({ durable: true, settings: { wal_writer_delay: "10s" } });
}, 60_000);
afterAll(() => postgres?.remove());

beforeEach(async () => {
  ({ url } = await postgres.database(makeTables));
  const store = await openStore({ databaseUrl: url, dataDirectory: "", databaseConnections: 2 }, testWatch);
  projectId = (await createProject(store.control, "Test", null)).id;
  await store.close();
});

/** As a power cut has it; then it comes back. */
async function crash(): Promise<void> {
  await postgres.stop("immediate");
  await postgres.start();
}

function make(): AcceptedEvent {
  const arrival = clock.next();
  const id = eventIdOf(arrival);
  const createdAt = new Date(arrival.ms).toISOString();
  const event = { id, name: "n", channelId: "c", userId: "", notify: false, tags: {}, createdAt };
  const json = JSON.stringify(event);
  return {
    projectId,
    event,
    json,
    idSent: false,
    createdAtMs: arrival.ms,
    dated: false,
    arrival,
    notifies: false,
  };
}

/** A writer of its own, and what it tells; `beforeWait` comes between a commit and the wait for its log. */
function openWriter(beforeWait: () => Promise<void> = async () => {}) {
  const pool = openPool({ url, connections: 4 }, () => {});
  const ask = createAsk(pool, 5_000);
  const askLog: Ask = async (sql, parameters, ms) => {
    if (parameters?.[0] !== null) await beforeWait();
    return ask(sql, parameters, ms);
  };
  const commits: Commit[] = [];
  const partitions = new Partitions(ask);
  const writer = new Writer(
    ask,
    new Log(askLog),
    "node",
    partitions,
    (commit) => commits.push(commit),
    () => {},
  );
  return {
    ask,
    writer,
    told: () => commits.flatMap(({ created }) => created.map(({ event }) => event.event.id)),
    stored: async () =>
      (await ask<{ id: string }>("SELECT id FROM events ORDER BY arrival")).map(({ id }) => id),
    async close() {
      await writer.close();
      await pool.end();
    },
  };
}

/** Of two events the first is alone, and waits in its commit; the second comes meanwhile, and waits behind its own. */
async function appendTwice(node: ReturnType<typeof openWriter>) {
  const events = [make(), make()];
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  const isWaitedFor = async (by: number) => {
    const waiting = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
    while ((await holder.query(waiting)).rowCount! < by) await Bun.sleep(5);
  };
  await holder.query("BEGIN");
  await holder.query("SELECT lock_events()");
  const first = node.writer.append(events[0]!);
  await isWaitedFor(1);
  const second = node.writer.append(events[1]!);
  await isWaitedFor(2);
  await holder.query("COMMIT");
  await holder.end();
  const settled = await Promise.allSettled([first, second]);
  const answers = settled.map((one) =>
    one.status === "fulfilled" ? one.value.kind : (one.reason as ProblemError).code,
  );
  return { ids: events.map(({ event }) => event.id), answers };
}

test("what was acknowledged is there after a crash at once", async () => {
  const node = openWriter();
  const acknowledged: string[] = [];
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let n = 0; n < 20; n++) {
        const event = make();
        await node.writer.append(event);
        acknowledged.push(event.event.id);
      }
    }),
  );
  await crash();
  expect((await node.stored()).toSorted()).toEqual(acknowledged.toSorted());
  expect(node.told().toSorted()).toEqual(acknowledged.toSorted());
  await node.close();
}, 30_000);

test("what a crash took before the log was durable is neither acknowledged nor told, and may be sent again", async () => {
  let crashes = 0;
  const node = openWriter(async () => {
    if (crashes++ === 0) await crash();
  });
  const { ids, answers } = await appendTwice(node);
  expect(answers).toEqual(["created", "storage-unavailable"]);
  expect(await node.stored()).toEqual([ids[0]!]);
  expect(node.told()).toEqual([ids[0]!]);

  // The new life of the database is known from here on, and so is that the vocabulary lacks what was lost.
  const again = await appendTwice(node);
  expect(again.answers).toEqual(["created", "created"]);
  expect(await node.stored()).toEqual([ids[0]!, ...again.ids]);
  expect(await node.ask("SELECT token FROM vocabulary")).not.toEqual([]);
  await node.close();
}, 30_000);

test("where the log can't be waited for, nobody is told", async () => {
  const node = openWriter(() => Promise.reject(new ProblemError("storage-unavailable", {})));
  const { ids, answers } = await appendTwice(node);
  expect(answers).toEqual(["created", "storage-unavailable"]);
  expect(node.told()).toEqual([ids[0]!]);
  await node.close();
});

test("what a node committed and died, others tell of once it is durable, and give to streams that come again", async () => {
  const pool = openPool({ url, connections: 2 }, () => {});
  const ask = createAsk(pool, 5_000);
  const append = createAppend(ask, "dead", new Partitions(ask), new NewTexts());
  const appendAndDie = async () => {
    const event = make();
    await append([{ events: [event], tied: null }], { waits: false });
    return event.event.id;
  };
  const isThere = async (id: string) => (await ask("SELECT FROM events WHERE id = $1", [id])).length === 1;

  // Or else this test would show nothing.
  const lost = await appendAndDie();
  await crash();
  expect(await isThere(lost)).toBe(false);

  const store = await openStore({ databaseUrl: url, dataDirectory: "", databaseConnections: 2 }, testWatch);
  const { promise: told, resolve } = Promise.withResolvers<string>();
  await store.events.follow({
    projects: () => [projectId],
    arrived: ({ event }) => resolve(event.id),
    reached() {},
    skipped() {},
  });
  const id = await appendAndDie();
  expect(await told).toBe(id);
  await crash();
  expect(await isThere(id)).toBe(true);

  const other = await appendAndDie();
  const arrived = await store.events.arrivedAfter(projectId, { ms: 0, sequence: 0 }, 10);
  expect(arrived.map(({ json }) => JSON.parse(json).id)).toEqual([id, other]);
  await crash();
  expect(await isThere(other)).toBe(true);
  await store.close();
  await pool.end();
}, 30_000);
