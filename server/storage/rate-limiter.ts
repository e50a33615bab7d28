import type { RateLimiterAbstract } from "rate-limiter-flexible";
import type { RateLimiter, RateLimiterOptions, RateLimitState } from "./store.ts";

/** A limiter of rate-limiter-flexible as a `RateLimiter`. It rejects with its result if a key has no points left. */
export function rateLimiter(
  limiter: RateLimiterAbstract,
  { points: limit }: RateLimiterOptions,
): RateLimiter {
  return {
    async consume(key, points = 1) {
      try {
        return stateOf(await limiter.consume(key, points));
      } catch (rejected) {
        if (rejected instanceof Error) throw rejected;
        return { ...stateOf(rejected as Result), allowed: false, remaining: 0 };
      }
    },
    async reset(key) {
      await limiter.delete(key);
    },
  };

  function stateOf({ consumedPoints, msBeforeNext }: Result): RateLimitState {
    return {
      allowed: true,
      remaining: Math.max(limit - consumedPoints, 0),
      resetSeconds: Math.max(Math.ceil(msBeforeNext / 1_000), 1),
    };
  }
}

type Result = { consumedPoints: number; msBeforeNext: number };
