// @engines sqlite, postgres
// @long
/** Silences of what rules find, under a clock that the test holds. Each step is a process that was just started. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { acknowledgeAlert, listAlerts } from "../alerts/alerts.ts";
import { commandActor } from "../audit/audit-log.ts";
import { type Change, makeChange } from "../audit/changes.ts";
import { ArrivalClock } from "../event/id.ts";
import { FanOut } from "../notifications/fan-out.ts";
import { RecentEvents } from "../notifications/recent-events.ts";
import { createRule } from "../rules/rules.ts";
import type { NewRule } from "../schemas/rule.ts";
import type { NewSilence } from "../schemas/silence.ts";
import type { Store } from "../storage/store.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import { stores } from "../testing/engine.ts";
import { createFirstAccount } from "../testing/first-account.ts";
import { until } from "../testing/until.ts";
import { changeSilence, createSilence, endSilence } from "./silences.ts";

const minute = 60_000;
const hour = 60 * minute;
const start = Date.parse("2026-03-28T12:00:00Z");
const everyone = { everyone: true, members: [], schedules: [], destinations: [], fallback: null };
const ann = { ...commandActor, kind: "account", name: "ann@example.com" } as const;

for (const engine of stores) {
  describe(`silences on ${engine.name}`, () => {
    let storage: Awaited<ReturnType<typeof engine.create>>;
    let store: Store;
    let projectId: number;
    let now: number;
    let clock: ArrivalClock;
    const realNow = Date.now;

    beforeEach(async () => {
      now = start;
      Date.now = () => now;
      clock = new ArrivalClock(null, { now: () => now });
      storage = await engine.create();
      store = await storage.open();
      ({ projectId } = await createFirstAccount(store.control));
      await store.control.deleteFrom("rules").execute();
    });
    afterEach(async () => {
      Date.now = realNow;
      await store.close();
      await storage.remove();
    });

    const change = <Result>(run: (change: Change) => Promise<Result>) =>
      makeChange(store.control, { actor: ann, projectId }, run);

    async function addRule(fields: Partial<NewRule> = {}): Promise<string> {
      const rule = {
        ...{
          name: "Disk",
          q: 'name:"Disk full"',
          when: { type: "each" } as const,
          to: everyone,
          urgent: false,
        },
        ...{ resolve: "state=ok", remindMinutes: null, escalation: [], enabled: true },
        ...{ forEach: null, forgetDays: null, groupBy: null },
        ...fields,
      };
      return (await change((each) => createRule(each, rule))).id;
    }

    async function silence(fields: Partial<NewSilence> & { fromMs?: number; toMs?: number } = {}) {
      const { fromMs = now, toMs = now + hour, ...rest } = fields;
      const times = { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
      const planned = { reason: "Deployment", q: "", rules: [], ...times, ...rest };
      const { id } = await change((each) => createSilence(each, planned, now));
      await applyRules();
      return id;
    }

    async function record(name = "Disk full", tags: Record<string, string> = {}): Promise<string> {
      const { event, ...accepted } = acceptedEvent({
        projectId,
        arrival: clock.next(),
        event: { name, tags },
        notifies: true,
      });
      await store.events.append({ event, ...accepted });
      await applyRules();
      return event.id;
    }

    async function applyRules(): Promise<void> {
      let made = false;
      const fanOut = new FanOut({
        store,
        events: new RecentEvents(store.events),
        onMade() {
          made = true;
        },
        onError(error) {
          throw error;
        },
        now: () => now,
      });
      fanOut.wake();
      await until(
        async () => made && (await store.control.selectFrom("outbox").select("id").execute()).length === 0,
      );
      await fanOut.close();
      made = false;
    }

    /** The member's messages, in order; silenced ones are in brackets. */
    async function told(): Promise<string[]> {
      const rows = await store.control
        .selectFrom("deliveries")
        .select(["notification", "state", "reason", "detail"])
        .where("kind", "=", "dashboard")
        .orderBy("id")
        .execute();
      return rows.map(({ notification, state, reason, detail }) => {
        const type = notification === null ? "event" : JSON.parse(notification).type;
        if (state !== "skipped") return type;
        expect([reason, detail]).toEqual(["silenced", "Silenced by ann@example.com: Deployment"]);
        return `(${type})`;
      });
    }
    const alerts = async () => (await listAlerts(store.control, projectId, { limit: 10 })).alerts;

    test("what is covered is skipped, with the reason; the rest is told", async () => {
      await addRule({ resolve: null });
      await silence({ q: "server=db-1" });
      await record("Disk full", { server: "db-1" });
      await record("Disk full", { server: "db-2" });
      expect(await told()).toEqual(["(event)", "event"]);
      now += hour;
      await record("Disk full", { server: "db-1" });
      expect(await told()).toEqual(["(event)", "event", "event"]);
    });

    describe("a new alert of a group", () => {
      const grouped = {
        forEach: "tag.server",
        groupBy: "tag.rack",
        remindMinutes: 30,
        escalation: [{ minutes: 15, to: everyone }],
      };
      const fails = (server: string) => record("Disk full", { server, rack: "r1" });

      test("reminds and escalates by itself if the first one is silenced", async () => {
        await addRule(grouped);
        await silence({ q: "server=db-1", toMs: now + 5 * hour });
        await fails("db-1");
        now += 2 * hour;
        await fails("db-2");
        await applyRules();
        expect(await told()).toEqual(["(event)", "group"]);
        now += 15 * minute;
        await applyRules();
        now += 15 * minute;
        await applyRules();
        expect(await told()).toEqual(["(event)", "group", "reminder", "reminder"]);
      });

      test("reminds and escalates by itself if somebody looks after the first one", async () => {
        await addRule(grouped);
        await fails("db-1");
        const { id } = (await alerts())[0]!;
        await change((each) => acknowledgeAlert(each, id, null));
        now += hour;
        await fails("db-2");
        await applyRules();
        expect(await told()).toEqual(["event", "group"]);
        now += 15 * minute;
        await applyRules();
        expect(await told()).toEqual(["event", "group", "reminder"]);
      });
    });

    test("an acknowledgement that ends within a silence is not due before the silence ends", async () => {
      await addRule({ remindMinutes: 5 });
      await record();
      const { id } = (await alerts())[0]!;
      await silence();
      await change((each) => acknowledgeAlert(each, id, 10));
      now += 11 * minute;
      await applyRules();
      const { dueAt } = await store.control.selectFrom("alerts").select("dueAt").executeTakeFirstOrThrow();
      expect(dueAt).toBe(now + 49 * minute);
    });

    test("a silence marks hundreds of open alerts, some at a time", async () => {
      await addRule({ forEach: "tag.server" });
      for (let n = 0; n < 450; n++) {
        const arrival = clock.next();
        const event = { name: "Disk full", tags: { server: `db-${n}` } };
        await store.events.append(acceptedEvent({ projectId, arrival, event, notifies: true }));
      }
      await applyRules();
      await silence();
      const silenced = () =>
        store.control.selectFrom("alerts").select("id").where("silencedUntil", "is not", null).execute();
      await until(async () => {
        await applyRules();
        return (await silenced()).length === 450;
      });
    });

    test("a silence of a rule covers only what that finds, and an event that another rule matches is told", async () => {
      const rule = await addRule({ resolve: null });
      await silence({ rules: [rule] });
      await record();
      await addRule({ name: "Other", q: 'name:"Disk full"', resolve: null });
      await record();
      expect(await told()).toEqual(["(event)", "event"]);
    });

    test("a planned silence covers nothing before it begins, and what arrived in it although it is made later", async () => {
      await addRule({ resolve: null });
      await silence({ fromMs: now + hour, toMs: now + 2 * hour });
      await record();
      now += hour;
      const event = acceptedEvent({
        projectId,
        arrival: clock.next(),
        event: { name: "Disk full", tags: {} },
        notifies: true,
      });
      await store.events.append(event);
      now += 2 * hour;
      await applyRules();
      expect(await told()).toEqual(["event", "(event)"]);
    });

    test("an alert that opens in a silence is told of once at its end, and escalates from there", async () => {
      await addRule({ remindMinutes: 30, escalation: [{ minutes: 20, to: everyone }] });
      await silence();
      await record();
      expect(await alerts()).toMatchObject([
        { state: "firing", silenced: { until: new Date(start + hour).toISOString() } },
      ]);
      now += 50 * minute;
      await applyRules();
      expect(await told()).toEqual(["(event)"]);
      now += 10 * minute;
      await applyRules();
      await applyRules();
      expect(await told()).toEqual(["(event)", "reminder"]);
      const [alert] = await alerts();
      expect(alert).toMatchObject({ silenced: null, escalateAt: new Date(now + 20 * minute).toISOString() });
      expect(alert!.remindAt).toBe(new Date(now + 30 * minute).toISOString());
      now += 20 * minute;
      await applyRules();
      now += 10 * minute;
      await applyRules();
      expect(await told()).toEqual(["(event)", "reminder", "reminder", "reminder"]);
      await record("Disk checked", { state: "ok" });
      expect((await told()).at(-1)).toBe("resolved");
    });

    test("an end is told within a silence if the alert was told before, and else isn't", async () => {
      await addRule();
      await record();
      await silence();
      expect((await alerts())[0]!.silenced).not.toBeNull();
      now += minute;
      await record("Disk checked", { state: "ok" });
      expect(await told()).toEqual(["event", "resolved"]);
      now += minute;
      await record();
      now += minute;
      await record("Disk checked", { state: "ok" });
      now += 2 * hour;
      await applyRules();
      expect(await told()).toEqual(["event", "resolved", "(event)", "(resolved)"]);
    });

    test("reminders and escalation of an alert that was told before pause for as long as the silence lasts", async () => {
      await addRule({ remindMinutes: 15, escalation: [{ minutes: 40, to: everyone }] });
      await record();
      now += 10 * minute;
      await silence({ toMs: now + hour });
      now += 59 * minute;
      await applyRules();
      expect(await told()).toEqual(["event"]);
      now += minute;
      await applyRules();
      expect(await told()).toEqual(["event", "reminder"]);
      expect((await alerts())[0]!.escalateAt).toBe(new Date(start + hour + 40 * minute).toISOString());
    });

    test("a silence that is ended, made longer or changed is followed at once", async () => {
      await addRule();
      const id = await silence();
      await record();
      now += 30 * minute;
      const to = new Date(start + 2 * hour).toISOString();
      await change((each) => changeSilence(each, id, { to }, null, now));
      await applyRules();
      now += hour;
      await applyRules();
      expect(await told()).toEqual(["(event)"]);
      await change((each) => changeSilence(each, id, { q: "server=db-1" }, null, now));
      await applyRules();
      expect(await told()).toEqual(["(event)", "reminder"]);
      await change((each) => changeSilence(each, id, { q: "" }, null, now));
      await applyRules();
      expect((await alerts())[0]!.silenced).toEqual({ id, until: to });
      await change((each) => endSilence(each, id, now));
      await applyRules();
      expect(await told()).toEqual(["(event)", "reminder", "reminder"]);
    });

    test("of two silences, the alert is told of when the last one ends", async () => {
      await addRule();
      await silence();
      await record();
      now += 30 * minute;
      await silence({ toMs: now + hour });
      now += 30 * minute;
      await applyRules();
      expect(await told()).toEqual(["(event)"]);
      now += 30 * minute;
      await applyRules();
      expect(await told()).toEqual(["(event)", "reminder"]);
    });

    test("an alert that somebody looks after isn't told of at the end", async () => {
      await addRule();
      await silence();
      await record();
      const [alert] = await alerts();
      await change((each) => acknowledgeAlert(each, alert!.id, null));
      now += 2 * hour;
      await applyRules();
      expect(await told()).toEqual(["(event)"]);
    });

    test("what a rule finds without an event is covered by the last event that it knows", async () => {
      await addRule({
        name: "Backups",
        q: "name:Backup",
        when: { type: "silence", minutes: 30 },
        resolve: null,
      });
      await record("Backup", { server: "db-1" });
      await silence({ q: "server=db-2", toMs: now + 3 * hour });
      now += 31 * minute;
      await applyRules();
      expect(await told()).toEqual(["silence"]);
      await record("Backup", { server: "db-2" });
      now += 31 * minute;
      await applyRules();
      expect(await told()).toEqual(["silence", "recovery", "(silence)"]);
      await record("Backup", { server: "db-1" });
      expect(await told()).toEqual(["silence", "recovery", "(silence)", "(recovery)"]);
    });

    test("each event is told exactly if no silence covers it, whenever they come", async () => {
      await addRule({ resolve: null });
      const times = fc.record({
        at: fc.nat(200),
        length: fc.integer({ min: 1, max: 60 }),
        server: fc.nat(2),
      });
      const events = fc.array(fc.record({ at: fc.nat(250), server: fc.nat(2) }), { maxLength: 8 });
      await fc.assert(
        fc.asyncProperty(fc.array(times, { maxLength: 4 }), events, async (planned, sent) => {
          await store.control.deleteFrom("deliveries").execute();
          await store.control.deleteFrom("silences").execute();
          const base = now + minute;
          for (const { at, length, server } of planned)
            await silence({
              fromMs: base + at * minute,
              toMs: base + (at + length) * minute,
              q: server === 0 ? "" : `server=${server}`,
            });
          const inOrder = sent.toSorted((one, other) => one.at - other.at);
          for (const { at, server } of inOrder) {
            now = base + at * minute;
            await record("Disk full", { server: String(server) });
          }
          const expected = inOrder.map((event) =>
            planned.some(
              ({ at, length, server }) =>
                at <= event.at && event.at < at + length && (server === 0 || server === event.server),
            )
              ? "(event)"
              : "event",
          );
          expect(await told()).toEqual(expected);
          now = base + 300 * minute;
        }),
        { numRuns: engine.name === "sqlite" ? 20 : 5 },
      );
    });
  });
}
