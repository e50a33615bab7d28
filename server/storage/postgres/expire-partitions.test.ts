// @engines postgres
// @long
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import pg from "pg";
import { commandActor } from "../../audit/audit-log.ts";
import { createAccount } from "../../auth/create-account.ts";
import { ArrivalClock } from "../../event/id.ts";
import { createProject } from "../../projects/projects.ts";
import { acceptedEvent } from "../../testing/accepted-event.ts";
import { expectConsistent } from "../../testing/consistency.ts";
import { makeStorage, removeStorage, type TestStorage, testWatch } from "../../testing/engine.ts";
import type { AcceptedEvent, Pause } from "../event-store.ts";
import type { Store } from "../store.ts";
import { openPostgresStore } from "./index.ts";

const nowMs = Date.now();
const now = new Date(nowMs);
/** The start of a month in which all events are older than 30 days. */
const oldMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 4);
const rest = async () => {};
const count = 1_200;

describe("expired months with several nodes", () => {
  let storage: TestStorage;
  let nodes: [Store, Store];
  let clock: ArrivalClock;
  let projectId: number;
  let client: pg.Client;

  beforeEach(async () => {
    storage = await makeStorage("postgres");
    const url = storage.databaseUrl!;
    nodes = [
      await openPostgresStore({ url, connections: 3 }, testWatch, 100),
      await openPostgresStore({ url, connections: 3 }, testWatch, 100),
    ];
    clock = new ArrivalClock(null);
    projectId = await newProject(30);
    client = new pg.Client({ connectionString: url });
    await client.connect();
    for (const node of nodes) await append(node, { createdAtMs: nowMs });
    const events = Array.from({ length: count }, (_, n) => make({ createdAtMs: oldMs + n * 60_000 }));
    await nodes[0].events.appendAll(events);
  });
  afterEach(async () => {
    await client.end();
    for (const node of nodes) await node.close();
    await removeStorage(storage);
  });

  type Made = {
    createdAtMs: number;
    project?: number;
    channel?: string;
    name?: string;
    id?: string;
    notifies?: boolean;
  };

  function make({ createdAtMs, project = projectId, channel = "c", name = "n", id, notifies = false }: Made) {
    const event = { channelId: channel, name, userId: "u", tags: { a: "b" }, ...(id && { id }) };
    const hasClientId = id !== undefined;
    return acceptedEvent({
      projectId: project,
      arrival: clock.next(),
      event,
      createdAtMs,
      hasClientId,
      notifies,
    });
  }

  /** Adds a delivery of an event. No rule alerts on events that are so old, but they were new once. */
  async function addDelivery({ event, receivedMs }: AcceptedEvent): Promise<void> {
    const state = { kind: "dashboard", label: "Dashboard", state: "delivered" } as const;
    await nodes[0].control
      .insertInto("deliveries")
      .values({ projectId, eventId: event.id, ...state, createdAt: receivedMs })
      .execute();
  }

  async function append({ events }: Store, made: Made): Promise<AcceptedEvent> {
    const event = make(made);
    expect((await events.append(event)).kind).toBe("created");
    return event;
  }

  const newProject = async (retentionDays: number | null) => {
    const { control } = nodes[0];
    const { id } = await createProject(control, "Shop", null);
    await control.updateTable("projects").set({ retentionDays }).where("id", "=", id).execute();
    return id;
  };
  const keepChannel = (name: string, retentionDays: number) =>
    nodes[0].control.updateTable("channels").set({ retentionDays }).where("name", "=", name).execute();

  function removeExpired(node: Store, pause: Pause = rest): Promise<string[]> {
    const removed: string[] = [];
    return node.events.removeExpired(nowMs, pause, (ids) => removed.push(...ids)).then(() => removed);
  }

  /** Stops like a node that dies right after it has detached the month. */
  async function stopOnceTaken(node: Store): Promise<void> {
    const stopped = removeExpired(node, async () => {
      if ((await tables("^gone_events")) > 0) throw new Error("stopped");
    });
    expect(await stopped.catch((error: Error) => error.message)).toBe("stopped");
  }

  async function tables(like: string): Promise<number> {
    const { rows } = await client.query("SELECT FROM pg_class WHERE relkind = 'r' AND relname ~ $1", [like]);
    return rows.length;
  }
  const oldMonths = async () => (await tables("^events_[0-9]")) - 1;
  const left = () => expectConsistent(storage);

  /** Blocks the storing of events until the returned function is called. */
  async function holdEvents(): Promise<() => Promise<void>> {
    await client.query("BEGIN");
    await client.query("SELECT lock_events()");
    return async () => {
      await client.query("COMMIT");
    };
  }

  async function untilWaiting(waiting: number): Promise<void> {
    const other = new pg.Client({ connectionString: storage.databaseUrl! });
    await other.connect();
    for (;;) {
      const { rows } = await other.query("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
      if (rows.length >= waiting) break;
      await Bun.sleep(2);
    }
    await other.end();
  }

  test("a month whose events have all expired is removed at once, without leftovers", async () => {
    expect(await removeExpired(nodes[0])).toHaveLength(count);
    expect([await oldMonths(), await tables("^gone_events")]).toEqual([0, 0]);
    expect(await left()).toBe(2);
    expect(await removeExpired(nodes[0])).toEqual([]);
  });

  test("a month with few events is left for removal one by one, and channels know their last event", async () => {
    for (const createdAtMs of [oldMs, oldMs - 1]) await append(nodes[0], { createdAtMs, channel: "closed" });
    expect(await removeExpired(nodes[0])).toHaveLength(count + 1);
    expect([await oldMonths(), await left()]).toEqual([1, 3]);
  });

  test("the partition before the first month is removed at once, too", async () => {
    const events = Array.from({ length: count }, (_, n) => make({ createdAtMs: n * 60_000 }));
    await nodes[0].events.appendAll(events);
    expect(await removeExpired(nodes[0])).toHaveLength(2 * count);
    expect(await tables("^events_before$")).toBe(1);
    const { createdAtMs } = await append(nodes[1], { createdAtMs: 1 });
    expect([createdAtMs, await left()]).toEqual([1, 3]);
  });

  for (const [who, keeps] of [
    [
      "an event of a channel that keeps it longer",
      () => append(nodes[0], { createdAtMs: oldMs, channel: "kept" }).then(() => keepChannel("kept", 3_650)),
    ],
    [
      "an event of another project, which keeps it for good",
      async () => append(nodes[0], { createdAtMs: oldMs, project: await newProject(null) }),
    ],
    [
      "an event of a channel whose time is not over yet",
      () =>
        append(nodes[0], { createdAtMs: oldMs, channel: "soon" }).then(() =>
          keepChannel("soon", Math.ceil((nowMs - monthAfter(oldMs) + 1_000) / 86_400_000)),
        ),
    ],
  ] as [string, () => Promise<unknown>][]) {
    test(`a month stays if it has ${who}`, async () => {
      await keeps();
      expect(await removeExpired(nodes[0])).toEqual([]);
      expect([await oldMonths(), await left()]).toEqual([1, count + 3]);
    });
  }

  for (const [where, made] of [
    ["the same hour", {}],
    ["an hour of its own", { createdAtMs: monthAfter(oldMs) - 1 }],
    ["a new name", { name: "new" }],
  ] as [string, Partial<Made>][]) {
    test(`an event that arrives meanwhile, in ${where}, is stored, and removed or kept like the others`, async () => {
      const release = await holdEvents();
      const appended = append(nodes[0], { createdAtMs: oldMs, ...made });
      await untilWaiting(1);
      const removing = removeExpired(nodes[1]);
      await untilWaiting(2);
      await release();
      const { event } = await appended;
      const removed = await removing;
      expect(removed).toHaveLength(count + 1);
      expect(removed).toContain(event.id);
      expect(await left()).toBe(2);
    });
  }

  test("an event that arrives meanwhile, in a channel that keeps it, keeps the month", async () => {
    await append(nodes[0], { createdAtMs: nowMs, channel: "kept" });
    await keepChannel("kept", 3_650);
    const release = await holdEvents();
    const appended = append(nodes[0], { createdAtMs: oldMs, channel: "kept" });
    await untilWaiting(1);
    const removing = removeExpired(nodes[1]);
    await untilWaiting(2);
    await release();
    await appended;
    expect(await removing).toEqual([]);
    expect(await left()).toBe(count + 4);
  });

  test("each event that arrives is either stored or reported as removed", async () => {
    let isOver = false;
    const stored: string[] = [];
    const storing = (async () => {
      for (let n = 0; !isOver; n++) {
        const { event } = await append(nodes[1], { createdAtMs: oldMs + n * 3_000_000, name: `${n}` });
        stored.push(event.id);
      }
    })();
    while (stored.length < 20) await Bun.sleep(5);
    const removed = new Set<string>();
    for (let n = 0; n < 5; n++) for (const id of await removeExpired(nodes[n % 2]!)) removed.add(id);
    isOver = true;
    await storing;
    expect(removed.size).toBeGreaterThanOrEqual(count);
    for (const id of stored) {
      const found = await nodes[0].events.find(projectId, id);
      expect([id, found === null]).toEqual([id, removed.has(id)]);
    }
    expect(await left()).toBe(count + 2 + stored.length - removed.size);
  });

  test("a month stays if its project was just set to keep events forever", async () => {
    const release = await holdEvents();
    const removing = removeExpired(nodes[0]);
    await untilWaiting(1);
    await nodes[1].control.updateTable("projects").set({ retentionDays: null }).execute();
    await release();
    expect(await removing).toEqual([]);
    expect(await left()).toBe(count + 2);
  });

  test("two nodes at the same time remove it once", async () => {
    const removed = await Promise.all(nodes.map((node) => removeExpired(node)));
    expect(new Set(removed.flat()).size).toBe(count);
    expect([await oldMonths(), await tables("^gone_events"), await left()]).toEqual([0, 0, 2]);
  });

  test("it waits for a reader only shortly, and others wait no longer", async () => {
    await client.query("BEGIN");
    await client.query("SELECT FROM events LIMIT 1");
    let longestMs = 0;
    const removing = removeExpired(nodes[0], () => Bun.sleep(20));
    let isOver = false;
    removing.finally(() => {
      isOver = true;
    });
    let stored = 0;
    for (; !isOver; stored++) {
      const startMs = performance.now();
      await append(nodes[1], { createdAtMs: nowMs });
      longestMs = Math.max(longestMs, performance.now() - startMs);
    }
    expect(await removing).toEqual([]);
    expect(longestMs).toBeLessThan(1_000);
    await client.query("COMMIT");
    expect(await left()).toBe(count + 2 + stored);
    expect(await removeExpired(nodes[0])).toHaveLength(count);
  });

  test("another node clears what a dead node left, except what belongs to an id that was sent again", async () => {
    const { control } = nodes[0];
    await control.transaction().execute((transaction) =>
      createAccount(
        transaction,
        { email: "a@example.com", password: "" },
        "",
        {
          id: projectId,
          role: "member",
        },
        commandActor,
      ),
    );
    const [again, gone] = [Bun.randomUUIDv7(), Bun.randomUUIDv7()];
    for (const id of [again, gone]) {
      const event = await append(nodes[0], { createdAtMs: oldMs, name: "sent", id, notifies: true });
      await addDelivery(event);
    }
    await stopOnceTaken(nodes[0]);
    expect(await oldMonths()).toBe(0);
    expect(await left().catch(() => "ids of events that are gone")).toBe("ids of events that are gone");
    expect(await nodes[1].events.find(projectId, again)).toBeNull();
    // This node still has the month in its list of partitions.
    clock = new ArrivalClock(null, { now: () => Date.now() + 1_000 });
    const sentAgain = await append(nodes[0], { createdAtMs: oldMs, name: "sent", id: again, notifies: true });
    await addDelivery(sentAgain);
    expect(await removeExpired(nodes[1])).toHaveLength(count + 2);
    expect([await oldMonths(), await tables("^gone_events"), await left()]).toEqual([1, 0, 3]);
    expect(await nodes[1].events.find(projectId, again)).toBe(sentAgain.json);
    const deliveries = await control.selectFrom("deliveries").select("eventId").execute();
    expect(deliveries).toEqual([{ eventId: again }]);
    await nodes[1].events.shrink(rest);
    expect(await nodes[1].events.startingWith(projectId, { kind: "name" }, "", 9)).toEqual(["n", "sent"]);
  });

  test("work that is interrupted repeatedly finishes", async () => {
    let removed = 0;
    for (let rounds = 0; rounds < 100 && (rounds === 0 || (await tables("^gone_events")) > 0); rounds++) {
      let pauses = 0;
      await nodes[0].events
        .removeExpired(
          nowMs,
          async () => {
            if (++pauses === 2) throw new Error("interrupted");
          },
          (ids) => {
            removed += ids.length;
          },
        )
        .catch(() => {});
    }
    expect([removed, await tables("^gone_events"), await left()]).toEqual([count, 0, 2]);
  });

  test("a purge after an erasure leaves nothing of a detached month", async () => {
    await stopOnceTaken(nodes[0]);
    await nodes[1].events.purge(rest);
    expect([await tables("^gone_events"), await left()]).toEqual([0, 2]);
  });

  test("blocks of the month are no longer used", async () => {
    await append(nodes[0], { createdAtMs: monthAfter(oldMs), channel: "kept" });
    await keepChannel("kept", 3_650);
    for (const node of nodes) await node.events.indexBlocks(rest, nowMs);
    const counted = async (node: Store) =>
      (await node.events.count({
        projectId,
        filter: { tags: [["a", "b"]] },
        bounds: [oldMs, nowMs + 1],
        series: 0,
      }))!.all;
    for (const node of nodes) expect(await counted(node)).toEqual([count + 3]);
    expect(await removeExpired(nodes[0])).toHaveLength(count);
    for (const node of nodes) expect(await counted(node)).toEqual([3]);
    await nodes[1].events.indexBlocks(rest, nowMs);
    const { rows } = await client.query("SELECT FROM blocks WHERE from_ms >= $1 AND to_ms <= $2", [
      oldMs,
      monthAfter(oldMs),
    ]);
    expect(rows).toHaveLength(0);
    for (const node of nodes) expect(await counted(node)).toEqual([3]);
  });
});

function monthAfter(ms: number): number {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}
