// @engines postgres
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import pg from "pg";
import { ArrivalClock } from "../../event/id.ts";
import { createProject } from "../../projects/projects.ts";
import { acceptedEvent } from "../../testing/accepted-event.ts";
import { makeStorage, removeStorage, type TestStorage, testWatch } from "../../testing/engine.ts";
import { until } from "../../testing/until.ts";
import type { AcceptedEvent } from "../event-store.ts";
import type { Store } from "../store.ts";
import { openPostgresStore } from "./index.ts";

const rest = async () => {};

describe("what removed events leave", () => {
  let storage: TestStorage;
  let store: Store;
  let clock: ArrivalClock;
  let projectId: number;
  let client: pg.Client;
  /**
   * Watches waiting sessions. It is a second connection, as PostgreSQL's statistics don't change within a transaction.
   */
  let observer: pg.Client;

  beforeEach(async () => {
    storage = await makeStorage("postgres");
    store = await openPostgresStore({ url: storage.databaseUrl!, connections: 3 }, testWatch);
    clock = new ArrivalClock(null);
    projectId = (await createProject(store.control, "One", null)).id;
    client = new pg.Client({ connectionString: storage.databaseUrl! });
    observer = new pg.Client({ connectionString: storage.databaseUrl! });
    await client.connect();
    await observer.connect();
  });
  afterEach(async () => {
    await client.end();
    await observer.end();
    await store.close();
    await removeStorage(storage);
  });

  async function append(count: number, channelId: string): Promise<AcceptedEvent[]> {
    const events = Array.from({ length: count }, (_, n) =>
      acceptedEvent({
        projectId,
        arrival: clock.next(),
        event: { channelId, name: `n${n}`, userId: `u${n}`, tags: { order: `o${n}`, plan: "pro" } },
      }),
    );
    await store.events.appendAll(events);
    return events;
  }
  const users = () => store.events.startingWith(projectId, { kind: "user" }, "", 10);
  const waiting = async (query: string) => {
    const { rowCount } = await observer.query(
      "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1",
      [`${query}%`],
    );
    return rowCount === 1;
  };

  test("is deleted in steps of a thousand texts, except texts of other events", async () => {
    await append(700, "gone");
    await append(3, "kept");
    await store.events.remove({ projectId, channels: ["gone"] }, 700);
    let steps = 0;
    await store.events.shrink(async () => {
      steps++;
    });
    // 2,101 texts, and at most the tables of two months.
    expect(steps).toBeLessThanOrEqual(5);
    expect(await users()).toEqual(["u0", "u1", "u2"]);
    const plans = { kind: "value", key: "plan" } as const;
    expect(await store.events.startingWith(projectId, plans, "", 10)).toEqual(["pro"]);
  });

  test("is checked again if another event is removed or stored meanwhile", async () => {
    const [removed] = await append(1, "gone");
    const [last] = await append(1, "kept");
    await store.events.remove({ projectId, id: removed!.event.id }, 1);
    await client.query("BEGIN");
    await client.query("SELECT lock_events()");
    const shrunk = store.events.shrink(rest);
    await until(() => waiting("SELECT settle_doubts"));
    // The check found them on another event, which is removed now.
    await client.query("SELECT remove_events($1, $2, $3, NULL)", [
      projectId,
      [last!.createdAtMs],
      [last!.event.id],
    ]);
    await client.query("COMMIT");
    await shrunk;
    expect(await users()).toEqual([]);

    const [again] = await append(1, "gone");
    await store.events.remove({ projectId, id: again!.event.id }, 1);
    await client.query("BEGIN");
    await client.query("SELECT lock_events()");
    const shrunkAgain = store.events.shrink(rest);
    await until(() => waiting("SELECT settle_doubts"));
    // The check found them on no event, and one is about to be stored.
    const stored = append(1, "kept");
    await until(() => waiting("CALL append_events"));
    await client.query("COMMIT");
    await Promise.all([shrunkAgain, stored]);
    expect(await users()).toEqual(["u0"]);
  });

  test("is deleted from every table, even one that is in use", async () => {
    await append(1, "gone");
    await store.events.remove({ projectId, userId: "u0" }, 1);
    await client.query("BEGIN");
    await client.query("LOCK TABLE vocabulary IN SHARE UPDATE EXCLUSIVE MODE");
    const scrubbed = store.events.purge(rest, ["u0"]);
    await until(() => waiting("VACUUM"));
    await client.query("COMMIT");
    await scrubbed;
    // PostgreSQL updates its statistics a moment after the work.
    await until(async () => {
      const { rows } = await client.query(
        "SELECT n_dead_tup AS dead FROM pg_stat_user_tables WHERE relname = 'vocabulary'",
      );
      return rows[0].dead === "0";
    });
  });
});
