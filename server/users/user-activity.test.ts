// @engines sqlite, postgres, clickhouse
import { expect, test } from "bun:test";
import { ArrivalClock } from "../event/id.ts";
import { createProject } from "../projects/projects.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import { makeStorage, removeStorage } from "../testing/engine.ts";
import { openTestStore, testConfig } from "../testing/test-app.ts";
import { UserActivity } from "./user-activity.ts";

test("an event that is removed between being read and being counted is not counted", async () => {
  const storage = await makeStorage();
  const store = await openTestStore(await testConfig(storage));
  const projectId = (await createProject(store.control, "One", null)).id;
  const clock = new ArrivalClock(null);
  const events = Array.from({ length: 3 }, (_, n) =>
    acceptedEvent({ projectId, arrival: clock.next(), event: { name: `n${n}`, userId: "u" } }),
  );
  await store.events.appendAll(events);

  let removed = 0;
  const arrivedAfter: typeof store.events.arrivedAfter = async (...query) => {
    const read = await store.events.arrivedAfter(...query);
    if (removed === 0) {
      removed = (await store.events.remove({ projectId, id: events[1]!.event.id }, 1)).ids.length;
    }
    return read;
  };
  const errors: unknown[] = [];
  const activity = new UserActivity({
    store: { ...store, events: { ...store.events, arrivedAfter } },
    onError: (error) => errors.push(error),
  });
  await activity.update(30_000);
  await activity.close();

  const counted = await store.control.selectFrom("userActivity").select(["userId", "events"]).execute();
  expect([errors, removed]).toEqual([[], 1]);
  expect(counted.map(({ userId, events }) => [userId, Number(events)])).toEqual([["u", 2]]);
  await store.close();
  await removeStorage(storage);
});
