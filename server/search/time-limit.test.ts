import { expect, test } from "bun:test";
import { TimeLimit } from "./time-limit.ts";

test("what comes too late is replaced, and told to end", async () => {
  const timeLimit = new TimeLimit(20);
  const ended = Promise.withResolvers<void>();
  const never = timeLimit.orElse("late", (signal) => {
    signal.addEventListener("abort", () => ended.resolve());
    return new Promise<string>(() => {});
  });
  expect(await timeLimit.orElse("late", async () => "soon")).toBe("soon");
  expect(await never).toBe("late");
  await ended.promise;
  const begun: string[] = [];
  expect(await timeLimit.orElse("late", async () => `${begun.push("work")}`)).toBe("late");
  expect(begun).toEqual([]);
});

test("an error within the time is passed on, one because of its end is not", async () => {
  const failing = new TimeLimit(1_000).orElse("late", async () => {
    throw new Error("failed");
  });
  expect(failing).rejects.toThrow("failed");
  const ended = new TimeLimit(20).orElse("late", async (signal) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    signal.throwIfAborted();
    return "never";
  });
  expect(await ended).toBe("late");
});
