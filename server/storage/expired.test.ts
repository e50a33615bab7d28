// @engines sqlite, postgres, clickhouse
import { afterEach, describe, expect, test } from "bun:test";
import { commandActor } from "../audit/audit-log.ts";
import { createAccount } from "../auth/create-account.ts";
import { expire } from "../background/retention.ts";
import { ArrivalClock } from "../event/id.ts";
import { openStore } from "../process/open-store.ts";
import { createProject } from "../projects/projects.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import { expectConsistent } from "../testing/consistency.ts";
import {
  type Engine,
  makeStorage,
  removeStorage,
  storeEngines,
  type TestStorage,
  testWatch,
} from "../testing/engine.ts";
import { makeDeliveries } from "../testing/make-deliveries.ts";
import type { EventQuery } from "./event-queries.ts";
import type { AcceptedEvent } from "./event-store.ts";
import type { Store } from "./store.ts";

const nowMs = Date.now();
const dayMs = 86_400_000;
const now = new Date(nowMs);
/** The start of the month (UTC), a number of months ago. */
const monthsAgo = (months: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months);
const noPause = async () => {};

type Opened = { store: Store; storage: TestStorage; projectId: number };

for (const engine of storeEngines) {
  describe(`expired events on ${engine}`, () => {
    const opened: Opened[] = [];
    const open = async () => {
      opened.push(await openPlace(engine));
      return opened.at(-1)!;
    };
    afterEach(async () => {
      for (const { store, storage } of opened.splice(0)) {
        await store.close();
        await removeStorage(storage);
      }
    });

    test("are removed with everything that belonged to them, whichever way they are removed", async () => {
      const [one, other] = [await open(), await open()];
      const events = history(one.projectId);
      for (const { store, projectId } of [one, other]) {
        expect(projectId).toBe(one.projectId);
        const results = await store.events.appendAll(events);
        expect(results.filter((result) => result instanceof Error || result.kind !== "created")).toEqual([]);
        await makeDeliveries(store);
        await keep(store, { projects: 30, audit: 3_650 });
        await store.events.indexBlocks(noPause, nowMs);
      }
      const correctUsers = async () => false;
      const removed: string[][] = [[], []];
      const counts = [
        await expire(
          { store: one.store, pause: noPause, onRemoved: (ids) => removed[0]!.push(...ids), correctUsers },
          nowMs,
        ),
        await expire(
          {
            store: { ...other.store, events: { ...other.store.events, removeExpired: async () => 0 } },
            pause: noPause,
            onRemoved: (ids) => removed[1]!.push(...ids),
            correctUsers,
          },
          nowMs,
        ),
      ];
      const old = events.filter(
        ({ createdAtMs, event }) => createdAtMs < nowMs - 30 * dayMs && event.channelId !== "audit",
      );
      expect(counts).toEqual([old.length, old.length]);
      expect(removed[0]!.toSorted()).toEqual(removed[1]!.toSorted());
      const snapshots = [];
      for (const { store, storage, projectId } of [one, other]) {
        await store.events.shrink(noPause);
        expect(await expectConsistent(storage)).toBe(events.length - old.length);
        snapshots.push(await snapshot(store, projectId, events));
      }
      expect(snapshots[0]).toEqual(snapshots[1]!);
      expect(snapshots[0]!.deliveries.length).toBeGreaterThan(0);
      expect(snapshots[0]!.texts).not.toContain("old 0");
      // The id is free again, and what belongs to the new event stays.
      const again = old.find(({ hasClientId, notifies }) => hasClientId && notifies)!;
      const { store } = one;
      expect(await store.events.append(again)).toEqual({ kind: "created" });
      expect(await store.events.find(one.projectId, again.event.id)).toBe(again.json);
    });
  });
}

async function openPlace(engine: Engine): Promise<Opened> {
  const storage = await makeStorage(engine);
  const store = await openStore({ ...storage, databaseConnections: 5 }, testWatch);
  const projectId = await store.control.transaction().execute(async (transaction) => {
    const { id } = await createProject(transaction, "Shop", null);
    await createAccount(
      transaction,
      { email: "a@example.com", password: "" },
      "",
      { id, role: "member" },
      commandActor,
    );
    return id;
  });
  return { store, storage, projectId };
}

async function keep(store: Store, days: { projects: number; audit: number }): Promise<void> {
  await store.control.updateTable("projects").set({ retentionDays: days.projects }).execute();
  await store.control
    .updateTable("channels")
    .set({ retentionDays: days.audit })
    .where("name", "=", "audit")
    .execute();
}

/** Months that have fully expired, one that has except for a channel's last event, and new events. */
function history(projectId: number): AcceptedEvent[] {
  const clock = new ArrivalClock(null);
  const events: AcceptedEvent[] = [];
  const add = (count: number, fromMs: number, channels: string[], note: string) => {
    for (let n = 0; n < count; n++) {
      const hasClientId = n % 5 === 0;
      events.push(
        acceptedEvent({
          projectId,
          arrival: clock.next(),
          event: {
            notify: n % 7 === 0,
            channelId: channels[n % channels.length]!,
            name: `${note} ${n % 7}`,
            userId: n % 3 === 0 ? `${note}-${n % 40}` : `u${n % 20}`,
            tags: { plan: n % 2 ? "pro" : "free", [note]: `${n % 11}` },
            ...(hasClientId && { id: Bun.randomUUIDv7() }),
          },
          createdAtMs: fromMs + n * 600_000,
          hasClientId,
          notifies: n % 7 === 0,
        }),
      );
    }
  };
  add(1_100, monthsAgo(80), ["a", "ancient"], "ancient");
  add(100, monthsAgo(6), ["a"], "few");
  add(1_200, monthsAgo(5), ["a", "b", "closed"], "old");
  add(1_100, monthsAgo(4), ["a", "b"], "kept");
  add(1, monthsAgo(4) + 5 * dayMs, ["audit"], "audit");
  add(50, nowMs - 50 * 600_000, ["a", "b"], "new");
  return events;
}

/** The results of all queries about a project's events. */
async function snapshot({ events, control }: Store, projectId: number, sought: AcceptedEvent[]) {
  const query: EventQuery = { projectId, filter: {}, order: "asc" };
  const listed: string[] = [];
  for await (const chunk of events.stream(query)) listed.push(new TextDecoder().decode(chunk));
  const bounds = Array.from({ length: 9 }, (_, index) => monthsAgo(7 - index));
  const counts = [];
  for (const split of [{ by: "channel" }, { by: "name" }, { by: "tag", key: "plan" }] as const) {
    for (const filter of [{}, { userId: "u1" }]) {
      counts.push(await events.count({ projectId, filter, bounds, split, series: 20 }));
    }
  }
  const texts: string[] = [];
  for (const known of [
    { kind: "name" },
    { kind: "user" },
    { kind: "key" },
    { kind: "value", key: "plan" },
  ] as const) {
    texts.push(...(await events.startingWith(projectId, known, "", 100)));
  }
  const found = [];
  for (const { event } of sought.filter((_, index) => index % 10 === 0))
    found.push(await events.find(projectId, event.id));
  const pages = [];
  for (const filter of [
    { channel: "a" },
    { userId: "u1" },
    { tags: [["plan", "pro"]] as [string, string][] },
  ])
    pages.push(await events.page({ ...query, filter }, 1_000));
  return {
    listed: listed.join(),
    counts,
    texts: texts.toSorted(),
    found,
    pages,
    users: (await events.users({ projectId, prefix: "" }, 100)).toSorted((a, b) =>
      a.userId < b.userId ? -1 : 1,
    ),
    channels: await control
      .selectFrom("channels")
      .select(["name", "events", "lastEventAt"])
      .orderBy("name")
      .execute(),
    deliveries: await control.selectFrom("deliveries").select("eventId").orderBy("eventId").execute(),
  };
}
