// @engines sqlite, postgres, clickhouse
import { expect, test } from "bun:test";
import { ArrivalClock } from "../event/id.ts";
import { createProject } from "../projects/projects.ts";
import { requestSignal, withDeadline } from "../scheduling/deadline.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import { makeStorage, removeStorage } from "../testing/engine.ts";
import { openTestStore, testConfig } from "../testing/test-app.ts";
import { recountUsers } from "./check-users.ts";
import { UserActivity } from "./user-activity.ts";

/** An empty project in a store of its own. */
async function openProject() {
  const storage = await makeStorage();
  const store = await openTestStore(await testConfig(storage));
  const { id: projectId } = await createProject(store.control, "One", null);
  return {
    store,
    projectId,
    /** The counted events of each user. */
    async counted(): Promise<Record<string, number>> {
      const rows = await store.control.selectFrom("userActivity").select(["userId", "events"]).execute();
      return Object.fromEntries(rows.map(({ userId, events }) => [userId, Number(events)]));
    },
    async [Symbol.asyncDispose]() {
      await store.close();
      await removeStorage(storage);
    },
  };
}

test("an event that is removed between being read and being counted is not counted", async () => {
  await using opened = await openProject();
  const { store, projectId } = opened;
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

  expect([errors, removed]).toEqual([[], 1]);
  expect(await opened.counted()).toEqual({ u: 2 });
});

test("counting that a request begins does not end with it", async () => {
  await using opened = await openProject();
  const { store, projectId } = opened;
  const arrival = new ArrivalClock(null).next();
  await store.events.appendAll([acceptedEvent({ projectId, arrival, event: { userId: "u" } })]);
  const signals: unknown[] = [];
  const arrivedAfter: typeof store.events.arrivedAfter = (...query) => {
    signals.push(requestSignal());
    return store.events.arrivedAfter(...query);
  };
  const activity = new UserActivity({
    store: { ...store, events: { ...store.events, arrivedAfter } },
    onError: (error) => signals.push(error),
  });
  await withDeadline(new AbortController().signal, () => activity.update(30_000));
  await activity.close();
  expect(new Set(signals)).toEqual(new Set([undefined]));
});

test("users are counted right again while long events of others wait to be counted", async () => {
  await using opened = await openProject();
  const { store, projectId } = opened;
  const clock = new ArrivalClock(null);
  const record = (userIds: readonly string[], description: string) =>
    store.events.appendAll(
      userIds.map((userId) =>
        acceptedEvent({ projectId, arrival: clock.next(), event: { name: "n", userId, description } }),
      ),
    );
  const activity = new UserActivity({ store, onError: (error) => expect.unreachable(String(error)) });
  await record(["u"], "");
  await activity.update(30_000);
  // More than one read returns.
  for (let batch = 0; batch < 20; batch++)
    await record(new Array<string>(20).fill("other"), "long ".repeat(1_500));
  await record(["u", "u", "u"], "");
  await recountUsers(store, projectId, ["u"]);
  await activity.update(30_000);
  await activity.close();

  expect(await opened.counted()).toEqual({ u: 4, other: 400 });
});
