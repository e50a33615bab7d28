// @engines sqlite, postgres
import { afterAll, afterEach, beforeAll, describe, expect, setSystemTime, test } from "bun:test";
import type { RateLimiterAbstract } from "rate-limiter-flexible";
import { limits } from "../core/limits.ts";
import { stores } from "../testing/engine.ts";
import { until } from "../testing/until.ts";
import { rateLimiter } from "./rate-limiter.ts";
import type { Store } from "./store.ts";

for (const engine of stores) {
  describe(`rate limits on ${engine.name}`, () => {
    let storage: Awaited<ReturnType<typeof engine.create>>;
    let store: Store;
    beforeAll(async () => {
      storage = await engine.create();
      store = await storage.open();
    });
    afterAll(async () => {
      await store.close();
      await storage.remove();
    });

    afterEach(() => void setSystemTime());

    const consumeAll = (keys: string[], name: string) => {
      const limiter = store.rateLimiter({ name, points: 3, seconds: 60 });
      return Promise.all(keys.map((key) => limiter.consume(key)));
    };

    test("a key gets exactly its points, even at once; other keys and limits have their own", async () => {
      const states = await consumeAll(Array<string>(10).fill("a"), "first");
      const remaining = states.filter(({ allowed }) => allowed).map((state) => state.remaining);
      expect(remaining.toSorted()).toEqual([0, 1, 2]);
      const rejected = states.filter(({ allowed }) => !allowed);
      expect(rejected).toHaveLength(7);
      for (const { remaining, resetSeconds } of rejected) {
        expect(remaining).toBe(0);
        expect(resetSeconds).toBeWithin(50, 61);
      }
      expect((await consumeAll(["b"], "first"))[0]!.allowed).toBe(true);
      expect((await consumeAll(["a"], "second"))[0]!.allowed).toBe(true);
    });

    test("several points can be taken at once", async () => {
      const limiter = store.rateLimiter({ name: "several", points: 10, seconds: 60 });
      expect(await limiter.consume("a", 8)).toMatchObject({ allowed: true, remaining: 2 });
      expect(await limiter.consume("a", 8)).toMatchObject({ allowed: false, remaining: 0 });
    });

    test("a reset gives all points back", async () => {
      const limiter = store.rateLimiter({ name: "reset", points: 2, seconds: 60 });
      await limiter.consume("a");
      await limiter.reset("a");
      expect(await limiter.consume("a")).toMatchObject({ allowed: true, remaining: 1 });
    });

    test("a window ends", async () => {
      const limiter = store.rateLimiter({ name: "window", points: 1, seconds: 1 });
      await limiter.consume("a");
      expect(await limiter.consume("a")).toMatchObject({ allowed: false, resetSeconds: 1 });
      await until(async () => (await limiter.consume("a")).allowed);
    });

    for (const [jump, days] of [
      ["forward", 1],
      ["back", -1],
    ] as const) {
      test(`a window lasts no longer if the clock jumps ${jump} by a day`, async () => {
        const limiter = store.rateLimiter({ name: jump, points: 2, seconds: 60 });
        const useUp = async () => {
          const states = [await limiter.consume("a"), await limiter.consume("a"), await limiter.consume("a")];
          expect(states.map(({ allowed }) => allowed)).toEqual([true, true, false]);
          expect(states.map(({ resetSeconds }) => resetSeconds <= 60)).toEqual([true, true, true]);
        };
        await useUp();
        setSystemTime(Date.now() + days * 86_400_000);
        await useUp();
        setSystemTime();
        await useUp();
      });
    }

    if (engine.name === "postgres") {
      test("two nodes count together", async () => {
        await using other = await storage.open().then((node) => ({
          node,
          [Symbol.asyncDispose]: () => node.close(),
        }));
        const options = { name: "nodes", points: 3, seconds: 60 };
        const limiters = [store.rateLimiter(options), other.node.rateLimiter(options)];
        const states = await Promise.all([...limiters, ...limiters].map((limiter) => limiter.consume("a")));
        expect(states.filter(({ allowed }) => allowed)).toHaveLength(3);
      });
    } else {
      test("a key in use is remembered, however many others there are", async () => {
        const limiter = store.rateLimiter({ name: "many", points: 3, seconds: 60 });
        for (let n = 0; n < limits.rateLimitKeys * 1.5; n++) {
          if (n % 10_000 === 0) await limiter.consume("guarded");
          await limiter.consume(`${n}`);
        }
        expect((await limiter.consume("guarded")).allowed).toBe(false);
        expect((await limiter.consume("0")).remaining).toBe(2);
      });
    }
  });
}

describe("what a limiter reports", () => {
  type Taken = { consumedPoints: number; msBeforeNext: number };
  /** A limiter of ten points in ten seconds, whose next calls have these outcomes. */
  const limiterOf = (...outcomes: (() => Promise<Taken>)[]) => {
    const calls: unknown[] = [];
    const limiter = rateLimiter(
      {
        consume: (key: string, points: number) => {
          calls.push(["consume", key, points]);
          return outcomes.shift()!();
        },
        delete: async (key: string) => calls.push(["delete", key]),
      } as unknown as RateLimiterAbstract,
      { name: "events", points: 10, seconds: 10 },
    );
    return { limiter, calls };
  };
  const taken = (msBeforeNext: number) => async () => ({ consumedPoints: 4, msBeforeNext });

  test("whole seconds until there are points again, at least one and at most a window", async () => {
    const times = [0, 1, 1_000, 1_001, 2_500, 10_000, 15_000];
    const { limiter, calls } = limiterOf(...times.map(taken));
    const seconds: number[] = [];
    for (const _ of times) {
      const state = await limiter.consume("key", 4);
      expect(state).toMatchObject({ allowed: true, remaining: 6 });
      seconds.push(state.resetSeconds);
    }
    expect(seconds).toEqual([1, 1, 1, 2, 3, 10, 10]);
    expect(calls).toEqual(times.map(() => ["consume", "key", 4]));
  });

  test("a new window, if the clock was set back by more than clocks differ", async () => {
    const { limiter, calls } = limiterOf(taken(15_001), taken(10_000));
    expect(await limiter.consume("key")).toEqual({ allowed: true, remaining: 6, resetSeconds: 10 });
    expect(calls).toEqual([
      ["consume", "key", 1],
      ["delete", "key"],
      ["consume", "key", 1],
    ]);
  });

  test("an error of the storage is one", async () => {
    const { limiter } = limiterOf(() => Promise.reject(new Error("disk full")));
    await expect(limiter.consume("key")).rejects.toThrow("disk full");
  });
});
