import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import { limits } from "../limits.ts";
import type { ProblemError } from "../problems.ts";
import { BodyPermit, BodySemaphore } from "./body-semaphore.ts";

const third = limits.largeBodiesBytes / 3;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Notes in `entered` who has come in, and in `rejected` who has not. */
function visitors() {
  const room = new BodySemaphore();
  const entered: string[] = [];
  const rejected: unknown[] = [];
  let lastProject = 0;
  return {
    entered,
    rejected,
    /** @param projectId - one of its own, unless it is said */
    async come(name: string, bytes: number, projectId = ++lastProject): Promise<BodyPermit> {
      const place = new BodyPermit(room, projectId);
      place.enter(bytes).then(
        () => entered.push(name),
        (error) => rejected.push(error),
      );
      await settled();
      return place;
    },
  };
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

test("as many come in as there is room for, the others in their order", async () => {
  const { entered, come } = visitors();
  const first = await come("first", third);
  const second = await come("second", third);
  await come("third", 2 * third);
  await come("fourth", third / 2);
  expect(entered).toEqual(["first", "second"]);
  first.leave();
  await settled();
  expect(entered).toEqual(["first", "second", "third"]);
  second.leave();
  await settled();
  expect(entered).toEqual(["first", "second", "third", "fourth"]);
});

test("small ones pass by, and what has its place does not wait again", async () => {
  const { entered, come } = visitors();
  const first = await come("first", 2 * third);
  await come("other", third);
  await come("small", limits.requestBytes);
  await first.enter(limits.batchBytes);
  expect(entered).toEqual(["first", "other", "small"]);
});

test("one project leaves room for the others, and is let in again once it has left", async () => {
  const { entered, come } = visitors();
  const first = await come("first", third, 7);
  await come("second", third, 7);
  await come("third", third, 7);
  const other = await come("other", third, 8);
  expect(entered).toEqual(["first", "second", "other"]);
  other.leave();
  await settled();
  expect(entered).toEqual(["first", "second", "other"]);
  first.leave();
  await settled();
  expect(entered).toEqual(["first", "second", "other", "third"]);
});

test("one that waits for too long is rejected, and leaves no gap", async () => {
  const { entered, rejected, come } = visitors();
  const first = await come("first", 2 * third);
  const second = await come("second", 2 * third);
  jest.advanceTimersByTime(limits.largeBodyWaitSeconds * 500);
  await come("third", third);
  jest.advanceTimersByTime(limits.largeBodyWaitSeconds * 500);
  await settled();
  expect(rejected).toHaveLength(1);
  expect((rejected[0] as ProblemError).toResponse().headers.get("retry-after")).toBe("5");
  expect(entered).toEqual(["first", "third"]);
  // Rejected, it has no place to leave.
  second.leave();
  first.leave();
  await come("fourth", 2 * third);
  await come("fifth", 1 + limits.requestBytes);
  expect(entered).toEqual(["first", "third", "fourth"]);
});
