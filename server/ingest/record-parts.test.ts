import { expect, test } from "bun:test";
import { ArrivalClock, compareStamps } from "../event/id.ts";
import type { AcceptedEvent, EventAppender } from "../storage/event-store.ts";
import { commitWorkMax } from "../storage/group-commit.ts";
import type { EventSource } from "./accepted-event.ts";
import { createRecorder } from "./record.ts";

const settled = () => new Promise(setImmediate);
const reservation = {
  events: Number.POSITIVE_INFINITY,
  release() {},
  use: (append: () => unknown) => append(),
};

/** A recorder whose store finishes when it is told to. */
function recorderOn(appended: { events: readonly AcceptedEvent[]; finish: () => void }[]) {
  const events = {
    appendAll: (events: readonly AcceptedEvent[]) =>
      new Promise((resolve) => {
        appended.push({ events, finish: () => resolve(events.map(() => ({ kind: "created" }))) });
      }),
  } as unknown as EventAppender;
  return createRecorder({
    events,
    channels: { of: () => ({ rejectionOf: () => null }) },
    rules: { of: () => ({ concern: () => false }) },
    quota: { of: () => null, reserve: () => reservation },
    clock: new ArrivalClock(null),
  } as unknown as Parameters<typeof createRecorder>[0]);
}

function sourceOf(projectId: number): EventSource {
  return { projectId, knownChannelsOnly: false, eventsPerDay: null, mayRead: true };
}

/** Events with fifty tags of their own each. */
function events(count: number): unknown[] {
  return Array.from({ length: count }, (_, number) => ({
    channel: "c",
    name: `${number}`,
    tags: Object.fromEntries(Array.from({ length: 50 }, (_, tag) => [`key${number}x${tag}`, "value"])),
  }));
}

test("an array is stored in parts of limited work, in order, and another project's comes between", async () => {
  const appended: { events: readonly AcceptedEvent[]; finish: () => void }[] = [];
  const recorder = recorderOn(appended);
  const [busy, other] = [sourceOf(1), sourceOf(2)];
  const items = await recorder.checkAll(events(1_000), busy);
  const recorded = recorder.recordAll(items, busy);
  await settled();
  const atOnce = appended.length;
  const others = recorder.recordAll(await recorder.checkAll(events(1), other), other);
  await settled();
  const projects: number[] = [];
  for (let part = 0; part < appended.length; part++) {
    projects.push(appended[part]!.events[0]!.projectId);
    appended[part]!.finish();
    await settled();
  }
  expect(await recorded).toHaveLength(1_000);
  expect(await others).toHaveLength(1);
  expect(projects.indexOf(2)).toBeWithin(0, atOnce + 2);
  expect(projects.length).toBeGreaterThan(atOnce + 3);
  const own = appended.filter(({ events }) => events[0]!.projectId === 1);
  for (const { events } of own)
    expect(events.reduce((sum, { tokens }) => sum + tokens!.length, 0)).toBeLessThanOrEqual(commitWorkMax);
  const stored = own.flatMap(({ events }) => events);
  expect(stored.map(({ event }) => event.name)).toEqual(items.map((_, number) => `${number}`));
  expect(stored).toEqual(stored.toSorted((a, b) => compareStamps(a.arrival, b.arrival)));
});
