// @engines sqlite, postgres
// @long postgres
/** Digests by email and quiet hours, under a clock that the test holds. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { ArrivalClock } from "../event/id.ts";
import type { PreferencesChange } from "../schemas/preferences.ts";
import { weekdays } from "../schemas/rule.ts";
import type { Store } from "../storage/store.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import { stores } from "../testing/engine.ts";
import { createFirstAccount } from "../testing/first-account.ts";
import { until } from "../testing/until.ts";
import { nextDigestAt } from "./email-digest.ts";
import { FanOut } from "./fan-out.ts";
import { changeSettings } from "./preferences.ts";
import { RecentEvents } from "./recent-events.ts";

const hour = 60 * 60_000;
/** Saturday noon; the next night, Berlin's clocks go from 2:00 to 3:00. */
const start = Date.parse("2026-03-28T12:00:00Z");
const timeZone = "Europe/Berlin";
const at = (text: string) => Date.parse(text);

for (const engine of stores) {
  describe(`digests by email on ${engine.name}`, () => {
    let storage: Awaited<ReturnType<typeof engine.create>>;
    let store: Store;
    let accountId: string;
    let projectId: number;
    let now: number;
    let clock: ArrivalClock;

    beforeEach(async () => {
      now = start;
      clock = new ArrivalClock(null, { now: () => now });
      storage = await engine.create();
      store = await storage.open();
      ({ accountId, projectId } = await createFirstAccount(store.control));
      await store.control
        .updateTable("destinations")
        .set({ enabled: 1 })
        .where("accountId", "=", accountId)
        .execute();
      // The first rule begins when the project does, which the real clock says.
      await store.control
        .updateTable("rules")
        .set({ createdAt: start - hour })
        .execute();
    });
    afterEach(async () => {
      await store.close();
      await storage.remove();
    });

    const change = (settings: PreferencesChange) =>
      changeSettings(store.control, accountId, settings, null, now);

    async function record(count = 1): Promise<void> {
      const make = () =>
        acceptedEvent({ projectId, arrival: clock.next(), event: { notify: true }, notifies: true });
      await store.events.appendAll(Array.from({ length: count }, make));
      await applyRules();
    }

    /** Does what several nodes do that were just started. */
    async function applyRules(nodes = 1): Promise<void> {
      const errors: unknown[] = [];
      let steps = 0;
      const started = Array.from(
        { length: nodes },
        () =>
          new FanOut({
            store,
            events: new RecentEvents(store.events),
            onMade: () => void steps++,
            onError: (error) => void errors.push(error),
            now: () => now,
          }),
      );
      for (const fanOut of started) fanOut.wake();
      await until(async () => {
        const left = await store.control.selectFrom("outbox").select("id").limit(1).execute();
        const dueAt = await nextDigestAt(store.control);
        return steps >= nodes && left.length === 0 && (dueAt === null || dueAt > now);
      });
      for (const fanOut of started) await fanOut.close();
      expect(errors).toEqual([]);
    }

    const emails = () =>
      store.control
        .selectFrom("deliveries")
        .select(["id", "eventId", "state", "reason", "nextAttemptAt", "digestId", "notification"])
        .where("kind", "=", "email")
        .orderBy("id")
        .execute();
    const digests = async () => (await emails()).filter(({ eventId }) => eventId === null);
    const dueTimes = async () => (await emails()).map(({ nextAttemptAt }) => nextAttemptAt);

    test("a digest is made once, when it is due, however many nodes there are and however late", async () => {
      await change({ timeZone, emailDigest: { every: "day", at: "09:00" } });
      await record(3);
      expect((await emails()).map(({ state, reason }) => [state, reason])).toEqual(
        Array(3).fill(["collected", "email-digest"]),
      );
      now = at("2026-03-29T06:59:59Z");
      await applyRules(2);
      expect(await digests()).toEqual([]);
      now = at("2026-03-29T07:00:00Z") + 26 * hour;
      await applyRules(3);
      await applyRules();
      const made = await digests();
      expect(made).toMatchObject([{ state: "waiting", nextAttemptAt: now }]);
      expect(JSON.parse(made[0]!.notification!)).toEqual({
        type: "email-digest",
        fromMs: expect.any(Number),
        atMs: now,
      });
      const collected = (await emails()).filter(({ eventId }) => eventId !== null);
      expect(collected.map(({ digestId, nextAttemptAt }) => [digestId, nextAttemptAt])).toEqual(
        Array(3).fill([made[0]!.id, null]),
      );
    });

    test("what arrives after a digest is in the next one", async () => {
      await change({ timeZone, emailDigest: { every: "hour" } });
      await record(2);
      now += hour;
      await record();
      expect(await digests()).toHaveLength(1);
      now += hour;
      await applyRules();
      const [first, second] = (await digests()).map(({ id }) => id);
      const parts = (await emails()).flatMap(({ digestId }) => (digestId === null ? [] : [digestId]));
      expect(parts).toEqual([first!, first!, second!]);
    });

    test("quiet hours of a night that is an hour shorter end when the clock shows their end", async () => {
      await change({ timeZone, quietHours: { days: [...weekdays], from: "22:00", to: "07:00" } });
      await record();
      expect((await emails()).map(({ state }) => state)).toEqual(["waiting"]);
      now = at("2026-03-28T21:30:00Z");
      await record(2);
      const end = at("2026-03-29T05:00:00Z");
      expect((await dueTimes()).slice(1)).toEqual([end, end]);
      now = end - 1;
      await applyRules();
      expect(await digests()).toEqual([]);
      now = end;
      await applyRules();
      expect(await digests()).toHaveLength(1);
    });

    test("another time holds for what was collected already", async () => {
      await change({ timeZone, emailDigest: { every: "week", at: "08:00", weekday: "friday" } });
      await record();
      expect(await dueTimes()).toEqual([at("2026-04-03T06:00:00Z")]);
      await change({ emailDigest: { every: "day", at: "08:00" } });
      expect(await dueTimes()).toEqual([at("2026-03-29T06:00:00Z")]);
      await change({ emailDigest: null });
      await applyRules();
      expect(await digests()).toHaveLength(1);
    });
  });
}
