// @long
/** A machine whose clock jumps an hour forward and back while everything is in use. */
import { expect, test } from "bun:test";
import { openStream } from "../testing/event-stream.ts";
import { expectToldEvents, startLoad } from "../testing/mixed-load.ts";
import { testProcess } from "../testing/server-process.ts";
import { canShiftClock, shiftedClock } from "../testing/shifted-clock.ts";
import { testPassword } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";

if (!canShiftClock) console.log("The test of a clock that jumps is left out: it needs gcc on Linux.");

const hourSeconds = 3_600;

test.skipIf(!canShiftClock)(
  "a clock that jumps loses no event, and no stream, session, job or delivery waits for it",
  async () => {
    using clock = shiftedClock();
    await using app = await testProcess({}, clock.program);
    const json = { "content-type": "application/json" };
    const signIn = async () => {
      const response = await fetch(`${app.address}/api/auth/sign-in/email`, {
        method: "POST",
        headers: { ...json, origin: app.address },
        body: JSON.stringify({ email: "owner@example.com", password: testPassword }),
      });
      expect(response.status).toBe(200);
      return response.headers
        .getSetCookie()
        .map((each) => each.split(";")[0])
        .join("; ");
    };
    const asMember = async (cookie: string, path: string) => {
      const response = await fetch(app.address + path, { headers: { cookie } });
      expect([path, response.status]).toEqual([path, 200]);
      return (await response.json()) as Record<string, unknown>;
    };
    /** Erases a user, which a background job does. */
    const erase = async (userId: string) => {
      expect((await app.post({ channel: "erased", name: "e", userId })).status).toBe(201);
      const response = await app.request(`/api/users/${userId}`, { method: "DELETE" });
      expect(response.status).toBe(202);
      const { job } = (await response.json()) as { job: { id: string } };
      await until(async () => {
        const answer = (await (await app.request(`/api/jobs/${job.id}`)).json()) as {
          job: { state: string };
        };
        return answer.job.state === "done";
      });
    };
    const notifications = async (cookie: string) =>
      ((await asMember(cookie, "/api/notifications?limit=1")) as { notifications: { id: string }[] })
        .notifications[0]?.id;

    const cookie = await signIn();
    using stream = await openStream(app);
    using load = startLoad([app], { id: 3, anonymous: 2, batch: 1, idempotent: 2 });
    let newest = await notifications(cookie);
    using watching = await openStream(app, "?channel=resumed");
    const resumedIds = new Map<string, string>();
    const record = async (name: string) => {
      const userId = `resumed-${name}`;
      const response = await app.post({ channel: "resumed", name, userId });
      expect(response.status).toBe(201);
      const { event } = (await response.json()) as { event: { id: string } };
      resumedIds.set(userId, event.id);
    };
    await record("first");
    let lastSeen = (await watching.next("event"))!.id!;
    /** Continues a stream that ended before the jump: its next event is the one that was recorded since. */
    const resume = async (name: string) => {
      await record(name);
      using resumed = await openStream(app, "?channel=resumed", { "last-event-id": lastSeen });
      const message = await resumed.next("event");
      expect((JSON.parse(message!.data) as { name: string }).name).toBe(name);
      lastSeen = message!.id!;
    };
    for (const [at, shift] of [0, hourSeconds, 0, -hourSeconds, 0].entries()) {
      clock.shift(shift);
      await resume(`${at}`);
      await load.untilMore(200);
      await erase(`erased-${at}`);
      await asMember(cookie, "/api/me");
      await asMember(await signIn(), "/api/me");
      const before = newest;
      await until(async () => {
        newest = await notifications(cookie);
        return newest !== before;
      });
    }
    const outcome = await load.stop();
    for (const [userId, id] of resumedIds) outcome.acknowledged.set(userId, id);
    const events = await expectToldEvents(app, outcome);
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    // What the clock showed is what events are dated by.
    const hours = new Set(
      events
        .filter(({ createdAt }) => Date.parse(createdAt) > Date.now() - 3 * hourSeconds * 1_000)
        .map(({ createdAt }) => Math.round((Date.parse(createdAt) - Date.now()) / (hourSeconds * 1_000))),
    );
    expect([...hours].toSorted((a, b) => a - b)).toEqual([-1, 0, 1]);
    const missing = new Set(events.map(({ id }) => id));
    while (missing.size > 0) for (const { id } of await stream.events(1)) missing.delete(id);
    // All that is listed is found in the order of its dates.
    const dates = events.map(({ createdAt }) => createdAt);
    expect(dates).toEqual(dates.toSorted().toReversed());
  },
  600_000,
);
