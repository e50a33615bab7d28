// @engines sqlite, postgres
// @long postgres
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { commandActor } from "../audit/audit-log.ts";
import { createAccount } from "../auth/create-account.ts";
import { ArrivalClock } from "../event/id.ts";
import { addMember } from "../projects/projects.ts";
import type { AcceptedEvent } from "../storage/event-store.ts";
import type { Store } from "../storage/store.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import { stores } from "../testing/engine.ts";
import { until } from "../testing/until.ts";
import { FanOut } from "./fan-out.ts";
import { RecentEvents } from "./recent-events.ts";

for (const engine of stores) {
  describe(`fan-out on ${engine.name}`, () => {
    let storage: Awaited<ReturnType<typeof engine.create>>;
    let store: Store;
    let projectId: number;
    let clock: ArrivalClock;
    let started: FanOut[];
    let now: number;

    beforeEach(async () => {
      started = [];
      now = Date.now();
      clock = new ArrivalClock(null);
      storage = await engine.create();
      store = await storage.open();
      projectId = await store.control.transaction().execute(async (transaction) => {
        const owner = { email: "owner@example.com", password: "" };
        const { firstProject } = await createAccount(transaction, owner, "unused", null, commandActor);
        for (const email of ["a@example.com", "b@example.com"]) {
          const member = { id: firstProject!.id, role: "member" as const };
          await createAccount(transaction, { email, password: "" }, "unused", member, commandActor);
        }
        return firstProject!.id;
      });
    });
    afterEach(async () => {
      for (const fanOut of started) await fanOut.close();
      await store.close();
      await storage.remove();
    });

    /** Starts it, as a node does. */
    function start(on: Store = store): { fanOut: FanOut; errors: unknown[] } {
      const errors: unknown[] = [];
      const fanOut = new FanOut({
        store: on,
        events: new RecentEvents(store.events),
        onMade() {},
        onError: (error) => void errors.push(error),
        now: () => now,
      });
      started.push(fanOut);
      return { fanOut, errors };
    }

    async function append(count: number): Promise<AcceptedEvent[]> {
      const make = () =>
        acceptedEvent({ projectId, arrival: clock.next(), event: { notify: true }, notifies: true });
      const events = Array.from({ length: count }, make);
      await store.events.appendAll(events);
      return events;
    }

    const remove = ({ event }: AcceptedEvent) => store.events.remove({ projectId, id: event.id }, 1);
    const outbox = async () => (await store.control.selectFrom("outbox").select("id").execute()).length;
    const deliveries = () =>
      store.control.selectFrom("deliveries").select(["eventId", "accountId", "kind"]).orderBy("id").execute();

    test("makes a delivery for each member, once, in the order of arrival, however many take part", async () => {
      const nodes = [start(), start(), start()];
      const events: AcceptedEvent[] = [];
      for (let round = 0; round < 3; round++) {
        const more = await append(70);
        events.push(...more);
        for (const { fanOut } of nodes) fanOut.wake();
      }
      await until(async () => (await outbox()) === 0);
      const made = await deliveries();
      expect(made.every(({ kind }) => kind === "dashboard")).toBe(true);
      const ids = events.map(({ event }) => event.id);
      expect(made.map(({ eventId }) => eventId)).toEqual(ids.flatMap((id) => [id, id, id]));
      for (const { errors } of nodes) expect(errors).toEqual([]);
    });

    test("makes what an earlier process left", async () => {
      await append(3);
      expect(await deliveries()).toEqual([]);
      start().fanOut.wake();
      await until(async () => (await outbox()) === 0);
      expect(await deliveries()).toHaveLength(9);
    });

    test("makes none of an event that was deleted before, and deleting one removes its own", async () => {
      const [first, second, third] = await append(3);
      await remove(first!);
      expect(await outbox()).toBe(2);
      start().fanOut.wake();
      await until(async () => (await outbox()) === 0);
      await remove(second!);
      expect((await deliveries()).map(({ eventId }) => eventId)).toEqual(Array(3).fill(third!.event.id));
    });

    test("notifies those who are members when it runs", async () => {
      await append(1);
      const [, gone] = await store.control.selectFrom("members").selectAll().orderBy("accountId").execute();
      await store.control.deleteFrom("members").where("accountId", "=", gone!.accountId).execute();
      const other = await store.control.transaction().execute(async (transaction) => {
        const account = { email: "late@example.com", password: "" };
        const { id } = await createAccount(transaction, account, "unused", null, commandActor);
        await addMember(transaction, projectId, id, "viewer");
        return id;
      });
      start().fanOut.wake();
      await until(async () => (await outbox()) === 0);
      const accounts = (await deliveries()).map(({ accountId }) => accountId);
      expect(accounts).toHaveLength(3);
      expect(accounts).toContain(other);
      expect(accounts).not.toContain(gone!.accountId);
    });

    test("keeps what it could not make, and makes it once the storage works again", async () => {
      const broken = { isBroken: true };
      const together: Store["together"] = async (work, run) => {
        if (broken.isBroken) throw new Error("The storage is away.");
        return store.together(work, run);
      };
      const { fanOut, errors } = start({ ...store, together });
      await append(1);
      fanOut.wake();
      await until(() => errors.length === 1);
      expect([await outbox(), await deliveries()]).toEqual([1, []]);
      broken.isBroken = false;
      fanOut.wake();
      await until(async () => (await outbox()) === 0);
      expect(await deliveries()).toHaveLength(3);
    });
  });
}
