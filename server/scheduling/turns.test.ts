import { expect, test } from "bun:test";
import { nextTurn, Turns } from "./turns.ts";

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
