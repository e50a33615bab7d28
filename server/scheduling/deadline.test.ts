import { expect, test } from "bun:test";
import { requestSignal, withDeadline } from "./deadline.ts";

const never = () => new Promise<never>(() => {});
const client = () => new AbortController();

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
