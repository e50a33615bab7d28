// @engines sqlite, postgres
/** Rules and channels that change while an event waits for something else. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { ProjectChannels } from "../channels/project-channels.ts";
import { ProblemError } from "../core/problems.ts";
import { ArrivalClock } from "../event/id.ts";
import { WatchedEventsCache } from "../rules/watched-events.ts";
import type { AcceptedEvent, AppendResult, EventAppender } from "../storage/event-store.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import type { DailyQuota } from "./daily-quota.ts";
import { createRecorder } from "./record.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
  expect((await app.post({ channel: "known", name: "n" })).status).toBe(201);
});
afterAll(() => app[Symbol.asyncDispose]());

/** A recorder whose quota is read until the test says so, with the events that it would store. */
function waitingRecorder() {
  const { control } = app.running.store;
  const rules = new WatchedEventsCache(control);
  const channels = new ProjectChannels(control);
  const stored: AcceptedEvent[] = [];
  const { promise: read, resolve: finish } = Promise.withResolvers<object>();
  const append = async (event: AcceptedEvent): Promise<AppendResult> => {
    stored.push(event);
    return { kind: "created" };
  };
  const quota = {
    of: () => read,
    reserve: (_: unknown, __: unknown, events: number) => ({
      events,
      release() {},
      use: <Result>(append: () => Promise<Result>) => append(),
    }),
  } as unknown as DailyQuota;
  const events = {
    append,
    appendAll: (all: AcceptedEvent[]) => Promise.all(all.map(append)),
    appendWith: (all: AcceptedEvent[]) => Promise.all(all.map(append)),
  } as unknown as EventAppender;
  const recorder = createRecorder({ events, channels, rules, quota, clock: new ArrivalClock(null) });
  return { recorder, rules, channels, stored, finish: () => finish({}) };
}

const source = { projectId: 1, knownChannelsOnly: true, eventsPerDay: 10, mayRead: true };
const urgent = { channel: "known", name: "Urgent", notify: true };
const unknown = { channel: "unknown", name: "n" };

const ways = {
  "one event": ({ recorder }: ReturnType<typeof waitingRecorder>, body: object) =>
    recorder.record(body, source),
  "an event with a companion": ({ recorder }: ReturnType<typeof waitingRecorder>, body: object) =>
    recorder.recordWith(body, source, () => ({ kind: "replay", rejectedId: 1 })),
  "an array": async ({ recorder }: ReturnType<typeof waitingRecorder>, body: object) => {
    const [outcome] = await recorder.recordAll(await recorder.checkAll([body], source), source);
    if (outcome instanceof ProblemError) throw outcome;
  },
};

for (const [name, record] of Object.entries(ways)) {
  test(`${name}: notifies although a rule changes while the quota is read`, async () => {
    const waiting = waitingRecorder();
    await waiting.rules.of(1);
    const recorded = record(waiting, urgent);
    await Bun.sleep(0);
    waiting.rules.invalidate(1);
    waiting.finish();
    await recorded;
    expect(waiting.stored).toMatchObject([{ notifies: true }]);
  });

  test(`${name}: an unknown channel is rejected although channels change while the quota is read`, async () => {
    const waiting = waitingRecorder();
    await waiting.channels.of(source, []);
    const recorded = record(waiting, unknown);
    const refused = recorded.then(
      () => "accepted",
      (error) => error.options.detail,
    );
    await Bun.sleep(0);
    waiting.channels.invalidate(1);
    waiting.finish();
    expect(await refused).toContain('Unknown channel "unknown"');
    expect(waiting.stored).toEqual([]);
  });
}

test("a rule that is turned on while the quota is read matches the event", async () => {
  const { control } = app.running.store;
  const enable = (enabled: 0 | 1) => control.updateTable("rules").set({ enabled }).execute();
  await enable(0);
  const waiting = waitingRecorder();
  await waiting.rules.of(1);
  const recorded = waiting.recorder.record(urgent, source);
  await enable(1);
  waiting.rules.invalidate(1);
  waiting.finish();
  await recorded;
  expect(waiting.stored).toMatchObject([{ notifies: true }]);
});
