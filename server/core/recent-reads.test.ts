import { expect, test } from "bun:test";
import { RecentReads } from "./recent-reads.ts";

type Value = { version: number };

/** Reads that each wait until the test finishes them, with the version that was stored when they began. */
function reads() {
  let nowMs = 0;
  let version = 1;
  const waiting: { finish: () => void; fail: (error: Error) => void }[] = [];
  const recent = new RecentReads<string, Value>({
    read() {
      const { promise, resolve, reject } = Promise.withResolvers<Value>();
      const value = { version };
      waiting.push({ finish: () => resolve(value), fail: reject });
      return promise;
    },
    max: 10,
    now: () => nowMs,
  });
  return {
    recent,
    waiting,
    get: () => recent.get("a"),
    pass: (ms: number) => {
      nowMs += ms;
    },
    change: () => {
      version++;
    },
  };
}

test("callers share a read, and a value in memory needs no waiting", async () => {
  const { get, waiting } = reads();
  const both = [get(), get()];
  expect(waiting).toHaveLength(1);
  waiting[0]!.finish();
  expect(await Promise.all(both)).toEqual([{ version: 1 }, { version: 1 }]);
  expect(get()).toEqual({ version: 1 });
  expect(waiting).toHaveLength(1);
});

test("after half a second a value is read again in the background, after a second callers wait", async () => {
  const { get, pass, change, waiting } = reads();
  const first = get();
  waiting[0]!.finish();
  await first;
  change();
  pass(500);
  expect([get(), get()]).toEqual([{ version: 1 }, { version: 1 }]);
  expect(waiting).toHaveLength(2);
  waiting[1]!.fail(new Error("The storage is away."));
  await Bun.sleep(0);
  pass(500);
  const later = get();
  expect(later).toBeInstanceOf(Promise);
  waiting[2]!.finish();
  expect(await later).toEqual({ version: 2 });
});

for (const change of ["invalidate", "invalidateWhere"] as const) {
  test(`${change}: whoever waits for an earlier read gets what was read after the change, and so does everyone else`, async () => {
    const { recent, get, change: store, waiting } = reads();
    const early = get();
    store();
    if (change === "invalidate") recent.invalidate("a");
    else recent.invalidateWhere(() => false);
    const late = get();
    waiting[1]!.finish();
    expect(await late).toEqual({ version: 2 });
    // The first read ends last.
    waiting[0]!.finish();
    expect(await early).toEqual({ version: 2 });
    expect(get()).toEqual({ version: 2 });
  });
}

test("a read that no one else waits for anymore is not kept if a change came in between", async () => {
  const { recent, get, change, waiting } = reads();
  const early = get();
  change();
  recent.invalidate("a");
  waiting[0]!.finish();
  await Bun.sleep(0);
  expect(waiting).toHaveLength(2);
  waiting[1]!.finish();
  expect(await early).toEqual({ version: 2 });
});

test("nobody joins a read that began more than a second ago", async () => {
  const { get, pass, change, waiting } = reads();
  const slow = get();
  change();
  pass(1_000);
  const next = get();
  expect(waiting).toHaveLength(2);
  waiting[0]!.finish();
  waiting[1]!.finish();
  expect(await Promise.all([slow, next])).toEqual([{ version: 2 }, { version: 2 }]);
});

test("a read that fails is tried again", async () => {
  const { get, waiting } = reads();
  const failed = Promise.resolve(get());
  waiting[0]!.fail(new Error("The storage is away."));
  expect(failed).rejects.toThrow("away");
  await failed.catch(() => {});
  const again = get();
  waiting[1]!.finish();
  expect(await again).toEqual({ version: 1 });
});
