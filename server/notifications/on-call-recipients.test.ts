// @engines sqlite, postgres
/** However many rules name schedules, a step of the fan-out reads the schedules once. */
import { expect, test } from "bun:test";
import type { KyselyPlugin } from "kysely";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import { createAccount } from "../auth/create-account.ts";
import { limits } from "../core/limits.ts";
import { createSchedule } from "../on-call/schedules.ts";
import { createRule } from "../rules/rules.ts";
import type { Rule } from "../schemas/rule.ts";
import { stores } from "../testing/engine.ts";
import { deliveriesOf } from "./make-deliveries.ts";

const nowMs = Date.parse("2026-03-02T12:00:00Z");

for (const engine of stores) {
  test(`${limits.rules} rules with ${limits.onCallSchedules} schedules read each table once on ${engine.name}`, async () => {
    const storage = await engine.create();
    const store = await storage.open();
    const { control } = store;
    const account = await control
      .transaction()
      .execute((transaction) =>
        createAccount(transaction, { email: "o@example.com", password: "" }, "unused", null, commandActor),
      );
    const projectId = account.firstProject!.id;
    const by = { actor: commandActor, projectId };
    const turn = { every: 1, unit: "day" as const, at: "09:00", startsOn: "2026-03-01", hours: null };
    const schedules: string[] = [];
    for (let index = 0; index < limits.onCallSchedules; index++) {
      // Nobody is on call in every other one.
      const startsOn = index % 2 === 0 ? turn.startsOn : "2026-04-01";
      const rotations = [{ ...turn, startsOn, members: [account.id] }];
      const schedule = { name: `Schedule ${index}`, timeZone: "Europe/Berlin", rotations, notify: false };
      const { id } = await makeChange(control, by, (change) => createSchedule(change, schedule, nowMs));
      schedules.push(id);
    }
    const rules: Rule[] = [];
    for (let index = 0; index < limits.rules - 1; index++) {
      const to = { everyone: false, members: [], schedules, destinations: [], fallback: null };
      const rest = { urgent: false, resolve: null, remindMinutes: null, escalation: [], enabled: true };
      const each = { forEach: null, forgetDays: null, groupBy: null };
      const rule = { name: `Rule ${index}`, q: "", when: { type: "each" as const }, to, ...each, ...rest };
      rules.push(await makeChange(control, by, (change) => createRule(change, rule)));
    }
    const read: string[] = [];
    const counter: KyselyPlugin = {
      transformQuery({ node }) {
        read.push(JSON.stringify(node).match(/"kind":"FromNode".*?"name":"(\w+)"/)![1]!);
        return node;
      },
      transformResult: async ({ result }) => result,
    };
    const notification = { type: "rule-test" as const, atMs: nowMs, by: "Ada" };
    const none = { value: null, groupValue: "", alertId: null, silence: null };
    const matches = rules.map((rule) => ({ projectId, rule, notification, foundMs: nowMs, ...none }));
    const deliveries = await control
      .transaction()
      .execute((transaction) => deliveriesOf(transaction.withPlugin(counter), matches, nowMs));
    await store.close();
    await storage.remove();
    expect(deliveries).toHaveLength(rules.length);
    expect(read.filter((table) => table.startsWith("on_call")).toSorted()).toEqual([
      "on_call_overrides",
      "on_call_schedules",
    ]);
    expect(read.filter((table) => table === "members").length).toBeLessThanOrEqual(2);
  });
}
