import { expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import { PublicQueue } from "./public-queue.ts";

const settled = () => new Promise(setImmediate);
const { signal } = new AbortController();

test("visitors of one project's boards don't hold up those of another, and one of each is computed at a time", async () => {
  const queue = new PublicQueue();
  const started: string[] = [];
  const never = Promise.withResolvers<string>();
  const ask = (projectId: number, key: string) =>
    queue.run(projectId, key, signal, () => {
      started.push(key);
      return never.promise;
    });
  const asked = Array.from({ length: limits.boardLinkWaiting + 1 }, (_, n) => ask(1, `a${n}`));
  await expect(ask(1, "one more")).rejects.toThrow("overloaded: Too many people");
  asked.push(ask(2, "b"));
  await settled();
  expect(started).toEqual(["a0", "b"]);
  never.resolve("done");
  await Promise.all(asked);
  expect(started).toHaveLength(limits.boardLinkWaiting + 2);
});

test("requests for the same result share its computation, which ends with the last of them", async () => {
  const queue = new PublicQueue();
  let computed = 0;
  let ended: AbortSignal | undefined;
  const ask = (controller: AbortController) =>
    queue.run(1, "same", controller.signal, (signal) => {
      computed++;
      ended = signal;
      return new Promise<string>((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason)),
      );
    });
  const [first, second] = [new AbortController(), new AbortController()];
  const answers = [ask(first), ask(second)];
  await settled();
  expect(computed).toBe(1);
  first.abort(new Error("gone"));
  await expect(answers[0]!).rejects.toThrow("gone");
  await settled();
  expect(computed).toBe(1);
  expect(ended!.aborted).toBe(false);
  second.abort(new Error("gone too"));
  await expect(answers[1]!).rejects.toThrow("gone too");
  expect(ended!.aborted).toBe(true);
});
