// @engines sqlite, postgres
// @long postgres
/** Members are told once when they come on call, over several nodes, restarts and changes of the schedule. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import { createAccount } from "../auth/create-account.ts";
import { createOverride } from "../on-call/overrides.ts";
import { changeSchedule, createSchedule } from "../on-call/schedules.ts";
import type { NewOnCallSchedule } from "../schemas/on-call.ts";
import type { Store } from "../storage/store.ts";
import { stores } from "../testing/engine.ts";
import { HandOverWorker } from "./hand-over-worker.ts";
import { readNotification } from "./notification-message.ts";

const dayMs = 24 * 60 * 60 * 1_000;
const minuteMs = 60_000;

for (const engine of stores) {
  describe(`hand-overs on ${engine.name}`, () => {
    let storage: Awaited<ReturnType<typeof engine.create>>;
    let store: Store;
    let projectId: number;
    let nodes: HandOverWorker[];
    let now: number;
    let errors: unknown[];
    const accounts: Record<string, string> = {};

    beforeEach(async () => {
      errors = [];
      now = Date.parse("2026-03-23T12:00:00Z");
      storage = await engine.create();
      store = await storage.open();
      await store.control.transaction().execute(async (transaction) => {
        const create = (email: string, member: { id: number; role: "member" } | null) =>
          createAccount(transaction, { email, password: "" }, "unused", member, commandActor);
        const owner = await create("owner@example.com", null);
        projectId = owner.firstProject!.id;
        for (const name of ["ada", "bob"])
          accounts[name] = (await create(`${name}@example.com`, { id: projectId, role: "member" })).id;
      });
      nodes = [1, 2, 3].map(newNode);
    });
    afterEach(async () => {
      for (const node of nodes) await node.close();
      await store.close();
      await storage.remove();
      expect(errors).toEqual([]);
    });

    function newNode(): HandOverWorker {
      return new HandOverWorker({
        store,
        onMade() {},
        onError: (error) => void errors.push(error),
        now: () => now,
      });
    }

    const change = <Result>(make: Parameters<typeof makeChange<Result>>[2]) =>
      makeChange(store.control, { actor: commandActor, projectId }, make);

    async function create(fields: Partial<NewOnCallSchedule> = {}): Promise<string> {
      const rotation = {
        members: [accounts.ada!, accounts.bob!],
        every: 1,
        unit: "week" as const,
        at: "09:00",
        startsOn: "2026-03-23",
        hours: null,
      };
      const schedule = { name: "Backend", timeZone: "Europe/Berlin", rotations: [rotation], notify: true };
      return (await change((each) => createSchedule(each, { ...schedule, ...fields }, now))).id;
    }

    /** Lets all nodes look at the same time. Returns who was told since the last time, and how. */
    let seen = 0;
    beforeEach(() => {
      seen = 0;
    });
    async function told(): Promise<[account: string, detail: string][]> {
      for (const node of nodes) node.wake();
      for (const node of nodes) await node.idle();
      const rows = await store.control
        .selectFrom("deliveries")
        .select(["id", "accountId", "notification"])
        .where("kind", "=", "dashboard")
        .where("id", ">", seen)
        .orderBy("id")
        .execute();
      seen = rows.at(-1)?.id ?? seen;
      const nameOf = (id: string | null) => Object.keys(accounts).find((name) => accounts[name] === id)!;
      return rows.map(({ accountId, notification }) => {
        const notice = readNotification(notification);
        if (notice.type !== "on-call") throw new Error(`An unexpected ${notice.type}`);
        expect(notice.title).toBe("You are on call: Backend");
        return [nameOf(accountId), notice.detail];
      });
    }

    test("tell each member once, at the hand-over", async () => {
      await create();
      expect(await told()).toEqual([["ada", "Until Mar 30, 2026, 09:00 (Europe/Berlin). bob is next."]]);
      now = Date.parse("2026-03-30T06:59:59Z");
      expect(await told()).toEqual([]);
      now = Date.parse("2026-03-30T07:00:00Z");
      expect(await told()).toEqual([
        ["bob", "Until Apr 6, 2026, 09:00 (Europe/Berlin). ada is next. Before you, it was ada."],
      ]);
      expect(await told()).toEqual([]);
      nodes.push(newNode());
      expect(await told()).toEqual([]);
    });

    test("that were due while the server was down tell whoever is on call now", async () => {
      await create();
      await told();
      now += 21 * dayMs;
      expect((await told()).map(([account]) => account)).toEqual(["bob"]);
      now += 14 * dayMs;
      expect(await told()).toEqual([]);
    });

    test("by an override or a change of the schedule tell, too", async () => {
      const id = await create();
      await told();
      const from = new Date(now).toISOString();
      const to = new Date(now + 10 * minuteMs).toISOString();
      const override = { member: accounts.bob!, from, to };
      const author = { accountId: null, mayManage: true };
      await change((each) => createOverride(each, id, override, author, now));
      expect((await told()).map(([account]) => account)).toEqual(["bob"]);
      now += 10 * minuteMs;
      expect((await told()).map(([account]) => account)).toEqual(["ada"]);
      await change((each) => changeSchedule(each, id, { timeZone: "Asia/Tokyo" }, null, now));
      expect(await told()).toEqual([]);
    });

    test("don't tell somebody who has just taken the shift", async () => {
      const id = await create();
      await told();
      const override = { from: new Date(now).toISOString(), to: new Date(now + minuteMs).toISOString() };
      const author = { accountId: accounts.bob!, mayManage: false };
      await change((each) => createOverride(each, id, override, author, now));
      expect(await told()).toEqual([]);
    });

    test("of a schedule that doesn't notify tell nobody, and are never due", async () => {
      await create({ notify: false });
      now += 30 * dayMs;
      expect(await told()).toEqual([]);
      const row = await store.control.selectFrom("onCallSchedules").selectAll().executeTakeFirstOrThrow();
      expect(row.dueAt).toBeNull();
    });
  });
}
