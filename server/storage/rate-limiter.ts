import type { RateLimiterAbstract } from "rate-limiter-flexible";

/** A limit: so many points for each key, in windows that begin with a key's first use. */
export type RateLimiterOptions = {
  /** Tells its keys from those of other limits. */
  name: string;
  points: number;
  seconds: number;
};

export type RateLimitState = {
  allowed: boolean;
  /** Points that are left in this window. */
  remaining: number;
  /** Seconds until the window ends; at least 1. */
  resetSeconds: number;
};

/** Limits what each key may do. All nodes count together. */
export interface RateLimiter {
  /**
   * Takes points from a key, one by default; not allowed if it has too few left. Throws `storage-unavailable`.
   */
  consume(key: string, points?: number): Promise<RateLimitState>;
  /** Gives a key all its points back. */
  reset(key: string): Promise<void>;
}

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
