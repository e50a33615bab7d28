import { expect, test } from "bun:test";
import { FairQueue } from "./fair-queue.ts";

const settled = () => new Promise(setImmediate);

/** Starts tasks of an owner, each of which ends when it is told to. */
function starter(queue: FairQueue) {
  const running: { name: string; end: () => void }[] = [];
  const start = (owner: number, name: string, weight = 1, signal?: AbortSignal) =>
    queue.run(
      owner,
      () => {
        const { promise, resolve } = Promise.withResolvers<void>();
        running.push({ name, end: resolve });
        return promise;
      },
      { weight, signal },
    );
  const names = () => running.map(({ name }) => name);
  const end = async (name: string) => {
    running.splice(names().indexOf(name), 1)[0]!.end();
    await settled();
  };
  return { start, names, end };
}

test("owners take turns, however many tasks one of them has", async () => {
  const { start, names, end } = starter(new FairQueue({ capacity: 1 }));
  const tasks = ["a1", "a2", "a3", "a4"].map((name) => start(1, name));
  tasks.push(start(2, "b1"), start(3, "c1"), start(2, "b2"));
  const order: string[] = [];
  await settled();
  while (names().length > 0) {
    order.push(names()[0]!);
    await end(names()[0]!);
  }
  await Promise.all(tasks);
  expect(order).toEqual(["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
});

test("an owner has its share at most, and others the rest", async () => {
  const { start, names, end } = starter(new FairQueue({ capacity: 3, capacityOfOwner: 2 }));
  const tasks = ["a1", "a2", "a3"].map((name) => start(1, name));
  tasks.push(start(2, "b1"), start(2, "b2"));
  await settled();
  expect(names()).toEqual(["a1", "a2", "b1"]);
  await end("b1");
  expect(names()).toEqual(["a1", "a2", "b2"]);
  await end("a1");
  expect(names()).toEqual(["a2", "b2", "a3"]);
  for (const name of names()) await end(name);
  await Promise.all(tasks);
});

test("a heavy task waits for room, which later ones don't take, and one beyond the capacity runs alone", async () => {
  const { start, names, end } = starter(new FairQueue({ capacity: 10 }));
  const tasks = [start(1, "light", 4), start(3, "heavy", 8), start(2, "later", 2), start(2, "huge", 50)];
  await settled();
  expect(names()).toEqual(["light"]);
  await end("light");
  expect(names()).toEqual(["heavy", "later"]);
  await end("later");
  expect(names()).toEqual(["heavy"]);
  await end("heavy");
  expect(names()).toEqual(["huge"]);
  await end("huge");
  await Promise.all(tasks);
});

test("too many that wait are rejected, and one that is aborted makes room", async () => {
  const queue = new FairQueue({ capacity: 1, waitingOfOwner: 1, detail: "Wait.", retryAfterSeconds: 7 });
  const { start, names, end } = starter(queue);
  const running = start(1, "a1");
  const gone = new AbortController();
  const waiting = start(1, "a2", 1, gone.signal);
  await expect(start(1, "a3")).rejects.toMatchObject({
    code: "overloaded",
    options: { detail: "Wait.", retryAfterSeconds: 7 },
  });
  // Another owner has its own places.
  const other = start(2, "b1");
  gone.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  const next = start(1, "a4");
  await end("a1");
  expect(names()).toEqual(["b1"]);
  await end("b1");
  expect(names()).toEqual(["a4"]);
  await end("a4");
  await Promise.all([running, other, next]);
});

test("what waits behind a task that is aborted takes its turn at once", async () => {
  const { start, names, end } = starter(new FairQueue({ capacity: 10 }));
  const gone = new AbortController();
  const first = start(1, "first", 4);
  const heavy = start(2, "heavy", 8, gone.signal);
  const light = start(3, "light", 2);
  await settled();
  expect(names()).toEqual(["first"]);
  gone.abort(new Error("gone"));
  await expect(heavy).rejects.toThrow("gone");
  expect(names()).toEqual(["first", "light"]);
  for (const name of names()) await end(name);
  await Promise.all([first, light]);
});

test("a task weighs 1 unless it says otherwise", async () => {
  const queue = new FairQueue({ capacity: 2 });
  const entered: string[] = [];
  const leave = await queue.enter(1);
  await queue.run(2, async () => {
    queue.enter(3).then(() => entered.push("third"));
    await settled();
    expect(entered).toEqual([]);
    leave();
    await settled();
    expect(entered).toEqual(["third"]);
  });
});

test("who must wait too long is asked to come back in five seconds, but not while there is room", async () => {
  const queue = new FairQueue({ capacity: 1, waitingOfOwner: 0 });
  const leave = await queue.enter(1);
  await expect(queue.enter(1)).rejects.toMatchObject({
    code: "overloaded",
    options: { detail: expect.stringContaining("Wait for some of them"), retryAfterSeconds: 5 },
  });
  leave();
  await queue.enter(1);
});

test("a task whose signal is aborted does not begin, and leaves the other tasks of its owner in their order", async () => {
  const { start, names, end } = starter(new FairQueue({ capacity: 1 }));
  const gone = AbortSignal.abort(new Error("gone"));
  await expect(start(1, "a0", 1, gone)).rejects.toThrow("gone");
  const late = new AbortController();
  const tasks = ["a1", "a2"].map((name) => start(1, name));
  const aborted = start(1, "a3", 1, late.signal);
  tasks.push(...["a4", "a5"].map((name) => start(1, name)));
  late.abort(new Error("late"));
  await expect(aborted).rejects.toThrow("late");
  for (const name of ["a1", "a2", "a4", "a5"]) {
    expect(names()).toEqual([name]);
    await end(name);
  }
  await Promise.all(tasks);
});

test("a signal that is aborted during its task leaves those that wait alone", async () => {
  const { start, names, end } = starter(new FairQueue({ capacity: 1 }));
  const gone = new AbortController();
  const tasks = [start(1, "a1"), start(1, "a2", 1, gone.signal), start(1, "a3")];
  await settled();
  await end("a1");
  expect(names()).toEqual(["a2"]);
  gone.abort();
  await end("a2");
  expect(names()).toEqual(["a3"]);
  await end("a3");
  await Promise.all(tasks);
});
