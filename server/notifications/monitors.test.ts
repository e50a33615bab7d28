// @engines sqlite, postgres
// @long postgres
/** Rules about metrics over stored events, under a clock that the test holds. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import { problem } from "../core/problems.ts";
import { ArrivalClock } from "../event/id.ts";
import { changeRule, createRule, findRule, ruleOf } from "../rules/rules.ts";
import { previewStored } from "../rules/stored-preview.ts";
import type { NewRule, Rule, RuleWhen } from "../schemas/rule.ts";
import type { Store } from "../storage/store.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import { stores } from "../testing/engine.ts";
import { createFirstAccount } from "../testing/first-account.ts";
import { MonitorWorker } from "./monitor-worker.ts";
import { RecentEvents } from "./recent-events.ts";

const minute = 60_000;
const hour = 60 * minute;
const start = Date.parse("2026-03-28T12:00:00Z");
const everyone = { everyone: true, members: [], schedules: [], destinations: [], fallback: null };

type Metric = Extract<RuleWhen, { type: "metric" }>;
const events: Metric = {
  type: "metric",
  measure: { metric: "events" },
  minutes: 10,
  against: null,
  clear: null,
  pendingMinutes: 0,
  noData: "ok",
};

for (const engine of stores) {
  describe(`rules about metrics on ${engine.name}`, () => {
    let storage: Awaited<ReturnType<typeof engine.create>>;
    let store: Store;
    let projectId: number;
    let now: number;
    let clock: ArrivalClock;
    let worker: MonitorWorker;
    const workers: MonitorWorker[] = [];
    const realNow = Date.now;

    beforeEach(async () => {
      now = start;
      Date.now = () => now;
      clock = new ArrivalClock(null, { now: () => now });
      storage = await engine.create();
      store = await storage.open();
      ({ projectId } = await createFirstAccount(store.control));
      worker = workerOf(store);
    });
    afterEach(async () => {
      Date.now = realNow;
      for (const each of workers.splice(0)) await each.close();
      await store.close();
      await storage.remove();
    });

    /** It is closed after the test. */
    function workerOf(of: Pick<Store, "control" | "together" | "rowsOf" | "events">): MonitorWorker {
      const opened = new MonitorWorker({
        store: of,
        recentEvents: new RecentEvents(store.events),
        onMade() {},
        onError(error) {
          throw error;
        },
        now: () => now,
      });
      workers.push(opened);
      return opened;
    }

    async function addRule(when: Metric, fields: Partial<NewRule> = {}): Promise<string> {
      const alerts = { urgent: false, resolve: null, remindMinutes: null, escalation: [] };
      const each = { forEach: null, forgetDays: 30, groupBy: null };
      const rule: NewRule = {
        name: "Rule",
        q: "name:Order",
        when,
        to: everyone,
        ...alerts,
        ...each,
        enabled: true,
        ...fields,
      };
      const by = { actor: commandActor, projectId };
      return (await makeChange(store.control, by, (change) => createRule(change, rule))).id;
    }

    async function record(
      fields: { name?: string; user?: string; tags?: Record<string, string>; atMs?: number } = {},
    ) {
      const { name = "Order", user = "", tags = {}, atMs } = fields;
      const event = { name, userId: user, tags };
      await store.events.append(
        acceptedEvent({ projectId, arrival: clock.next(), event, createdAtMs: atMs }),
      );
    }

    async function check(by = worker): Promise<void> {
      by.wake();
      await by.idle();
    }

    /** Lets minutes pass. In each, the rules are read. */
    async function pass(
      minutes: number,
      each: (minute: number) => Promise<void> = async () => {},
    ): Promise<void> {
      for (let n = 0; n < minutes; n++) {
        await each(n);
        now += minute;
        await check();
      }
    }

    async function told(): Promise<{ type: string; atMs: number; value: number | null }[]> {
      const rows = await store.control.selectFrom("deliveries").selectAll().orderBy("id").execute();
      return rows.map(({ notification }) => JSON.parse(notification!));
    }
    const types = async () => (await told()).map(({ type }) => type);
    const alerts = () => store.control.selectFrom("alerts").selectAll().orderBy("id").execute();
    const rule = async (id: string): Promise<Rule> => ruleOf(await findRule(store.control, projectId, id));

    test("an alert is opened above the threshold, and ends with a message", async () => {
      const id = await addRule({ ...events, above: 2, clear: 0 });
      await pass(2, () => record());
      expect(await rule(id)).toMatchObject({ dueAt: null, reading: { state: "ok", failure: null } });
      await pass(4, () => record());
      expect(await told()).toMatchObject([{ type: "metric", value: 3, when: { above: 2 } }]);
      expect(await alerts()).toMatchObject([
        { title: "Number of events is 3, above 2: Rule", ruleId: id, resolvedAt: null },
      ]);
      expect((await rule(id)).reading).toMatchObject({ state: "firing", since: expect.any(String) });
      await pass(15);
      expect(await told()).toMatchObject([{ type: "metric" }, { type: "metric-recovery", value: 0 }]);
      const [alert] = await alerts();
      expect(alert).toMatchObject({ resolvedAt: (await told())[1]!.atMs, resolvedBy: null });
      const deliveries = await store.control.selectFrom("deliveries").select("alertId").execute();
      expect(deliveries).toEqual([{ alertId: alert!.id }, { alertId: alert!.id }]);
    });

    test("late events count in the time in which they happened", async () => {
      await addRule({ ...events, above: 2 });
      await pass(2);
      for (let n = 0; n < 3; n++) await record({ atMs: now - 3 * minute });
      await pass(1);
      expect(await types()).toEqual(["metric"]);
      for (let n = 0; n < 9; n++) await record({ atMs: now - 30 * minute });
      await pass(12);
      expect(await types()).toEqual(["metric", "metric-recovery"]);
    });

    test("a rule that is due is read once, by whichever node", async () => {
      const other = await storage.open();
      const second = workerOf(other);
      try {
        for (let n = 0; n < 10; n++) await addRule({ ...events, above: 0 }, { name: `Rule ${n}` });
        await record();
        for (let n = 0; n < 3; n++) {
          now += minute;
          await Promise.all([check(), check(second)]);
        }
        expect(await types()).toEqual(Array(10).fill("metric"));
        expect(await alerts()).toHaveLength(10);
      } finally {
        await second.close();
        await other.close();
      }
    });

    test("a reading of a process that died is made by another after its time", async () => {
      await addRule({ ...events, above: 0 });
      await record();
      const hanging = workerOf({
        ...store,
        events: {
          ...store.events,
          count: (_: unknown, signal: AbortSignal) =>
            new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
        } as never,
      });
      now += minute;
      hanging.wake();
      await Bun.sleep(100);
      await check();
      expect(await types()).toEqual([]);
      now += 2 * minute;
      await check();
      expect(await types()).toEqual(["metric"]);
    });

    test("what was read for a rule that has changed meanwhile is not applied", async () => {
      const id = await addRule({ ...events, above: 0 });
      await record();
      const slow = workerOf({
        ...store,
        events: new Proxy(store.events, {
          get(target, name: keyof Store["events"]) {
            if (name !== "count") return target[name];
            return async (...args: Parameters<Store["events"]["count"]>) => {
              const counted = await target.count(...args);
              const by = { actor: commandActor, projectId };
              await makeChange(store.control, by, (change) =>
                changeRule(change, id, { q: "name:Refund" }, null),
              );
              return counted;
            };
          },
        }),
      });
      now += minute;
      await check(slow);
      await slow.close();
      expect(await types()).toEqual([]);
      expect((await rule(id)).reading).toMatchObject({ at: null, state: "ok" });
    });

    test("pending, over a restart in each state", async () => {
      const id = await addRule({ ...events, above: 0, pendingMinutes: 3 });
      const restart = async () => {
        await worker.close();
        worker = workerOf(store);
        worker.start();
        await worker.idle();
      };
      await pass(1, () => record());
      await pass(1);
      await restart();
      expect((await rule(id)).reading).toMatchObject({ state: "pending" });
      await pass(2);
      expect(await types()).toEqual([]);
      await pass(1);
      expect(await types()).toEqual(["metric"]);
      await restart();
      await pass(2);
      expect((await rule(id)).reading).toMatchObject({ state: "firing" });
      await pass(10);
      expect(await types()).toEqual(["metric", "metric-recovery"]);
      expect((await rule(id)).reading).toMatchObject({ state: "ok", since: null });
    });

    test("after downtime, a fall waits for what clients send again", async () => {
      await addRule({ ...events, below: 1 });
      await record({ atMs: now - minute });
      await pass(3);
      now += hour;
      await worker.close();
      worker = workerOf(store);
      worker.start();
      await worker.idle();
      expect(await types()).toEqual([]);
      await record({ atMs: now - minute });
      await pass(6);
      expect(await types()).toEqual([]);
      await pass(5);
      expect(await types()).toEqual(["metric"]);
    });

    test("a week ago is the same hour, also if clocks have changed", async () => {
      await store.control.updateTable("projects").set({ timeZone: "Europe/Berlin" }).execute();
      // The clock goes forward on March 29: a week before 12:00 UTC, it is 13:00 UTC.
      now = Date.parse("2026-04-04T12:00:00Z");
      const before = Date.parse("2026-03-28T13:00:00Z");
      for (let n = 0; n < 4; n++) await record({ atMs: before - 5 * minute });
      for (let n = 0; n < 4; n++) await record({ atMs: before - hour - 5 * minute - n });
      await addRule({ ...events, minutes: 60, against: "week", below: -40 });
      for (let n = 0; n < 2; n++) await record({ atMs: now - 3 * minute });
      await pass(1);
      expect(await told()).toMatchObject([{ type: "metric", value: -50 }]);
    });

    const measures: [string, Metric, number][] = [
      ["users", { ...events, measure: { metric: "users" }, above: 0 }, 2],
      ["a sum", { ...events, measure: { metric: "sum", tag: "ms" }, above: 0 }, 60],
      ["an average", { ...events, measure: { metric: "average", tag: "ms" }, above: 0 }, 20],
      ["a minimum", { ...events, measure: { metric: "minimum", tag: "ms" }, above: 0 }, 10],
      ["a maximum", { ...events, measure: { metric: "maximum", tag: "ms" }, above: 0 }, 30],
      ["a ratio", { ...events, measure: { metric: "ratio", of: "" }, above: 0 }, 60],
      ["a change", { ...events, against: "before", above: 0 }, 200],
      [
        "a conversion",
        {
          ...events,
          measure: { metric: "conversion", steps: ["", "ms>10"], windowSeconds: 600 },
          above: 0,
        },
        50,
      ],
    ];
    for (const [name, when, value] of measures) {
      test(`${name} is what the API computes, and so is its preview`, async () => {
        await record({ atMs: now - 15 * minute });
        await addRule(when);
        for (const [user, ms] of [
          ["a", "10"],
          ["a", "20"],
          ["b", "30"],
        ])
          await record({ user: user!, tags: { ms: ms! }, atMs: now++ - 3 * minute });
        await record({ name: "Other", atMs: now - 3 * minute });
        await record({ name: "Other", atMs: now - 3 * minute });
        await pass(1);
        expect(await told()).toMatchObject([{ type: "metric", value }]);
        const asked = { projectId, q: "name:Order", when, forEach: null, days: 1, timeZone: "UTC" };
        const preview = await previewStored(store, asked, now, new AbortController().signal);
        expect(preview.metric!.lines[0]!.amounts.at(-1)).toBe(value);
      });
    }

    test("the preview equals what then happened", async () => {
      const when: Metric = { ...events, above: 4, clear: 2, pendingMinutes: 3 };
      const fromMs = now;
      await addRule(when);
      let seed = 7;
      await pass(240, async (n) => {
        seed = (seed * 16_807) % 2_147_483_647;
        const busy = Math.sin(n / 12) > 0;
        for (let each = 0; each < (busy ? seed % 3 : seed % 4 === 0 ? 1 : 0); each++) await record();
      });
      const asked = { projectId, q: "name:Order", when, forEach: null, days: 1, timeZone: "UTC" };
      const { metric, notifications } = await previewStored(store, asked, now, new AbortController().signal);
      const live = await told();
      expect(live.length).toBeGreaterThan(3);
      expect(
        notifications.toReversed().map(({ type, at, value }) => ({ type, atMs: Date.parse(at), value })),
      ).toEqual(live.map(({ type, atMs, value }) => ({ type, atMs, value })) as never);
      expect(metric!.lines[0]!.firing.length).toBe(live.filter(({ type }) => type === "metric").length);
      expect(Date.parse(metric!.lines[0]!.firing[0]!.from)).toBeGreaterThan(fromMs);
    });

    describe("for each value", () => {
      const values = async () =>
        (await store.control.selectFrom("ruleValues").select("value").orderBy("value").execute()).map(
          ({ value }) => value,
        );
      const open = async () =>
        (await alerts())
          .filter(({ resolvedAt }) => resolvedAt === null)
          .map(({ value, title }) => ({ value, title }));

      test("each has its own alert, and joins with its first events", async () => {
        const id = await addRule({ ...events, above: 1 }, { forEach: "tag.shop" });
        await record({ tags: { shop: "b" } });
        await record({ tags: { shop: "a" } });
        await record({ tags: { shop: "a" } });
        await record();
        await pass(2);
        expect(await values()).toEqual(["a", "b"]);
        expect(await open()).toEqual([{ value: "a", title: "Number of events is 2, above 1: Rule (a)" }]);
        expect((await rule(id)).reading).toMatchObject({ state: "firing" });
        await record({ tags: { shop: "b" } });
        await pass(2);
        expect((await open()).map(({ value }) => value)).toEqual(["a", "b"]);
        await pass(12);
        expect(await types()).toEqual(["metric", "metric", "metric-recovery", "metric-recovery"]);
        expect(await open()).toEqual([]);
        // Nothing is left to follow.
        expect(await values()).toEqual([]);
        expect((await rule(id)).reading).toMatchObject({ state: "ok" });
      });

      test("one that falls silent is below, until it is forgotten", async () => {
        await addRule({ ...events, below: 1, pendingMinutes: 2 }, { forEach: "channel", forgetDays: 1 });
        await record();
        await pass(8);
        expect(await types()).toEqual([]);
        await pass(8);
        expect(await types()).toEqual(["metric"]);
        expect(await values()).toEqual(["c"]);
        now += 24 * hour;
        await check();
        expect(await types()).toEqual(["metric"]);
        expect(await open()).toEqual([]);
        expect(await values()).toEqual([]);
      });

      for (const measure of [
        { metric: "average", tag: "ms" },
        { metric: "ratio", of: "" },
      ] as const)
        test(`a ${measure.metric} against the time before`, async () => {
          const when: Metric = { ...events, measure, against: "before", change: 40 };
          for (const [shop, ms, age, name] of [
            ["a", "10", 15, "Order"],
            ["a", "20", 5, "Order"],
            ["a", "20", 5, "Other"],
            ["b", "10", 15, "Order"],
            ["b", "12", 5, "Order"],
            ["a", "10", 15, "Order"],
          ] as const)
            await record({ name, tags: { shop, ms }, atMs: now - age * minute });
          await addRule(when, { forEach: "tag.shop" });
          await pass(1);
          expect((await told()).map(({ value }) => value)).toEqual([
            measure.metric === "average" ? 100 : -50,
          ]);
          expect((await open()).map(({ value }) => value)).toEqual(["a"]);
          const asked = { projectId, q: "name:Order", when, forEach: "tag.shop", days: 1, timeZone: "UTC" };
          const { metric } = await previewStored(store, asked, now, new AbortController().signal);
          const lines = metric!.lines.map(({ value, amounts }) => [value, amounts.at(-1)]);
          expect(new Map(lines as [string, number][]).get("a")).toBe(
            measure.metric === "average" ? 100 : -50,
          );
        });
    });

    test("an event that resolves ends the alert, and then the value alone does not", async () => {
      await addRule({ ...events, above: 0 }, { resolve: "name:Fixed" });
      await record();
      await pass(15);
      expect(await types()).toEqual(["metric"]);
      expect(await alerts()).toMatchObject([{ resolvedAt: null }]);
    });

    test("a reading that fails is tried again, and the owners are told once it failed for long", async () => {
      const id = await addRule({ ...events, above: 0 });
      await worker.close();
      worker = workerOf({
        ...store,
        events: {
          ...store.events,
          count: async () => {
            throw problem("query-too-expensive", { detail: "Too many events." });
          },
        } as never,
      });
      await pass(5);
      expect((await rule(id)).reading).toMatchObject({ failure: "Too many events.", at: null });
      expect(await types()).toEqual([]);
      await pass(40);
      expect(await types()).toEqual(["rule-failing"]);
      worker = workerOf(store);
      await record();
      await pass(2);
      expect(await types()).toEqual(["rule-failing", "metric"]);
      expect((await rule(id)).reading).toMatchObject({ failure: null, state: "firing" });
    });

    test("a rule that is off, and one of a project that is deleted, is not read", async () => {
      await addRule({ ...events, above: 0 }, { enabled: false, name: "Off" });
      await addRule({ ...events, above: 0 }, { name: "Of a deleted project" });
      await store.control.updateTable("projects").set({ deletedAt: now }).execute();
      await record();
      await pass(2);
      expect(await types()).toEqual([]);
    });

    test("one project's many slow rules don't hold up another's", async () => {
      const { id: other } = await store.control
        .insertInto("projects")
        .values({ slug: "other", name: "Other", createdAt: now })
        .returning("id")
        .executeTakeFirstOrThrow();
      for (let n = 0; n < 12; n++) await addRule({ ...events, above: 0 }, { name: `Slow ${n}` });
      const slowProject = projectId;
      projectId = other;
      const quick = await addRule({ ...events, above: 0 }, { name: "Quick" });
      const order: number[] = [];
      await worker.close();
      worker = workerOf({
        ...store,
        events: {
          ...store.events,
          count: async (query: { projectId: number }) => {
            if (query.projectId === slowProject) await Bun.sleep(20);
            order.push(query.projectId);
            return { all: [1], series: [] };
          },
        } as never,
      });
      now += minute;
      await check();
      expect(order).toHaveLength(13);
      expect(order.indexOf(other)).toBeLessThan(3);
      expect(await rule(quick)).toMatchObject({ reading: { state: "firing" } });
      projectId = slowProject;
    });
  });
}
