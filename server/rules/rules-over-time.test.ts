// @engines sqlite, postgres
// @long
/** Rules applied to stored events, under a clock that the test holds. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { acknowledgeAlert } from "../alerts/alerts.ts";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import { createAccount } from "../auth/create-account.ts";
import { ArrivalClock } from "../event/id.ts";
import { FanOut } from "../notifications/fan-out.ts";
import { RecentEvents } from "../notifications/recent-events.ts";
import { createSchedule } from "../on-call/schedules.ts";
import type { NewRule, RuleWhen } from "../schemas/rule.ts";
import type { Store } from "../storage/store.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import { stores } from "../testing/engine.ts";
import { createFirstAccount } from "../testing/first-account.ts";
import { until } from "../testing/until.ts";
import { createRule } from "./rules.ts";
import { previewStored } from "./stored-preview.ts";

const minute = 60_000;
const hour = 60 * minute;
const start = Date.parse("2026-03-28T12:00:00Z");

for (const engine of stores) {
  describe(`rules over time on ${engine.name}`, () => {
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
    });
    afterEach(async () => {
      Date.now = realNow;
      await store.close();
      await storage.remove();
    });

    async function addRule(when: RuleWhen, fields: Partial<NewRule> = {}): Promise<string> {
      const rule: NewRule = {
        name: "Rule",
        q: "name:Backup",
        when,
        forEach: null,
        forgetDays: null,
        groupBy: null,
        to: { everyone: true, members: [], schedules: [], destinations: [], fallback: null },
        urgent: false,
        resolve: null,
        remindMinutes: null,
        escalation: [],
        enabled: true,
        ...fields,
      };
      const created = await makeChange(store.control, { actor: commandActor, projectId }, (change) =>
        createRule(change, rule),
      );
      return created.id;
    }

    /** Stores an event that arrives now, and applies the rules, as a process that was just started does. */
    async function record(
      name = "Backup",
      fields: { createdAtMs?: number; tags?: Record<string, string> } = {},
    ) {
      const { createdAtMs, tags = {} } = fields;
      const event = acceptedEvent({
        projectId,
        arrival: clock.next(),
        event: { name, tags },
        createdAtMs,
        notifies: true,
      });
      await store.events.append(event);
      await applyRules();
      return event.event;
    }

    async function applyRules(begin: "wake" | "start" = "wake"): Promise<void> {
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
      fanOut[begin]();
      await until(
        async () => made && (await store.control.selectFrom("outbox").select("id").execute()).length === 0,
      );
      await fanOut.close();
    }

    /** What was told, in order: the type and the rest of each delivery. */
    async function told(): Promise<{ type: string; eventId: string | null; createdAt: number }[]> {
      const rows = await store.control.selectFrom("deliveries").selectAll().orderBy("id").execute();
      return rows.map(({ notification, eventId, createdAt }) => ({
        ...(notification === null ? { type: "event" } : JSON.parse(notification)),
        eventId,
        createdAt,
      }));
    }
    const types = async () => (await told()).map(({ type }) => type);

    test("a silence is told once, and so is its end", async () => {
      await addRule({ type: "silence", minutes: 26 * 60 });
      await record();
      now += 25 * hour;
      await applyRules();
      expect(await types()).toEqual([]);
      now += 2 * hour;
      await applyRules();
      await applyRules();
      expect(await types()).toEqual(["silence"]);
      now += 4 * 24 * hour;
      await applyRules();
      const event = await record();
      expect(await told()).toMatchObject([
        { type: "silence", eventId: null, sinceMs: start, rule: { name: "Rule", q: "name:Backup" } },
        { type: "recovery", eventId: event.id },
      ]);
    });

    test("a silence that became due while the server was down waits for what was sent meanwhile", async () => {
      await addRule({ type: "silence", minutes: 60 });
      const last = await record();
      now += 5 * hour;
      await applyRules("start");
      expect(await types()).toEqual([]);
      now += 5 * minute - 1;
      await applyRules();
      expect(await types()).toEqual([]);
      now += 1;
      await applyRules();
      expect(await told()).toMatchObject([{ type: "silence", atMs: start + hour, newestIds: [last.id] }]);
    });

    const alerts = () => store.control.selectFrom("alerts").selectAll().orderBy("id").execute();

    test("a silence opens an alert, which its end resolves, in one thread", async () => {
      await addRule({ type: "silence", minutes: 60 });
      const last = await record();
      now += 2 * hour;
      await applyRules();
      expect(await alerts()).toMatchObject([
        { title: "No event for 1 hour: Rule", openedAt: start + hour, eventId: last.id, resolvedAt: null },
      ]);
      await record();
      const { id } = (await alerts())[0]!;
      expect(await alerts()).toMatchObject([{ resolvedAt: now, resolvedBy: null }]);
      const deliveries = await store.control.selectFrom("deliveries").select("alertId").execute();
      expect(deliveries).toEqual([{ alertId: id }, { alertId: id }]);
    });

    describe("for each value of a tag", () => {
      const values = () =>
        store.control.selectFrom("ruleValues").select(["value", "dueAt"]).orderBy("value").execute();
      const of = (service: string) => record("Backup", { tags: { service } });

      test("a silence of one value opens its alert, which its next event ends", async () => {
        await addRule({ type: "silence", minutes: 60 }, { forEach: "tag.service" });
        // Nothing is known of any value, so nothing is missing.
        now += 5 * hour;
        await applyRules();
        await record("Backup");
        expect(await values()).toEqual([]);
        const last = await of("billing");
        now += 30 * minute;
        await of("search");
        now += 30 * minute;
        await applyRules();
        expect(await told()).toMatchObject([
          {
            type: "silence",
            newestIds: [last.id],
            rule: { name: "Rule (billing)", q: "name:Backup service=billing" },
          },
        ]);
        now += 30 * minute;
        await applyRules();
        expect(await alerts()).toMatchObject([
          { value: "billing", title: "No event for 1 hour: Rule (billing)", resolvedAt: null },
          { value: "search", resolvedAt: null },
        ]);
        await of("billing");
        expect(await alerts()).toMatchObject([{ resolvedAt: now }, { resolvedAt: null }]);
        expect(await types()).toEqual(["silence", "silence", "recovery"]);
        const [{ id } = { id: "" }] = await alerts();
        const ofDeliveries = await store.control.selectFrom("deliveries").select("alertId").execute();
        expect(ofDeliveries.map(({ alertId }) => alertId === id)).toEqual([true, false, true]);
      });

      test("a value that is gone is forgotten after some days, with its alert", async () => {
        await addRule({ type: "silence", minutes: 60 }, { forEach: "tag.service", forgetDays: 2 });
        await of("billing");
        now += 24 * hour;
        await of("search");
        now += 24 * hour;
        await applyRules();
        expect((await values()).map(({ value }) => value)).toEqual(["search"]);
        expect(await alerts()).toMatchObject([
          { value: "billing", resolvedAt: now },
          { value: "search", resolvedAt: null },
        ]);
        expect(await types()).toEqual(["silence", "silence"]);
        now += 24 * hour;
        await applyRules();
        expect(await values()).toEqual([]);
      });

      test("values that became silent while the server was down wait for what was sent meanwhile", async () => {
        await addRule({ type: "silence", minutes: 60 }, { forEach: "tag.service" });
        for (let n = 0; n < 250; n++) await of(`service-${n}`);
        now += 5 * hour;
        await applyRules("start");
        expect(await types()).toEqual([]);
        now += 4 * minute;
        await of("service-7");
        now += minute;
        await until(async () => {
          await applyRules();
          return (await types()).length === 249;
        });
      });

      test("each is counted by itself, and forgotten once nothing is left to count", async () => {
        await addRule({ type: "count", above: 1, minutes: 60 }, { forEach: "tag.service" });
        for (const service of ["a", "b", "a", "c", "a"]) await of(service);
        expect(await told()).toMatchObject([{ type: "threshold", count: 2, rule: { name: "Rule (a)" } }]);
        now += hour;
        await applyRules();
        expect(await alerts()).toMatchObject([{ value: "a", resolvedAt: start + hour }]);
        now += hour;
        await applyRules();
        expect(await values()).toEqual([]);
      });

      test("a search ends the alert of its own value only", async () => {
        await addRule(
          { type: "each" },
          { q: "name:Failed", resolve: "name:Works", forEach: "tag.service", remindMinutes: 30 },
        );
        const failed = (service: string) => record("Failed", { tags: { service } });
        await failed("a");
        await failed("b");
        await failed("a");
        await record("Works");
        await record("Works", { tags: { service: "b" } });
        expect(await alerts()).toMatchObject([
          { value: "a", matches: 2, title: "Rule (a)", resolvedAt: null },
          { value: "b", matches: 1, resolvedAt: now },
        ]);
        // Nothing has to be kept of the values.
        expect(await values()).toEqual([]);
        now += 30 * minute;
        await applyRules();
        expect((await told()).slice(-2)).toMatchObject([
          { type: "resolved", rule: { name: "Rule (b)" } },
          { type: "reminder", rule: { name: "Rule (a)" } },
        ]);
      });

      describe("grouped by another tag", () => {
        const each = { forEach: "tag.service", groupBy: "tag.host" } as const;
        const on = (host: string, service: string, name = "Backup") =>
          record(name, { tags: { service, host } });
        /** Type, number of alerts and name of what was told. */
        const tellings = async () =>
          (await told()).map((each) => {
            const { type, alerts, rule } = each as { type: string; alerts?: number; rule?: { name: string } };
            return [type, alerts ?? 1, rule?.name];
          });

        test("the first silence is told at once, others of its host together, and their end once", async () => {
          await addRule({ type: "silence", minutes: 60 }, { ...each, remindMinutes: 30 });
          for (const service of ["a", "b", "c"]) await on("db-1", service);
          await on("db-2", "d");
          now += 10_000;
          await on("db-1", "e");
          now += hour;
          await applyRules();
          expect(await tellings()).toEqual([
            ["silence", 1, "Rule (a)"],
            ["silence", 1, "Rule (d)"],
          ]);
          now += 5 * minute;
          await applyRules();
          await applyRules();
          expect((await tellings()).slice(2)).toEqual([["group", 3, "Rule (db-1)"]]);
          expect((await told()).at(-1)).toMatchObject({ values: ["b", "c", "e"] });
          now += 25 * minute;
          await applyRules();
          expect((await tellings()).slice(3)).toEqual([
            ["reminder", 4, "Rule (db-1)"],
            ["reminder", 1, "Rule (d)"],
          ]);
          for (const service of ["a", "b", "c"]) await on("db-1", service);
          expect(await tellings()).toHaveLength(5);
          await on("db-1", "e");
          expect((await tellings()).slice(5)).toEqual([["recovery", 4, "Rule (db-1)"]]);
          const ofGroup = (await alerts()).filter(({ groupValue }) => groupValue === "db-1");
          expect(ofGroup.every(({ resolvedAt }) => resolvedAt === now)).toBe(true);
          const threads = await store.control.selectFrom("deliveries").select("alertId").execute();
          expect(new Set(threads.map(({ alertId }) => alertId)).size).toBe(2);
        });

        test("what ends before it was told is told to nobody", async () => {
          await addRule({ type: "each" }, { ...each, q: "", resolve: "name:Works" });
          await on("db-1", "a", "Failed");
          await on("db-1", "b", "Failed");
          await on("db-1", "b", "Failed");
          await on("db-1", "b", "Works");
          now += 5 * minute;
          await applyRules();
          expect(await types()).toEqual(["event"]);
          await on("db-1", "a", "Works");
          expect((await tellings()).slice(1)).toEqual([["resolved", 2, "Rule (db-1)"]]);
          // A new group begins.
          await on("db-1", "b", "Failed");
          expect(await types()).toEqual(["event", "resolved", "event"]);
        });

        test("those that open soon after one that was told wait, also if that is over", async () => {
          await addRule({ type: "each" }, { ...each, q: "", resolve: "name:Works" });
          await on("db-1", "a", "Failed");
          await on("db-1", "b", "Failed");
          now += 5 * minute;
          await applyRules();
          await on("db-1", "b", "Works");
          now += minute;
          await on("db-1", "c", "Failed");
          await applyRules();
          expect(await types()).toEqual(["event", "group"]);
          now += 4 * minute;
          await applyRules();
          expect(await types()).toEqual(["event", "group", "group"]);
        });

        test("they escalate together", async () => {
          const to = { everyone: true, members: [], schedules: [], destinations: [], fallback: null };
          const escalation = [10, 25].map((minutes) => ({ minutes, to }));
          await addRule({ type: "each" }, { ...each, q: "", resolve: "name:Works", escalation });
          await on("db-1", "a", "Failed");
          now += 4 * minute;
          await on("db-1", "b", "Failed");
          for (const minutes of [1, 5, 14, 1]) {
            now += minutes * minute;
            await applyRules();
          }
          expect((await tellings()).slice(1)).toEqual([
            ["group", 1, "Rule (db-1)"],
            ["reminder", 2, "Rule (db-1)"],
            ["reminder", 2, "Rule (db-1)"],
          ]);
          expect(await alerts()).toMatchObject([
            { steps: 2, dueAt: null },
            { steps: 2, dueAt: null },
          ]);
        });
      });

      test("a long value is cut, also in the middle of a character", async () => {
        await addRule({ type: "each" }, { forEach: "tag.service", q: "", resolve: "name:Works" });
        for (let n = 0; n < 2; n++) await of(`${"a".repeat(199)}😀 and more`);
        expect(await alerts()).toMatchObject([{ value: `${"a".repeat(199)}\u{fffd}`, matches: 2 }]);
      });

      test("bursts are of one value", async () => {
        await addRule({ type: "burst", minutes: 5 }, { forEach: "tag.service" });
        for (const service of ["a", "b", "a", "a"]) await of(service);
        now += 5 * minute;
        await applyRules();
        expect(await told()).toMatchObject([
          { type: "event" },
          { type: "event" },
          { type: "summary", count: 2, rule: { name: "Rule (a)" } },
        ]);
        now += 5 * minute;
        await applyRules();
        now += 5 * minute;
        await applyRules();
        expect(await values()).toEqual([]);
      });
    });

    test("a count opens an alert, which ends in silence once the count has fallen", async () => {
      await addRule({ type: "count", above: 1, minutes: 60 });
      await record();
      await record();
      expect(await alerts()).toMatchObject([{ openedAt: start, resolvedAt: null }]);
      now += 5 * hour;
      await applyRules();
      expect(await alerts()).toMatchObject([{ resolvedAt: start + hour }]);
      expect(await types()).toEqual(["threshold"]);
    });

    test("what is open is reminded of until somebody acknowledges it, and once that is over", async () => {
      await addRule({ type: "silence", minutes: 60 }, { remindMinutes: 30 });
      await record();
      now += hour;
      await applyRules();
      for (const minutes of [29, 1, 29]) {
        now += minutes * minute;
        await applyRules();
      }
      expect(await types()).toEqual(["silence", "reminder"]);
      // Those that were missed come once.
      now += 100 * minute;
      await applyRules();
      await applyRules();
      expect(await types()).toEqual(["silence", "reminder", "reminder"]);
      expect(await told()).toMatchObject([{}, {}, { type: "reminder", sinceMs: start + hour }]);

      const { id } = (await alerts())[0]!;
      const acknowledge = (minutes: number | null) =>
        makeChange(store.control, { actor: commandActor, projectId }, (change) =>
          acknowledgeAlert(change, id, minutes),
        );
      await acknowledge(120);
      now += 119 * minute;
      await applyRules();
      expect(await types()).toHaveLength(3);
      now += minute;
      await applyRules();
      expect(await types()).toHaveLength(4);
      await acknowledge(null);
      now += 30 * 24 * hour;
      await applyRules();
      expect(await types()).toHaveLength(4);
      await record();
      now += 50 * minute;
      await applyRules();
      expect((await types()).slice(4)).toEqual(["recovery"]);
    });

    test("an alert that nobody acknowledges escalates, and tells all whom it reached of its end", async () => {
      const control = store.control;
      const { id: ann } = await control.selectFrom("accounts").select("id").executeTakeFirstOrThrow();
      const account = { email: "bob@example.com", password: "" };
      const bob = await control
        .transaction()
        .execute((transaction) =>
          createAccount(transaction, account, "unused", { id: projectId, role: "member" }, commandActor),
        );
      const only = (id: string) => ({
        everyone: false,
        members: [id],
        schedules: [],
        destinations: [],
        fallback: null,
      });
      await addRule(
        { type: "silence", minutes: 60 },
        { to: only(ann), escalation: [{ minutes: 10, to: only(bob.id) }] },
      );
      await record();
      now += hour;
      await applyRules();
      const reached = async () => {
        const rows = await control
          .selectFrom("deliveries")
          .select(["accountId", "kind"])
          .orderBy("id")
          .execute();
        return rows.flatMap(({ accountId, kind }) =>
          kind === "dashboard" ? [accountId === ann ? "ann" : "bob"] : [],
        );
      };
      expect(await reached()).toEqual(["ann"]);
      now += 9 * minute;
      await applyRules();
      expect(await reached()).toEqual(["ann"]);
      now += minute;
      await applyRules();
      await applyRules();
      expect(await reached()).toEqual(["ann", "bob"]);
      await record();
      expect((await reached()).toSorted()).toEqual(["ann", "ann", "bob", "bob"]);
      const changes = await control.selectFrom("alertChanges").select("change").orderBy("id").execute();
      expect(changes.map(({ change }) => change)).toEqual(["opened", "escalated", "resolved"]);
    });

    test("an alert reminds, and escalates to, whoever is on call by then", async () => {
      const { control } = store;
      const { id: ann } = await control.selectFrom("accounts").select("id").executeTakeFirstOrThrow();
      const account = { email: "bob@example.com", password: "" };
      const bob = await control
        .transaction()
        .execute((transaction) =>
          createAccount(transaction, account, "unused", { id: projectId, role: "member" }, commandActor),
        );
      const by = { actor: commandActor, projectId };
      // Ann hands over to Bob 90 minutes from now, in UTC.
      const at = new Date(now + 1.5 * hour).toISOString().slice(11, 16);
      const yesterday = new Date(now + 1.5 * hour - 24 * hour).toISOString().slice(0, 10);
      const turn = { every: 1, unit: "day" as const, startsOn: yesterday, at, hours: null };
      const rotation = { ...turn, members: [ann, bob.id] };
      const schedule = { name: "All", timeZone: "UTC", rotations: [rotation], notify: false };
      const { id } = await makeChange(control, by, (change) => createSchedule(change, schedule, now));
      const to = { everyone: false, members: [], schedules: [id], destinations: [], fallback: null };
      const escalation = [{ minutes: 120, to }];
      await addRule({ type: "silence", minutes: 60 }, { to, remindMinutes: 60, escalation });
      await record();
      const told: string[] = [];
      for (let minutes = 60; minutes <= 240; minutes += 60) {
        now += hour;
        await applyRules();
        const rows = await control
          .selectFrom("deliveries")
          .select(["accountId", "via"])
          .where("kind", "=", "dashboard")
          .orderBy("id")
          .execute();
        for (const { via } of rows) expect(via).toBe('On call in "All".');
        told.push(rows.map(({ accountId }) => (accountId === ann ? "ann" : "bob")).join(" "));
      }
      // The silence after an hour, then reminders, and the escalation after two more.
      expect(told[0]).toBe("ann");
      expect(told[1]).toBe("ann bob");
      expect(told.at(-1)).toMatch(/^ann bob( bob)+$/);
    });

    test("an event that several rules match is told as the urgent one says", async () => {
      const [first, urgent] = [
        await addRule({ type: "each" }),
        await addRule({ type: "each" }, { name: "Urgent", urgent: true }),
      ];
      await addRule({ type: "each" }, { name: "Third" });
      await record();
      const ruleIds = await store.control.selectFrom("deliveries").select("ruleId").execute();
      expect(ruleIds).toEqual([{ ruleId: urgent }]);
      expect(first).not.toBe(urgent);
    });

    test("a late event is a sign of life only if it happened within the window", async () => {
      await addRule({ type: "silence", minutes: 60 });
      await record();
      now += 50 * minute;
      await record("Backup", { createdAtMs: now - 5 * hour });
      now += 11 * minute;
      await applyRules();
      expect(await types()).toEqual(["silence"]);
      await record("Backup", { createdAtMs: now - 30 * minute });
      expect(await types()).toEqual(["silence", "recovery"]);
    });

    test("a burst is its first event and one summary, also across a restart in the middle", async () => {
      await addRule({ type: "burst", minutes: 5 });
      const first = await record();
      for (let n = 0; n < 4; n++) {
        now += minute;
        await record();
      }
      expect(await told()).toMatchObject([{ type: "event", eventId: first.id }]);
      // As after a stop that outlasts the window.
      now += hour;
      await applyRules();
      expect(await told()).toMatchObject([
        { type: "event", eventId: first.id },
        { type: "summary", eventId: first.id, count: 4, fromMs: start },
      ]);
    });

    test("a daily digest comes at its hour by the clock, across the change to summer time", async () => {
      await addRule({ type: "digest", every: "day", at: "08:00", timeZone: "Europe/Berlin" });
      // 28 March, in winter time; 29 March is the day of the change.
      await record();
      now = Date.parse("2026-03-29T05:59:00Z");
      await applyRules();
      expect(await types()).toEqual([]);
      now = Date.parse("2026-03-29T06:00:00Z");
      await applyRules();
      await record();
      await record();
      now = Date.parse("2026-03-30T06:00:00Z");
      await applyRules();
      expect(await told()).toMatchObject([
        { type: "digest", count: 1 },
        { type: "digest", count: 2 },
      ]);
    });

    test("a threshold is told once, and again after it has fallen", async () => {
      await addRule({ type: "count", above: 2, minutes: 10 });
      for (let n = 0; n < 5; n++) await record();
      expect(await types()).toEqual(["threshold"]);
      now += 30 * minute;
      for (let n = 0; n < 3; n++) await record();
      expect(await types()).toEqual(["threshold", "threshold"]);
    });

    test("a number in a tag is compared", async () => {
      await addRule({ type: "number", tag: "amount", above: 100 });
      for (const amount of ["99", "100", "100.5", "1e3", "many"])
        await record("Backup", { tags: { amount } });
      expect(await types()).toEqual(["event", "event"]);
    });

    const kinds: RuleWhen[] = [
      { type: "each" },
      { type: "burst", minutes: 7 },
      { type: "digest", every: "hour", timeZone: "Asia/Kathmandu" },
      { type: "silence", minutes: 25 },
      { type: "count", above: 3, minutes: 15 },
      { type: "number", tag: "amount", above: 40 },
    ];
    const each = [null, "tag.service"].flatMap((forEach) => kinds.map((when) => ({ when, forEach })));
    for (const { when, forEach } of each.filter(({ when, forEach }) => !forEach || when.type !== "digest")) {
      test(`the preview of a rule is what it tells: ${when.type}${forEach ? " for each value" : ""}`, async () => {
        await addRule(when, { forEach });
        const fromMs = now;
        let seed = 7;
        for (let n = 0; n < 30; n++) {
          seed = (seed * 16_807) % 2_147_483_647;
          now += (seed % 12) * minute + (seed % 1_000);
          await record(n % 5 === 0 ? "Other" : "Backup", {
            tags: { amount: `${seed % 80}`, service: `${seed % 3}` },
          });
          if (n % 4 === 0) {
            now += (seed % 30) * minute;
            await applyRules();
          }
        }
        now += hour;
        await applyRules();
        // A week after it began, the preview looks back to its beginning.
        const { count, notifications } = await previewStored(
          store,
          { projectId, q: "name:Backup", when, forEach, timeZone: "UTC" },
          fromMs + 7 * 24 * hour,
          new AbortController().signal,
        );
        now = fromMs + 7 * 24 * hour;
        await applyRules();
        const live = await told();
        expect(count).toBe(live.length);
        if (forEach === null) expect(count).toBeGreaterThan(0);
        // Messages of several values come as they are found; the preview lists them as they are due.
        const inOrder = (types: string[]) => (forEach === null ? types : types.toSorted());
        expect(inOrder(notifications.map(({ type }) => type).reverse())).toEqual(
          inOrder(live.map(({ type }) => type)),
        );
      });
    }
  });
}
