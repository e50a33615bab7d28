import { expect, test } from "bun:test";
import { shareAmong } from "./delivery-queues.ts";

const queue = (destinationId: string, dueAt: number) => ({ destinationId, dueAt, isSerial: false });
const share = (destinationId: string, count: number) => ({ destinationId, count });

test("destinations take turns, the one that has waited longest first", () => {
  const queues = [queue("b", 2), queue("a", 1), queue("c", 3)];
  expect(shareAmong(queues, new Map(), 5)).toEqual([share("a", 2), share("b", 2), share("c", 1)]);
  expect(shareAmong(queues, new Map(), 2)).toEqual([share("a", 1), share("b", 1)]);
});

test("nobody gets more than its maximum, and who has fewer in progress is first", () => {
  const queues = [queue("full", 0), queue("busy", 1), queue("idle", 2)];
  const sending = new Map([
    ["full", 4],
    ["busy", 3],
  ]);
  expect(shareAmong(queues, sending, 32)).toEqual([share("idle", 4), share("busy", 1)]);
  expect(shareAmong(queues, sending, 1)).toEqual([share("idle", 1)]);
});

test("a hundred destinations share what is free", () => {
  const queues = Array.from({ length: 100 }, (_, n) => queue(`d${n}`, n));
  const shares = shareAmong(queues, new Map(), 32);
  expect(shares).toEqual(queues.slice(0, 32).map(({ destinationId }) => share(destinationId, 1)));
  expect(shareAmong(queues, new Map(), 0)).toEqual([]);
});

test("a serial queue sends one at a time", () => {
  const queues = [{ ...queue("chat", 1), isSerial: true }, queue("hook", 2)];
  expect(shareAmong(queues, new Map(), 32)).toEqual([share("chat", 1), share("hook", 4)]);
  expect(shareAmong(queues, new Map([["chat", 1]]), 32)).toEqual([share("hook", 4)]);
});
