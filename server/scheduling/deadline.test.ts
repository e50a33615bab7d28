import { afterEach, expect, jest, test } from "bun:test";
import { outsideRequests, requestSignal, tooSlow, withDeadline } from "./deadline.ts";

const never = () => new Promise<never>(() => {});
const client = () => new AbortController();

afterEach(() => void jest.useRealTimers());

test("work that takes too long is a problem that says what to do, and its reads end", async () => {
  let signal: AbortSignal | undefined;
  const work = withDeadline(
    client().signal,
    async () => {
      await Bun.sleep(0);
      signal = requestSignal();
      return never();
    },
    { seconds: 0.01 },
  );
  await expect(work).rejects.toThrow(
    "query-too-expensive: This takes longer than 0.01 seconds. Use a shorter range or more filters.",
  );
  expect(signal!.aborted).toBe(true);
  expect(() => signal!.throwIfAborted()).toThrow("query-too-expensive");
  expect(requestSignal()).toBeUndefined();
});

test("reads also end when the client is gone", async () => {
  const gone = client();
  const work = withDeadline(gone.signal, async () => {
    const signal = requestSignal()!;
    gone.abort(new Error("gone"));
    signal.throwIfAborted();
  });
  await expect(work).rejects.toThrow("gone");
});

test("a request within a request ends first", async () => {
  const caught = await withDeadline(
    client().signal,
    () => withDeadline(client().signal, never, { seconds: 60 }).catch((error: Error) => error.message),
    { seconds: 1.01 },
  );
  expect(caught).toContain("query-too-expensive");
});

test("a request has two minutes, and one within it a second less than what is left", async () => {
  jest.useFakeTimers();
  jest.advanceTimersByTime(1_000);
  const ended: string[] = [];
  const outer = withDeadline(client().signal, () => {
    const inner = withDeadline(client().signal, never, { seconds: 600 }).catch(() => ended.push("inner"));
    return inner.then(never);
  }).catch(() => ended.push("outer"));
  await advance(118_999);
  expect(ended).toEqual([]);
  await advance(1);
  expect(ended).toEqual(["inner"]);
  await advance(999);
  expect(ended).toEqual(["inner"]);
  await advance(1);
  expect(ended).toEqual(["inner", "outer"]);
  await outer;
});

test("work that is done in time leaves no timer", async () => {
  jest.useFakeTimers();
  expect(await withDeadline(client().signal, async () => "done")).toBe("done");
  expect(jest.getTimerCount()).toBe(0);
});

test("work that several requests share does not end with one of them", async () => {
  await withDeadline(client().signal, async () => {
    expect(requestSignal()).toBeDefined();
    expect(outsideRequests(() => [requestSignal()])).toEqual([undefined]);
  });
});

test("a change that takes too long may be sent again later", () => {
  expect(tooSlow(120)).toMatchObject({ code: "overloaded", options: { retryAfterSeconds: 30 } });
});

async function advance(ms: number): Promise<void> {
  jest.advanceTimersByTime(ms);
  for (let step = 0; step < 10; step++) await Promise.resolve();
}
