import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { ProblemError } from "../core/problems.ts";
import { BodyPermit, BodySemaphore } from "./body-semaphore.ts";

const third = limits.largeBodiesBytes / 3;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Starts requests; `admitted` lists those that got a permit, `rejected` the others. */
function requests() {
  const semaphore = new BodySemaphore();
  const admitted: string[] = [];
  const rejected: unknown[] = [];
  let lastProject = 0;
  return {
    admitted,
    rejected,
    /** @param owner - default: a new project for each */
    async start(
      name: string,
      bytes: number,
      owner: BodyPermit["owner"] = ++lastProject,
    ): Promise<BodyPermit> {
      const permit = new BodyPermit(semaphore, owner);
      permit.acquire(bytes).then(
        () => admitted.push(name),
        (error) => rejected.push(error),
      );
      await settled();
      return permit;
    },
  };
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

test("admits as many as there is room for, the others in order", async () => {
  const { admitted, start } = requests();
  const first = await start("first", third);
  const second = await start("second", third);
  await start("third", 2 * third);
  await start("fourth", third / 2);
  expect(admitted).toEqual(["first", "second"]);
  first.release();
  await settled();
  expect(admitted).toEqual(["first", "second", "third"]);
  second.release();
  await settled();
  expect(admitted).toEqual(["first", "second", "third", "fourth"]);
});

test("small bodies skip the line, and a permit is acquired only once", async () => {
  const { admitted, start } = requests();
  const first = await start("first", 2 * third);
  await start("other", third);
  await start("small", limits.requestBytes);
  await first.acquire(limits.batchBytes);
  expect(admitted).toEqual(["first", "other", "small"]);
});

test("one project leaves room for others, and is admitted again after a release", async () => {
  const { admitted, start } = requests();
  const first = await start("first", third, 7);
  await start("second", third, 7);
  await start("third", third, 7);
  const other = await start("other", third, 8);
  expect(admitted).toEqual(["first", "second", "other"]);
  other.release();
  await settled();
  expect(admitted).toEqual(["first", "second", "other"]);
  first.release();
  await settled();
  expect(admitted).toEqual(["first", "second", "other", "third"]);
});

test("those without a key leave room for two large bodies of others", async () => {
  const { admitted, start } = requests();
  for (let n = 0; n < 10; n++) await start("stranger", limits.foreignBatchBytes, "strangers");
  await start("first", limits.batchBytes);
  await start("second", limits.batchBytes);
  expect(admitted).toEqual(["stranger", "stranger", "first", "second"]);
});

test("a body that waits too long is rejected, and the next one moves up", async () => {
  const { admitted, rejected, start } = requests();
  const first = await start("first", 2 * third);
  const second = await start("second", 2 * third);
  jest.advanceTimersByTime(limits.largeBodyWaitSeconds * 500);
  await start("third", third);
  jest.advanceTimersByTime(limits.largeBodyWaitSeconds * 500);
  await settled();
  expect(rejected).toHaveLength(1);
  expect((rejected[0] as ProblemError).toResponse().headers.get("retry-after")).toBe("5");
  expect(admitted).toEqual(["first", "third"]);
  // Rejected, so it has no permit to release.
  second.release();
  first.release();
  await start("fourth", 2 * third);
  await start("fifth", 1 + limits.requestBytes);
  expect(admitted).toEqual(["first", "third", "fourth"]);
});
