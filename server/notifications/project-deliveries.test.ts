// @engines sqlite, postgres
// @long postgres
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Insertable } from "kysely";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import type { Event } from "../event/event.ts";
import { createRule } from "../rules/rules.ts";
import type { NewRule, Rule } from "../schemas/rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Store } from "../storage/store.ts";
import { type DestinationReceiver, destinationReceiver } from "../testing/destination-receiver.ts";
import { effort, patienceMs, stores, testSecrets } from "../testing/engine.ts";
import { createFirstAccount } from "../testing/first-account.ts";
import { smtpInbox } from "../testing/smtp-inbox.ts";
import { testConfig } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import { takeQueues } from "./delivery-holds.ts";
import { listQueues } from "./delivery-queues.ts";
import { DeliveryWorker } from "./delivery-worker.ts";
import { type DestinationKinds, destinationKinds } from "./kinds/index.ts";
import { messageIdOf } from "./message-id.ts";
import { openKinds } from "./open-kinds.ts";
import {
  addProjectDestination,
  changeProjectDestination,
  deleteProjectDestination,
  findProjectDestination,
} from "./project-destinations.ts";
import { RecentEvents } from "./recent-events.ts";

const day = 24 * 60 * 60 * 1_000;
const baseUrl = "https://tidings.example.com";

for (const engine of stores) {
  describe(`sending to projects' destinations on ${engine.name}`, () => {
    let storage: Awaited<ReturnType<typeof engine.create>>;
    let store: Store;
    let receiver: DestinationReceiver;
    let recentEvents: RecentEvents;
    let workers: DeliveryWorker[];
    let accountId: string;
    let projectId: number;
    let now: number;
    let ruleId: string | null;
    let made: number;

    beforeEach(async () => {
      // Near the real time, because webhooks must be at most five minutes old.
      [now, made, workers, ruleId] = [Date.now(), 0, [], null];
      storage = await engine.create();
      store = await storage.open();
      recentEvents = new RecentEvents(store.events);
      receiver = await destinationReceiver();
      ({ accountId, projectId } = await createFirstAccount(store.control));
    });
    afterEach(async () => {
      for (const worker of workers) await worker.close();
      await receiver[Symbol.asyncDispose]();
      await store.close();
      await storage.remove();
    });

    const editor = () => ({
      control: store.control,
      secrets: testSecrets,
      policy: { allowPrivate: true },
      projectId,
      actor: commandActor,
      isManager: false,
    });

    async function add(kind: string, settings: Record<string, unknown>): Promise<string> {
      const name = `Destination ${made++}`;
      const { destination } = await addProjectDestination(editor(), {
        kind,
        name,
        settings,
        enabled: true,
        hourlyLimit: null,
        rules: [],
      });
      return destination.id;
    }

    function newWorker(kinds: DestinationKinds, clock = () => now) {
      const worker = new DeliveryWorker({
        renderReport: async () => null,
        unsubscribeLinks: { url: () => "https://tidings.example.com/unsubscribe/token" },
        alertLinks: { url: () => "https://tidings.example.com/alert/token", buttonToken: () => "token" },
        installationId: "test",
        store,
        events: recentEvents,
        kinds,
        secrets: testSecrets,
        policy: { allowPrivate: true },
        baseUrl,
        onError(error) {
          throw error;
        },
        now: clock,
        random: () => 0.5,
      });
      workers.push(worker);
      return worker;
    }
    const worker = () => newWorker(destinationKinds());

    const event = (change: Partial<Event> = {}): Event => ({
      id: Bun.randomUUIDv7(),
      name: "Payment received",
      channelId: "payments",
      userId: "",
      notify: true,
      tags: { plan: "pro" },
      createdAt: new Date(now).toISOString(),
      ...change,
    });

    /** Keeps an event in memory, as one that just arrived. */
    function remember(remembered: Event): void {
      const arrival = { ms: now, sequence: 0 };
      const json = JSON.stringify(remembered);
      recentEvents.remember({ projectId, event: remembered, json, arrival });
    }

    type Change = Partial<Insertable<ControlTables["deliveries"]>>;

    async function deliver(destinationId: string, changes: Change[]): Promise<void> {
      const { kind, name } = await findProjectDestination(editor(), destinationId);
      await store.control
        .insertInto("deliveries")
        .values(
          changes.map((change) => ({
            projectId,
            destinationId,
            ruleId,
            kind,
            label: name,
            state: "waiting" as const,
            createdAt: now,
            nextAttemptAt: now,
            ...change,
          })),
        )
        .execute();
    }

    const rows = (destinationId: string) =>
      store.control
        .selectFrom("deliveries")
        .selectAll()
        .where("destinationId", "=", destinationId)
        .orderBy("id")
        .execute();

    const health = (id: string) => findProjectDestination(editor(), id);

    const silence = (change: object = {}) =>
      JSON.stringify({
        type: "silence",
        atMs: now,
        sinceMs: now - 26 * 3_600_000,
        rule: { name: "Backup missing", q: 'name:"Backup done"' },
        ...change,
      });

    /** Sends everything that is due, and waits for it. */
    async function sendAll(sending: DeliveryWorker, destinationId: string, attempts = 1) {
      sending.wake();
      await until(async () =>
        (await rows(destinationId)).every(
          (row) => row.attempts >= attempts && (row.state !== "waiting" || row.detail !== null),
        ),
      );
      return rows(destinationId);
    }

    test("an event is sent with the delivery's id, the rule and a link", async () => {
      const id = await add("webhook", receiver.settings.webhook);
      const [sending, sent] = [worker(), event()];
      remember(sent);
      await deliver(id, [{ eventId: sent.id }]);
      const [row] = await sendAll(sending, id);
      expect(row).toMatchObject({ state: "delivered", attempts: 1, deliveredAt: now });
      const { headers, body } = receiver.take();
      expect(headers["webhook-id"]).toBe(messageIdOf("test", row!));
      expect(body).toMatchObject({
        type: "event.created",
        data: { event: sent, url: `${baseUrl}/p/default/events/${sent.id}`, rule: null, urgent: false },
      });
    });

    test("what a rule found is sent without an event, also if the rule is gone", async () => {
      const id = await add("webhook", receiver.settings.webhook);
      ruleId = "r1";
      await deliver(id, [{ notification: silence() }]);
      expect(await sendAll(worker(), id)).toMatchObject([{ state: "delivered" }]);
      expect(receiver.take().body).toMatchObject({
        type: "rule.silence",
        data: {
          title: "No event for 26 hours: Backup missing",
          rule: { id: "r1", name: "Backup missing" },
          event: null,
          newest: [],
        },
      });
    });

    test("a summary updates the message of the event that began the burst", async () => {
      const id = await add("discord", receiver.settings.discord);
      const [sending, first] = [worker(), event({ description: "Card *declined*" })];
      const newest = event({ name: "Payment lost", userId: "u7" });
      ruleId = "r1";
      remember(first);
      remember(newest);
      await deliver(id, [{ eventId: first.id }]);
      const [row] = await sendAll(sending, id);
      expect(row!.reference).not.toBeNull();
      expect(receiver.take().method).toBe("POST");
      const summary = {
        type: "summary",
        atMs: now,
        count: 214,
        total: 430,
        fromMs: now - 300_000,
        firstId: first.id,
        newestIds: [newest.id],
        groups: [],
        rule: { name: "Payments", q: "" },
      };
      for (let n = 0; n < 2; n++) {
        await deliver(id, [{ eventId: first.id, notification: JSON.stringify(summary) }]);
        await sendAll(sending, id);
        const { method, path, body } = receiver.take();
        expect([method, path]).toEqual(["PATCH", expect.stringContaining(`/messages/${row!.reference}`)]);
        const { embeds } = body as { embeds: { title: string; description: string; fields: object[] }[] };
        expect(embeds[0]!.title).toBe("Payment received × 430");
        expect(embeds[0]!.description).toStartWith("Card _declined_\n\n214 more in 5 minutes.");
        expect(embeds[0]!.description).toContain("Newest: **Payment lost** · payments · u7");
        expect(embeds[0]!.fields).toContainEqual({ name: "plan", value: "pro", inline: true });
      }
      // Not that of another rule.
      ruleId = "r2";
      await deliver(id, [{ eventId: first.id, notification: JSON.stringify(summary) }]);
      await sendAll(sending, id);
      expect(receiver.take().method).toBe("POST");
    });

    /** The title in a message to Matrix, which its address follows. */
    const titleIn = (body: unknown) => /^(.*) \(/.exec((body as { body: string }).body)![1]!;

    test("a chat that takes few messages gets them one at a time, in order, as fast as it takes them", async () => {
      const id = await add("matrix", receiver.settings.matrix);
      const count = effort(12, 60);
      const sent = Array.from({ length: count }, (_, n) => event({ name: `Payment ${n}` }));
      for (const each of sent) remember(each);
      const limiter = { everyMs: 300, freeAtMs: 0, rejected: 0, names: [] as string[] };
      receiver.answerAll(({ body }) => {
        const at = performance.now();
        if (at < limiter.freeAtMs) {
          limiter.rejected++;
          const answer = { errcode: "M_LIMIT_EXCEEDED", error: "slow", retry_after_ms: limiter.everyMs };
          return [429, answer];
        }
        limiter.freeAtMs = at + limiter.everyMs;
        limiter.names.push(titleIn(body));
        return [200, { event_id: `$${limiter.names.length}` }];
      });
      await deliver(
        id,
        sent.map(({ id: eventId }) => ({ eventId })),
      );
      const sending = newWorker(destinationKinds(), Date.now);
      sending.wake();
      await until(async () => (await rows(id)).every(({ state }) => state === "delivered"), patienceMs);
      expect(limiter.names).toEqual(sent.map(({ name }) => name));
      expect(limiter.rejected).toBe(1);
    });

    test("while a chat gets a message, no other node takes its queue", async () => {
      const id = await add("matrix", receiver.settings.matrix);
      const takes: Set<string>[] = [];
      // The queue is free once the message was answered.
      receiver.answerAll(async () => {
        takes.push(await takeQueues(store.control, [id], now, now + 1));
        return [200, { event_id: "$1" }];
      });
      await deliver(id, [{ notification: silence() }]);
      expect(await sendAll(worker(), id)).toMatchObject([{ state: "delivered" }]);
      expect(takes).toEqual([new Set()]);
      const both = await Promise.all([1, 2].map(() => takeQueues(store.control, [id], now, now + 1)));
      expect(both.map(({ size }) => size).toSorted()).toEqual([0, 1]);
    });

    test("a chat keeps the order over an outage, and one bad message delays the others only for a while", async () => {
      const id = await add("matrix", receiver.settings.matrix);
      const sent = ["one", "bad", "three", "four"].map((name) => event({ name }));
      for (const each of sent) remember(each);
      const names: string[] = [];
      let outage = 3;
      receiver.answerAll(({ body }) => {
        if (outage-- > 0) return [503, "starting"];
        const name = titleIn(body);
        if (name === "bad") return [500, "crashed"];
        names.push(name);
        return [200, { event_id: `$${names.length}` }];
      });
      await deliver(
        id,
        sent.map(({ id: eventId }) => ({ eventId })),
      );
      const sending = worker();
      await until(async () => {
        sending.wake();
        now = Math.max(now, (await listQueues(store.control))[0]?.dueAt ?? 0);
        return names.length === 3;
      });
      expect(names).toEqual(["one", "three", "four"]);
      const [, bad] = await rows(id);
      expect(bad).toMatchObject({ state: "waiting", attempts: 5 });
    });

    test("other settings end what the former receiver asked for", async () => {
      const id = await add("slack", receiver.settings.slack);
      await deliver(id, [{ notification: silence() }]);
      receiver.answerNext(429, "rate_limited", { "retry-after": "3600" });
      const sending = worker();
      await sendAll(sending, id);
      expect(await listQueues(store.control)).toMatchObject([{ destinationId: id, dueAt: now + 3_600_000 }]);
      await changeProjectDestination(editor(), id, { settings: receiver.settings.slack }, null);
      sending.wake();
      await until(async () => (await rows(id)).every(({ state }) => state === "delivered"));
    });

    test("a retry has the same id, and a success ends a failure", async () => {
      const id = await add("webhook", receiver.settings.webhook);
      await deliver(id, [{ notification: silence() }]);
      receiver.answerNext(503, "busy");
      const sending = worker();
      const [failed] = await sendAll(sending, id);
      await until(async () => (await health(id)).failingSince !== null);
      expect(await health(id)).toMatchObject({
        enabled: true,
        deliveredAt: null,
        failingSince: new Date(now).toISOString(),
        failure: "The webhook answered 503: busy",
      });
      const failedAt = now;
      now += 60_000;
      await deliver(id, [{ notification: silence() }]);
      receiver.answerNext(500);
      receiver.answerNext(500);
      await sendAll(sending, id);
      await until(async () => (await health(id)).failure === "The webhook answered 500.");
      expect((await health(id)).failingSince).toBe(new Date(failedAt).toISOString());
      now += 60_000;
      sending.wake();
      await until(async () => (await rows(id)).every(({ state }) => state === "delivered"));
      await until(async () => (await health(id)).failingSince === null);
      expect(await health(id)).toMatchObject({ deliveredAt: new Date(now).toISOString(), failure: null });
      expect((await rows(id))[0]).toMatchObject({ id: failed!.id, attempts: 3 });
    });

    test("a deleted event is no failure of the destination", async () => {
      const id = await add("webhook", receiver.settings.webhook);
      await deliver(id, [{ eventId: Bun.randomUUIDv7() }]);
      expect(await sendAll(worker(), id)).toMatchObject([
        { state: "dead", detail: "The event was deleted." },
      ]);
      expect(await health(id)).toMatchObject({ failingSince: null, failure: null });
    });

    test("nothing is sent to a destination that was deleted or turned off in the meantime", async () => {
      const ids = [
        await add("webhook", receiver.settings.webhook),
        await add("webhook", receiver.settings.webhook),
      ];
      await deleteProjectDestination(editor(), ids[1]!);
      await changeProjectDestination(editor(), ids[0]!, { enabled: false }, null);
      await deliver(ids[0]!, [
        { notification: silence() },
        { notification: silence(), destinationId: ids[1]! },
      ]);
      const sending = worker();
      for (const id of ids)
        expect(await sendAll(sending, id)).toMatchObject([
          { state: "dead", detail: "The destination was deleted or turned off." },
        ]);
      expect(() => receiver.take()).toThrow();
    });

    test("one that no longer exists is turned off, and what waits is cancelled", async () => {
      const id = await add("slack", receiver.settings.slack);
      receiver.answerNext(404, "no_service");
      await deliver(id, [{ notification: silence() }, { notification: silence(), nextAttemptAt: now + day }]);
      worker().wake();
      await until(async () => (await rows(id)).every(({ state }) => state !== "waiting"));
      expect((await rows(id)).map(({ state }) => state)).toEqual(["dead", "cancelled"]);
      expect(await health(id)).toMatchObject({ enabled: false, failure: "Slack answered 404: no_service" });
    });

    test("one that fails for five days is turned off, and the owners are told", async () => {
      await using inbox = await mailbox();
      const id = await add("webhook", receiver.settings.webhook);
      await store.control
        .updateTable("destinations")
        .set({ enabled: 1 })
        .where("accountId", "=", accountId)
        .execute();
      const sending = newWorker(inbox.kinds);
      receiver.answerNext(500);
      await deliver(id, [{ notification: silence() }]);
      await sendAll(sending, id);
      await until(async () => (await health(id)).failingSince !== null);
      now += 5 * day - 1;
      receiver.answerNext(400);
      receiver.answerNext(400);
      await deliver(id, [{ notification: silence() }]);
      await sendAll(sending, id);
      await until(async () => (await health(id)).failure === "The webhook answered 400.");
      expect((await health(id)).enabled).toBe(true);
      now += 1;
      receiver.answerNext(403);
      await deliver(id, [{ notification: silence() }, { notification: silence(), nextAttemptAt: now + day }]);
      sending.wake();
      const { subject, text } = await inbox.next();
      expect(subject).toStartWith('The destination "Destination 0" was turned off');
      expect(text).toContain("failed for 5 days");
      expect(text).not.toContain("403");
      expect((await health(id)).enabled).toBe(false);
      await until(async () => (await rows(id)).every(({ state }) => state !== "waiting"));
      const told = await store.control
        .selectFrom("deliveries")
        .selectAll()
        .where("accountId", "=", accountId)
        .where("kind", "=", "dashboard")
        .execute();
      expect(told).toMatchObject([{ state: "delivered", eventId: null }]);
      expect(JSON.parse(told[0]!.notification!)).toMatchObject({
        type: "destination-off",
        title: 'The destination "Destination 0" was turned off',
        destination: { id },
      });
      const audit = await store.control
        .selectFrom("auditLog")
        .selectAll()
        .where("actorKind", "=", "server")
        .execute();
      expect(audit).toMatchObject([{ action: "destination.changed", target: "Destination 0" }]);
    });

    describe("a dead message", () => {
      async function addRule(to: Partial<Rule["to"]>, urgent = false): Promise<void> {
        const rule: NewRule = {
          name: "Payments",
          q: "",
          when: { type: "each" },
          forEach: null,
          forgetDays: null,
          groupBy: null,
          to: { everyone: false, members: [], schedules: [], destinations: [], fallback: null, ...to },
          urgent,
          resolve: null,
          remindMinutes: null,
          escalation: [],
          enabled: true,
        };
        const created = await makeChange(store.control, { actor: commandActor, projectId }, (change) =>
          createRule(change, rule),
        );
        ruleId = created.id;
      }

      const ownersTold = () =>
        store.control.selectFrom("deliveries").selectAll().where("accountId", "=", accountId).execute();

      test("goes to the fallback of its rule, once", async () => {
        const ids = [
          await add("slack", receiver.settings.slack),
          await add("slack", receiver.settings.slack),
        ];
        const fallback = await add("ntfy", receiver.settings.ntfy);
        await addRule({ destinations: ids, fallback });
        const sent = event();
        remember(sent);
        const sending = worker();
        for (const id of ids) {
          receiver.answerNext(403, "action_prohibited");
          await deliver(id, [{ eventId: sent.id }]);
          await sendAll(sending, id);
          await until(async () => (await rows(fallback)).some(({ state }) => state === "delivered"));
        }
        expect(receiver.take().body).toMatchObject({ title: "Payment received" });
        expect(await rows(fallback)).toHaveLength(1);
        expect(await ownersTold()).toEqual([]);
      });

      test("of a deleted event is told to nobody, and goes to no fallback", async () => {
        const id = await add("slack", receiver.settings.slack);
        const fallback = await add("ntfy", receiver.settings.ntfy);
        await addRule({ destinations: [id], fallback }, true);
        await deliver(id, [{ eventId: Bun.randomUUIDv7() }]);
        expect(await sendAll(worker(), id)).toMatchObject([
          { state: "dead", detail: "The event was deleted." },
        ]);
        expect(await rows(fallback)).toEqual([]);
        expect(await ownersTold()).toEqual([]);
      });

      test("that is urgent is told to the owners, once until the next success", async () => {
        const id = await add("slack", receiver.settings.slack);
        await addRule({ destinations: [id] }, true);
        const sending = worker();
        const send = async (status: number) => {
          const sent = event();
          remember(sent);
          if (status !== 200) receiver.answerNext(status, "action_prohibited");
          await deliver(id, [{ eventId: sent.id }]);
          await sendAll(sending, id);
        };
        await send(403);
        await send(403);
        expect(await ownersTold()).toMatchObject([
          { kind: "dashboard", state: "delivered", groupKey: `destination ${id}` },
        ]);
        const [told] = await ownersTold();
        expect(JSON.parse(told!.notification!)).toMatchObject({
          type: "delivery-dead",
          title: 'An urgent message to "Destination 0" could not be delivered',
        });
        await send(200);
        await until(async () => (await health(id)).failure === null);
        await send(403);
        await until(async () => (await ownersTold()).length === 2);
      });
    });

    async function mailbox() {
      const inbox = await smtpInbox();
      const config = await testConfig({ dataDirectory: "unused", smtpUrl: inbox.url });
      const { kinds, close } = await openKinds(config, store.control, testSecrets, baseUrl);
      return {
        kinds,
        next: () => inbox.next(),
        async [Symbol.asyncDispose]() {
          await close();
          await inbox.close();
        },
      };
    }

    test("one that hangs with a thousand waiting deliveries doesn't delay another", async () => {
      const held: ServerResponse[] = [];
      const hanging = createServer((_, response) => held.push(response)).listen(0, "127.0.0.1");
      await once(hanging, "listening");
      try {
        const url = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}/`;
        const slow = await add("webhook", { url });
        const fast = await add("webhook", receiver.settings.webhook);
        await deliver(
          slow,
          Array.from({ length: 1_000 }, () => ({ notification: silence(), nextAttemptAt: now - 60_000 })),
        );
        const sending = worker();
        sending.wake();
        await until(() => held.length === 4);
        await deliver(
          fast,
          Array.from({ length: 4 }, () => ({ notification: silence() })),
        );
        sending.wake();
        await until(async () => (await rows(fast)).every(({ state }) => state === "delivered"));
        // The four are still waiting for an answer, and no others were sent after them.
        expect((await rows(slow)).filter(({ attempts }) => attempts > 0)).toMatchObject(
          Array(4).fill({ attempts: 1, detail: null }),
        );
        expect(held).toHaveLength(4);
        expect((await listQueues(store.control)).map(({ destinationId }) => destinationId)).toEqual([slow]);
        // A free place is taken at once.
        held[0]!.end();
        await until(() => held.length === 5);
      } finally {
        hanging.closeAllConnections();
        hanging.close();
        await store.control.deleteFrom("deliveries").execute();
      }
    });
  });
}
