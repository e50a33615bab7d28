// @engines sqlite, postgres
// @long postgres
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { commandActor } from "../audit/audit-log.ts";
import { createAccount } from "../auth/create-account.ts";
import { ArrivalClock, eventIdOf } from "../event/id.ts";
import type { AcceptedEvent } from "../storage/event-store.ts";
import type { Store } from "../storage/store.ts";
import { stores, testSecrets } from "../testing/engine.ts";
import { createFirstAccount } from "../testing/first-account.ts";
import { makeDeliveries } from "../testing/make-deliveries.ts";
import { pushService } from "../testing/push-service.ts";
import { testConfig } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import { addBrowser, changeDestination } from "./account-destinations.ts";
import { listQueues } from "./delivery-queues.ts";
import { DeliveryWorker } from "./delivery-worker.ts";
import { cancelDeliveries } from "./destinations.ts";
import { openKinds } from "./open-kinds.ts";
import { RecentEvents } from "./recent-events.ts";

const start = Date.UTC(2026, 0, 31);
const second = 1_000;
const hour = 3_600_000;

for (const engine of stores) {
  describe(`the delivery worker on ${engine.name}`, () => {
    let storage: Awaited<ReturnType<typeof engine.create>>;
    let store: Store;
    let service: ReturnType<typeof pushService>;
    let opened: Awaited<ReturnType<typeof openKinds>>;
    let workers: DeliveryWorker[];
    let accountId: string;
    let projectId: number;
    let now: number;
    let random: number;

    beforeEach(async () => {
      [now, random] = [start, 1];
      workers = [];
      clock = new ArrivalClock(null, { now: () => now });
      storage = await engine.create();
      store = await storage.open();
      service = pushService();
      const config = await testConfig({ dataDirectory: "unused" });
      opened = await openKinds(config, store.control, testSecrets, "http://localhost");
      ({ accountId, projectId } = await createFirstAccount(store.control));
    });
    afterEach(async () => {
      for (const worker of workers) await worker.close();
      await opened.close();
      await service.close();
      await store.close();
      await storage.remove();
    });

    function newWorker(
      clock = () => now,
      changes: Partial<ConstructorParameters<typeof DeliveryWorker>[0]> = {},
    ): DeliveryWorker {
      const fail = (error: unknown) => {
        throw error;
      };
      const worker = new DeliveryWorker({
        renderReport: async () => null,
        unsubscribeLinks: { url: () => "https://tidings.example.com/unsubscribe/token" },
        alertLinks: { url: () => "https://tidings.example.com/alert/token", buttonToken: () => "token" },
        installationId: "test",
        store,
        events: new RecentEvents(store.events),
        kinds: opened.kinds,
        secrets: testSecrets,
        policy: { allowPrivate: true },
        baseUrl: "http://localhost",
        onError: fail,
        now: clock,
        random: () => random,
        ...changes,
      });
      workers.push(worker);
      return worker;
    }

    async function browser(label = "browser") {
      const subscription = service.subscribe();
      const { id } = await addBrowser(store.control, testSecrets, accountId, {
        kind: "browser",
        label,
        subscription,
      });
      return { id, subscription };
    }

    let clock: ArrivalClock;
    /** Stores an event that notifies, with a delivery for each browser. */
    async function record(name = "n"): Promise<AcceptedEvent> {
      const arrival = clock.next();
      const id = eventIdOf(arrival);
      const createdAt = new Date(arrival.ms).toISOString();
      const event = { id, name, channelId: "c", userId: "", notify: true, tags: {}, createdAt };
      const accepted: AcceptedEvent = {
        projectId,
        event,
        json: JSON.stringify(event),
        hasClientId: false,
        createdAtMs: arrival.ms,
        hasClientTimestamp: false,
        arrival,
        receivedMs: arrival.ms,
        notifies: true,
      };
      expect(await store.events.append(accepted)).toEqual({ kind: "created" });
      await makeDeliveries(store);
      return accepted;
    }

    const rows = () =>
      store.control
        .selectFrom("deliveries")
        .selectAll()
        .where("kind", "=", "browser")
        .orderBy("id")
        .execute();

    /** Wakes a worker and waits until each delivery had this many attempts and none is in progress. */
    async function attempted(worker: DeliveryWorker, attempts: number) {
      worker.wake();
      await until(async () =>
        (await rows()).every(
          (row) =>
            row.attempts === attempts &&
            !(row.state === "waiting" && (row.detail === null || row.nextAttemptAt === now + 60 * second)),
        ),
      );
      return rows();
    }

    test("sends waiting deliveries, also those of an earlier process", async () => {
      await browser();
      const event = await record("left behind");
      expect(await rows()).toMatchObject([
        { state: "waiting", attempts: 0, eventId: event.event.id, nextAttemptAt: event.arrival.ms },
      ]);
      now = event.arrival.ms + second;
      expect(await attempted(newWorker(), 1)).toMatchObject([
        { state: "delivered", deliveredAt: now, nextAttemptAt: null },
      ]);
      expect((await service.next()).payload).toMatchObject({ title: "left behind" });
    });

    test("retries after twice as long each time, up to four hours, and gives up after a day", async () => {
      await browser();
      await record();
      const worker = newWorker();
      const { createdAt } = (await rows())[0]!;
      now = createdAt;
      const waits: number[] = [];
      for (let attempts = 1; ; attempts++) {
        service.answerNext(500);
        const [row] = await attempted(worker, attempts);
        if (row!.state === "dead") {
          expect(row!.nextAttemptAt).toBeNull();
          expect(row!.detail).toContain("500");
          break;
        }
        waits.push(row!.nextAttemptAt! - now);
        now = row!.nextAttemptAt!;
      }
      const doubled = [10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120, 10_240].map(
        (seconds) => seconds * second,
      );
      expect(waits.slice(0, 11)).toEqual(doubled);
      for (const wait of waits.slice(11)) expect(wait).toBe(4 * hour);
      expect(now - createdAt).toBeWithin(20 * hour, 24 * hour + 1);
      now += 30 * 24 * hour;
      worker.wake();
      await Bun.sleep(50);
      expect(service.received).toHaveLength(0);
    });

    test("tries a receiver that is unavailable with one message, at least every five minutes", async () => {
      const { id } = await browser();
      for (const name of ["one", "two", "three"]) await record(name);
      const worker = newWorker();
      now = (await rows())[2]!.createdAt;
      for (let n = 0; n < 3; n++) service.answerNext(503);
      worker.wake();
      await until(async () => (await rows()).every(({ detail }) => detail !== null));
      // Everything waits for as long as the last of them.
      const heldUntil = async () => (await listQueues(store.control))[0]!.dueAt;
      expect(await heldUntil()).toBe(now + 10 * second);
      for (let attempts = 2; attempts < 20; attempts++) {
        now = await heldUntil();
        for (let n = 0; n < 3; n++) service.answerNext(503);
        worker.wake();
        await until(async () => (await heldUntil()) > now);
        expect((await heldUntil()) - now).toBeWithin(10 * second, 5 * 60 * second + 1);
      }
      await record("four");
      now += second;
      worker.wake();
      await Bun.sleep(30);
      expect((await rows()).at(-1)).toMatchObject({ attempts: 0 });
      await cancelDeliveries(store.control, id, "");
      expect(await listQueues(store.control)).toEqual([]);
    });

    test("waits for a random part of that time, so that retries don't coincide", async () => {
      await browser();
      await record();
      now = (await rows())[0]!.createdAt;
      random = 0.25;
      service.answerNext(500);
      const [row] = await attempted(newWorker(), 1);
      expect(row!.nextAttemptAt! - now).toBe(2.5 * second);
    });

    test("waits as long as the other side asks", async () => {
      await browser();
      await record();
      now = (await rows())[0]!.createdAt;
      service.answerNext(429, { "retry-after": "3600" });
      const [row] = await attempted(newWorker(), 1);
      expect(row!.nextAttemptAt! - now).toBe(hour);
    });

    test("continues by itself when a delivery is due", async () => {
      await browser();
      await record();
      now = (await rows())[0]!.createdAt;
      const offset = Date.now() - now;
      // A wait of 0.1 s.
      random = 0.01;
      const worker = newWorker(() => Date.now() - offset);
      service.answerNext(500);
      worker.wake();
      expect(await service.next()).toMatchObject({ payload: { title: "n" } });
    });

    test("doesn't retry permanent failures", async () => {
      await browser();
      await record();
      now += 10 * second;
      service.answerNext(400);
      expect(await attempted(newWorker(), 1)).toMatchObject([{ state: "dead", nextAttemptAt: null }]);
    });

    test("removes a browser that is gone, and cancels its other deliveries", async () => {
      const { id, subscription } = await browser();
      await record();
      await record();
      now += 10 * second;
      service.unsubscribe(subscription);
      const worker = newWorker();
      worker.wake();
      await until(async () => (await rows()).every(({ state }) => state !== "waiting"));
      await worker.close();
      const states = (await rows()).map(({ state }) => state);
      expect(states).toContain("dead");
      expect(states).not.toContain("waiting");
      expect(
        await store.control.selectFrom("destinations").selectAll().where("id", "=", id).execute(),
      ).toEqual([]);
    });

    test("sends each delivery once, however many workers there are", async () => {
      await browser("one");
      await browser("two");
      for (let n = 0; n < 30; n++) await record(`${n}`);
      now += 10 * second;
      const several = [newWorker(), newWorker(), newWorker()];
      for (const worker of several) worker.wake();
      await until(async () => (await rows()).every(({ state }) => state === "delivered"));
      expect((await rows()).map(({ attempts, state }) => [attempts, state])).toEqual(
        Array(60).fill([1, "delivered"]),
      );
      expect(service.received).toHaveLength(60);
    });

    test("isn't blocked by a destination that doesn't respond", async () => {
      await browser("silent");
      const held = service.holdNext();
      await record("held");
      now += 10 * second;
      const worker = newWorker();
      worker.wake();
      await held;
      await record("next");
      now += 10 * second;
      worker.wake();
      expect((await service.next()).payload).toMatchObject({ title: "next" });
    });

    test("leaves deliveries that another worker claimed alone for a minute", async () => {
      await browser();
      await record();
      now += 10 * second;
      // The state after a process died while sending.
      await store.control
        .updateTable("deliveries")
        .set({ attempts: 1, nextAttemptAt: now + 60 * second })
        .where("kind", "=", "browser")
        .execute();
      const worker = newWorker();
      now += 59 * second;
      worker.wake();
      await Bun.sleep(50);
      expect(service.received).toHaveLength(0);
      now += second;
      expect(await attempted(worker, 2)).toMatchObject([{ state: "delivered" }]);
    });

    test("records what was sent after a failover of the database, and doesn't send it again", async () => {
      await browser();
      await record();
      let failures = 0;
      const together: Store["together"] = (kind, run) => {
        if (failures > 0) return store.together(kind, run);
        failures++;
        now += 30 * second;
        return Promise.reject(new Error("no database"));
      };
      const errors: unknown[] = [];
      now += second;
      const worker = newWorker(undefined, {
        store: { ...store, together },
        onError: (error) => errors.push(error),
      });
      worker.wake();
      await until(async () => (await rows())[0]!.state === "delivered");
      expect([failures, errors.length, service.received.length]).toEqual([1, 1, 1]);
    });

    test("doesn't record a failed attempt after another worker claimed the delivery again", async () => {
      await browser();
      await record();
      now += 10 * second;
      const held = service.holdNext();
      const worker = newWorker();
      worker.wake();
      await held;
      const claim = { attempts: 2, nextAttemptAt: now + 60 * second };
      await store.control.updateTable("deliveries").set(claim).where("kind", "=", "browser").execute();
      // The held request fails.
      await service.close();
      await worker.close();
      expect(await rows()).toMatchObject([{ state: "waiting", detail: null, ...claim }]);
    });

    test("cancels waiting deliveries of a destination that is turned off", async () => {
      const { id } = await browser();
      await record();
      await changeDestination(store.control, accountId, id, { enabled: false });
      now += 10 * second;
      newWorker().wake();
      await Bun.sleep(50);
      expect(await rows()).toMatchObject([
        {
          state: "cancelled",
          attempts: 0,
          nextAttemptAt: null,
          detail: expect.stringContaining("turned off"),
        },
      ]);
      expect(service.received).toHaveLength(0);
    });

    test("sends nothing to a former member", async () => {
      await browser();
      await record();
      await store.control.deleteFrom("members").where("accountId", "=", accountId).execute();
      now += 10 * second;
      expect(await attempted(newWorker(), 1)).toMatchObject([
        { state: "dead", detail: expect.stringContaining("no longer a member") },
      ]);
      expect(service.received).toHaveLength(0);
    });

    test("sends nothing to a destination that changed accounts after the delivery was stored", async () => {
      const { id } = await browser();
      await record();
      const account = { email: "b@example.com", password: "" };
      const other = await store.control
        .transaction()
        .execute((transaction) => createAccount(transaction, account, "unused", null, commandActor));
      // As an earlier version did, which kept the row.
      await store.control
        .updateTable("destinations")
        .set({ accountId: other.id })
        .where("id", "=", id)
        .execute();
      now += 10 * second;
      expect(await attempted(newWorker(), 1)).toMatchObject([{ state: "dead" }]);
      expect(service.received).toHaveLength(0);
    });

    test("sends nothing of a deleted account", async () => {
      await browser();
      await record();
      await store.control.deleteFrom("accounts").where("id", "=", accountId).execute();
      now += 10 * second;
      expect(await attempted(newWorker(), 1)).toMatchObject([{ state: "dead" }]);
      expect(service.received).toHaveLength(0);
    });

    test("keeps a delivery cancelled that was cancelled while an attempt failed", async () => {
      const { id } = await browser();
      await record();
      now += 10 * second;
      service.answerNext(503);
      const worker = newWorker();
      worker.wake();
      // Without a pause, to meet the attempt while it is in progress.
      while ((await rows())[0]!.attempts === 0) await Bun.sleep(0);
      await changeDestination(store.control, accountId, id, { enabled: false });
      await worker.close();
      expect((await rows())[0]!.state).toBe("cancelled");
    });

    test("finishes sending before it closes, and starts nothing more", async () => {
      await browser();
      await record();
      now += 10 * second;
      const worker = newWorker();
      worker.wake();
      await worker.close();
      expect((await rows())[0]!.state).toBe("delivered");
      await record();
      now += 10 * second;
      worker.wake();
      await Bun.sleep(30);
      expect((await rows())[1]!.state).toBe("waiting");
    });
  });
}
