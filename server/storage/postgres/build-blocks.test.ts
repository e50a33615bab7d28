// @engines postgres
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import pg from "pg";
import type { EventFilter } from "../../event/filter.ts";
import { ArrivalClock } from "../../event/id.ts";
import { createProject } from "../../projects/projects.ts";
import { acceptedEvent } from "../../testing/accepted-event.ts";
import { makeStorage, removeStorage, type TestStorage, testWatch } from "../../testing/engine.ts";
import type { Pause } from "../event-store.ts";
import type { Store } from "../store.ts";
import { openPostgresStore } from "./index.ts";

const blockEvents = 60;
const startMs = Date.UTC(2026, 0, 31);
const laterMs = startMs + 7_200_000;
const rest = async () => {};

describe("blocks with several nodes", () => {
  let storage: TestStorage;
  let nodes: Store[];
  let clock: ArrivalClock;
  let projectId: number;
  let client: pg.Client;

  beforeEach(async () => {
    storage = await makeStorage("postgres");
    const url = storage.databaseUrl!;
    nodes = await Promise.all(
      [1, 2].map(() => openPostgresStore({ url, connections: 3 }, testWatch, blockEvents)),
    );
    clock = new ArrivalClock(null);
    projectId = (await createProject(nodes[0]!.control, "One", null)).id;
    client = new pg.Client({ connectionString: url });
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    for (const node of nodes) await node.close();
    await removeStorage(storage);
  });

  async function number(sql: string): Promise<number> {
    return Number((await client.query<{ number: string }>(sql)).rows[0]!.number);
  }

  const unfinished = () => number("SELECT count(*) AS number FROM blocks WHERE events IS NULL");
  const finished = () => number("SELECT count(*) AS number FROM blocks WHERE events IS NOT NULL");

  async function append(count: number, secondsApart = 1, minute = 0): Promise<void> {
    const events = Array.from({ length: count }, (_, index) =>
      acceptedEvent({
        projectId,
        arrival: clock.next(),
        event: {
          channelId: "a",
          name: "Paid",
          userId: index % 3 === 0 ? "goes" : "stays",
          tags: { side: index % 2 === 0 ? "left" : "right", odd: String(index % 2) },
        },
        createdAtMs: startMs + minute * 60_000 + index * secondsApart * 1_000,
      }),
    );
    await nodes[0]!.events.appendAll(events);
  }

  async function found(node: Store, filter: EventFilter): Promise<number> {
    const { events } = await node.events.page({ projectId, filter, order: "desc" }, 1_000);
    return events.length;
  }

  /** Runs a function at the nth pause. */
  function atPause(nth: number, act: () => Promise<void>): Pause {
    let pauses = 0;
    return async () => {
      if (++pauses === nth) await act();
    };
  }

  const stop = async () => {
    throw new Error("stopped");
  };

  async function interrupted(node: Store): Promise<void> {
    await node.events.indexBlocks(atPause(1, stop), laterMs).then(
      () => expect.unreachable(),
      () => {},
    );
  }

  test("tables of users have statistics soon after many were added", async () => {
    await client.query(
      `INSERT INTO users SELECT $1, 'user ' || n, format('{"note":"%s"}', repeat('x', 100)), 1
       FROM generate_series(1, 10000) AS n`,
      [projectId],
    );
    await nodes[0]!.events.indexBlocks(rest, laterMs);
    expect(await number("SELECT reltuples AS number FROM pg_class WHERE oid = 'users'::regclass")).toBe(
      10_000,
    );
  });

  test("while one node builds, another does nothing, and takes over once the first is gone", async () => {
    const [one, other] = nodes as [Store, Store];
    await append(300);
    await interrupted(one);
    expect(await unfinished()).toBe(1);
    await other.events.indexBlocks(rest, laterMs);
    expect([await unfinished(), await finished()]).toEqual([1, 0]);
    await client.query("UPDATE blocks SET stepped_at = now() - interval '5 minutes'");
    await other.events.indexBlocks(rest, laterMs);
    expect(await unfinished()).toBe(0);
    expect(await finished()).toBe(5);
    await one.events.indexBlocks(rest, laterMs);
    expect(await finished()).toBe(5);
  });

  test("a node that seemed gone adds nothing more", async () => {
    const [one, other] = nodes as [Store, Store];
    await append(300);
    const takenOver = async () => {
      await client.query("UPDATE blocks SET stepped_at = now() - interval '5 minutes'");
      await other.events.indexBlocks(rest, laterMs);
    };
    await one.events.indexBlocks(atPause(1, takenOver), laterMs);
    expect(await finished()).toBe(5);
    expect(
      await number(
        "SELECT count(*) AS number FROM block_tokens WHERE NOT EXISTS (SELECT FROM blocks WHERE id = block)",
      ),
    ).toBe(0);
  });

  test("a node's cache is not used for blocks that another node rebuilt", async () => {
    const [one, other] = nodes as [Store, Store];
    await append(300);
    await one.events.indexBlocks(rest, laterMs);
    const filters: EventFilter[] = [
      { tags: [["side", "left"]] },
      { userId: "goes" },
      {
        tags: [
          ["side", "left"],
          ["odd", "1"],
        ],
      },
    ];
    const counts = () => Promise.all(filters.map((filter) => found(one, filter)));
    expect(await counts()).toEqual([150, 100, 0]);
    await append(300);
    expect(await counts()).toEqual([300, 200, 0]);
    await other.events.remove({ projectId, userIds: ["goes"] }, 150);
    await other.events.indexBlocks(rest, laterMs + 7_200_000);
    await other.events.indexBlocks(rest, laterMs + 14_400_000);
    expect(await number("SELECT coalesce(sum(changed), 0) AS number FROM blocks")).toBe(0);
    expect(await counts()).toEqual([224, 50, 0]);
  });

  test("a user who is erased during a build does not come back with the block", async () => {
    const [one, other] = nodes as [Store, Store];
    await append(300);
    const erase = async () => {
      await other.events.remove({ projectId, userIds: ["goes"] }, 1_000);
      await other.events.purge(rest);
    };
    await one.events.indexBlocks(atPause(1, erase), laterMs);
    expect(await number("SELECT count(*) AS number FROM block_tokens WHERE token LIKE '%goes%'")).toBe(0);
    await one.events.indexBlocks(rest, laterMs);
    expect(await found(one, {})).toBe(200);
    expect(await found(one, { userId: "goes" })).toBe(0);
  });

  test("events that another node stores during a build are found", async () => {
    const [one, other] = nodes as [Store, Store];
    await append(300);
    let stored = 300;
    const store = async () => {
      const index = stored - 300;
      const event = { channelId: "a", name: "Paid", tags: { side: "left", odd: String(index) } };
      const createdAtMs = startMs + ((index * 37) % 300) * 1_000 + 1;
      const late = acceptedEvent({ projectId, arrival: clock.next(), event, createdAtMs });
      await other.events.appendAll([late]);
      stored++;
    };
    await one.events.indexBlocks(store, laterMs);
    expect(await finished()).toBeGreaterThan(0);
    expect(stored).toBeGreaterThan(302);
    const filter: EventFilter = { tags: [["side", "left"]] };
    const counts = await one.events.count({ projectId, filter, bounds: [startMs, laterMs], series: 1 });
    expect(counts).toMatchObject({ all: [stored - 150] });
  });

  test("the newest events get small blocks, which are merged into one", async () => {
    const [one] = nodes as [Store, Store];
    const later = async (minute: number) => {
      await append(20, 1, minute);
      await one.events.indexBlocks(rest, startMs + (minute + 1) * 60_000);
    };
    await append(60);
    await one.events.indexBlocks(rest, startMs + 80_000);
    expect(await finished()).toBe(1);
    await later(10);
    await later(20);
    expect(await finished()).toBe(3);
    await later(30);
    expect(await finished()).toBe(2);
    expect(await number("SELECT sum(events) AS number FROM blocks")).toBe(120);
    expect(await found(one, { userId: "goes" })).toBe(41);
  });

  test("a month without statistics gets them", async () => {
    await append(4_000, 0);
    const without = () =>
      number(
        `SELECT count(*) AS number FROM pg_class
         WHERE relname LIKE 'events_2026%' AND relkind = 'r' AND reltuples < 0`,
      );
    expect(await without()).toBe(1);
    await nodes[0]!.events.indexBlocks(rest, laterMs);
    expect(await without()).toBe(0);
  });
});
