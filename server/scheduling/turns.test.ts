import { afterEach, expect, jest, test } from "bun:test";
import { nextTurn, Turns } from "./turns.ts";

afterEach(() => void jest.useRealTimers());

test("a turn goes on until it is over, and work whose signal was aborted ends there", async () => {
  const gone = new AbortController();
  const turns = new Turns(1, gone.signal);
  while (!turns.isOver);
  await turns.next();
  gone.abort();
  while (!turns.isOver);
  await expect(turns.next()).rejects.toThrow("aborted");
});

test("projects take turns, however many tasks one of them has", async () => {
  const order: string[] = [];
  const task = async (owner: number, steps: number) => {
    for (let step = 0; step < steps; step++) {
      await nextTurn(owner);
      order.push(`${owner}`);
    }
  };
  await Promise.all([...Array.from({ length: 50 }, () => task(1, 2)), task(2, 3), task(3, 3)]);
  expect(order.slice(0, 9)).toEqual(["1", "2", "3", "1", "2", "3", "1", "2", "3"]);
  expect(order).toHaveLength(106);
});

test("a task of a project that has others waiting begins by waiting", async () => {
  const waiting = nextTurn(1);
  expect(new Turns(1).isOver).toBe(true);
  expect(new Turns(2).isOver).toBe(false);
  await waiting;
});

test("a turn is over after three milliseconds, and sooner by what the thread does later for it", () => {
  jest.useFakeTimers();
  const turns = new Turns(1);
  turns.charge(1);
  jest.advanceTimersByTime(1);
  expect(turns.isOver).toBe(false);
  jest.advanceTimersByTime(1);
  expect(turns.isOver).toBe(true);
});

test("a turn that is over lets others have theirs, and the next is as long", async () => {
  jest.useFakeTimers();
  const order: string[] = [];
  const turns = new Turns(1);
  jest.advanceTimersByTime(3);
  const others = ["a", "b"].map((name) => nextTurn(1).then(() => order.push(name)));
  others.push(nextTurn(2).then(() => order.push("c")));
  await turns.next();
  order.push("turns");
  jest.advanceTimersByTime(2);
  const next = nextTurn(1).then(() => order.push("next"));
  await turns.next();
  order.push("same turn");
  jest.advanceTimersByTime(1);
  expect(turns.isOver).toBe(true);
  await Promise.all([...others, next]);
  expect(order).toEqual(["a", "c", "b", "turns", "same turn", "next"]);
});

test("the tasks of a project continue in their order", async () => {
  const order: number[] = [];
  await Promise.all([1, 2, 3].map((task) => nextTurn(1).then(() => order.push(task))));
  expect(order).toEqual([1, 2, 3]);
});
