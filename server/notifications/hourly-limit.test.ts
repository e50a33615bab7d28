// @engines sqlite, postgres
// @long
/** The hourly limit of messages to a destination, under a clock that the test holds. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import { ArrivalClock } from "../event/id.ts";
import { createRule } from "../rules/rules.ts";
import type { NewRule } from "../schemas/rule.ts";
import type { Store } from "../storage/store.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import { stores } from "../testing/engine.ts";
import { createFirstAccount } from "../testing/first-account.ts";
import { until } from "../testing/until.ts";
import { FanOut } from "./fan-out.ts";
import { RecentEvents } from "./recent-events.ts";

const minute = 60_000;
const hour = 60 * minute;
const start = Date.parse("2026-03-28T12:00:00Z");

for (const engine of stores) {
  describe(`an hourly limit on ${engine.name}`, () => {
    let storage: Awaited<ReturnType<typeof engine.create>>;
    let store: Store;
    let projectId: number;
    let accountId: string;
    let now: number;
    let clock: ArrivalClock;
    const realNow = Date.now;

    beforeEach(async () => {
      now = start;
      Date.now = () => now;
      clock = new ArrivalClock(null, { now: () => now });
      storage = await engine.create();
      store = await storage.open();
      ({ projectId, accountId } = await createFirstAccount(store.control));
      await store.control.deleteFrom("rules").execute();
    });
    afterEach(async () => {
      Date.now = realNow;
      await store.close();
      await storage.remove();
    });

    async function limited(hourlyLimit: number, owner: { accountId: string } | null = null): Promise<string> {
      const id = Bun.randomUUIDv7();
      await store.control
        .insertInto("destinations")
        .values({
          id,
          accountId: null,
          projectId: owner ? null : projectId,
          kind: owner ? "browser" : "webhook",
          name: "Limited",
          address: owner && "https://push.example.com/1",
          enabled: 1,
          createdAt: now,
          hourlyLimit,
          ...owner,
        })
        .execute();
      return id;
    }

    async function addRule(name: string, q: string, fields: Partial<NewRule>): Promise<void> {
      const to = {
        everyone: false,
        members: [],
        schedules: [],
        destinations: [],
        fallback: null,
        ...fields.to,
      };
      const rule = {
        ...{ name, q, when: { type: "each" } as const, urgent: false, resolve: null },
        ...{ remindMinutes: null, escalation: [], enabled: true },
        ...{ forEach: null, forgetDays: null, groupBy: null },
        ...fields,
        to,
      };
      await makeChange(store.control, { actor: commandActor, projectId }, (change) =>
        createRule(change, rule),
      );
    }
    const to = (...destinations: string[]) => ({
      to: { everyone: false, members: [], schedules: [], destinations, fallback: null },
    });

    async function send(name: string, tags: Record<string, string> = {}): Promise<void> {
      const arrival = clock.next();
      await store.events.append(acceptedEvent({ projectId, arrival, event: { name, tags }, notifies: true }));
    }

    /** Makes deliveries, as a process that was just started does. With `rounds`, it ends after so many steps. */
    async function makeAll(rounds = Number.POSITIVE_INFINITY): Promise<void> {
      let made = 0;
      const fanOut = new FanOut({
        store,
        events: new RecentEvents(store.events),
        onMade() {
          made++;
        },
        onError(error) {
          throw error;
        },
        now: () => now,
      });
      fanOut.wake();
      const isEmpty = async () => !(await store.control.selectFrom("outbox").select("id").executeTakeFirst());
      await until(async () => made >= rounds || (made > 0 && (await isEmpty())));
      await fanOut.close();
    }

    async function deliveries(destinationId: string) {
      const rows = await store.control
        .selectFrom("deliveries")
        .select(["state", "reason", "notification", "nextAttemptAt"])
        .where("destinationId", "=", destinationId)
        .orderBy("id")
        .execute();
      const sent = rows.filter(({ state }) => state === "waiting");
      return {
        sent: sent.filter(({ notification }) => !notification?.includes("messages-held")).length,
        held: rows.filter(({ reason }) => reason === "hourly-limit").length,
        notices: sent.flatMap(({ notification, nextAttemptAt }) => {
          const notice = notification === null ? null : JSON.parse(notification);
          return notice?.type === "messages-held" ? [{ ...notice, dueMs: nextAttemptAt }] : [];
        }),
      };
    }

    test("of 1,000 events in a minute, 20 are sent, and one message says that 980 were held back", async () => {
      const id = await limited(20);
      await addRule("Disks", "name:Disk", to(id));
      await addRule("Queues", "name:Queue", to(id));
      for (let n = 0; n < 1_000; n++) {
        now += 60;
        await send(n % 10 === 9 ? "Queue" : "Disk");
        // It stops in between, and goes on as another process.
        if (n % 250 === 249) await makeAll(2);
      }
      await makeAll();
      expect(await deliveries(id)).toEqual({ sent: 20, held: 980, notices: [] });
      now += hour - 2 * minute;
      await makeAll();
      expect((await deliveries(id)).notices).toEqual([]);
      now += 2 * minute;
      await makeAll();
      await makeAll();
      expect((await deliveries(id)).notices).toMatchObject([
        {
          title: "980 messages were held back",
          destination: { id, name: "Limited" },
          detail: expect.stringContaining(
            '882 of "Disks", 98 of "Queues". Limited gets at most 20 in an hour.',
          ),
        },
      ]);
      await send("Disk");
      await makeAll();
      expect(await deliveries(id)).toMatchObject({ sent: 21, held: 980 });
    }, 60_000);

    test("urgent messages and ends of alerts pass, and an event that is urgent by another rule isn't held back", async () => {
      const id = await limited(1);
      await addRule("Disks", "name:Disk", { ...to(id), resolve: "state=ok" });
      await addRule("Urgent", "server=db-1", { ...to(id), urgent: true });
      await send("Disk");
      await send("Disk");
      await send("Disk", { server: "db-1" });
      await send("Fixed", { state: "ok" });
      await makeAll();
      expect(await deliveries(id)).toMatchObject({ sent: 3, held: 1 });
      now += hour;
      await makeAll();
      expect((await deliveries(id)).notices).toMatchObject([{ title: "1 message was held back" }]);
    });

    test("a message that ends the hour before tells of it, too, and only once", async () => {
      const id = await limited(1);
      await addRule("Disks", "name:Disk", to(id));
      await send("Disk");
      await send("Disk");
      await makeAll();
      now += hour;
      await send("Disk");
      await makeAll();
      await makeAll();
      const { sent, held, notices } = await deliveries(id);
      expect([sent, held, notices.length]).toEqual([2, 1, 1]);
    });

    test("an account's own destination has one, and is told of once its quiet hours are over", async () => {
      const id = await limited(2, { accountId });
      const everyone = {
        to: { everyone: true, members: [], schedules: [], destinations: [], fallback: null },
      };
      await addRule("Disks", "name:Disk", everyone);
      for (let n = 0; n < 5; n++) await send("Disk");
      await makeAll();
      expect(await deliveries(id)).toMatchObject({ sent: 2, held: 3 });
      const quietHours = JSON.stringify({ days: ["saturday"], from: "12:30", to: "14:00" });
      const settings = { accountId, timeZone: "UTC", quietHours, emailDigest: null };
      await store.control.insertInto("notificationSettings").values(settings).execute();
      now += hour;
      await makeAll();
      expect((await deliveries(id)).notices).toMatchObject([
        { title: "3 messages were held back", accountId, dueMs: start + 2 * hour },
      ]);
    });

    test("each hour has at most its limit, and all that was held back is told, whenever events come", async () => {
      const id = await limited(3);
      await addRule("Disks", "name:Disk", to(id));
      const gaps = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 25 });
      await fc.assert(
        fc.asyncProperty(gaps, async (minutes) => {
          await store.control.deleteFrom("deliveries").execute();
          await store.control.deleteFrom("messageHours").execute();
          let sent = 0;
          let held = 0;
          let began = Number.NEGATIVE_INFINITY;
          let inHour = 0;
          for (const gap of minutes) {
            now += gap * minute;
            if (now >= began + hour) [began, inHour] = [now, 0];
            if (inHour++ < 3) sent++;
            else held++;
            await send("Disk");
            await makeAll();
          }
          now += 2 * hour;
          await makeAll();
          const found = await deliveries(id);
          expect([found.sent, found.held]).toEqual([sent, held]);
          const told = found.notices.map(({ title }) => Number.parseInt(title, 10));
          expect(told.reduce((sum, count) => sum + count, 0)).toBe(held);
        }),
        { numRuns: engine.name === "sqlite" ? 15 : 4 },
      );
    });
  });
}
