import type { RateLimiterAbstract } from "rate-limiter-flexible";

/** A limit: points for each key, in windows that begin with the key's first use. */
export type RateLimiterOptions = {
  /** Separates its keys from those of other limits. */
  name: string;
  points: number;
  seconds: number;
};

export type RateLimitState = {
  allowed: boolean;
  /** Remaining points in this window. */
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
  /** Returns all points to a key. */
  reset(key: string): Promise<void>;
}

/** The clocks of two nodes may differ by this much, in milliseconds. */
const clockToleranceMs = 5_000;

/**
 * A limiter of rate-limiter-flexible as a `RateLimiter`. It computes the ends of windows from the clock. If the clock
 * is set back by a day, a window would last a day longer, so a new window begins.
 */
export function rateLimiter(
  limiter: RateLimiterAbstract,
  { points: limit, seconds }: RateLimiterOptions,
): RateLimiter {
  return {
    async consume(key, points = 1) {
      const state = await take(key, points);
      if (state.msBeforeNext <= seconds * 1_000 + clockToleranceMs) return stateOf(state);
      await limiter.delete(key);
      return stateOf(await take(key, points));
    },
    async reset(key) {
      await limiter.delete(key);
    },
  };

  /** The limiter rejects with its result if a key has too few points left. */
  async function take(key: string, points: number): Promise<Taken> {
    try {
      const { consumedPoints, msBeforeNext } = await limiter.consume(key, points);
      return { allowed: true, remaining: Math.max(limit - consumedPoints, 0), msBeforeNext };
    } catch (rejected) {
      if (rejected instanceof Error) throw rejected;
      const { msBeforeNext } = rejected as { msBeforeNext: number };
      return { allowed: false, remaining: 0, msBeforeNext };
    }
  }

  function stateOf({ msBeforeNext, ...state }: Taken): RateLimitState {
    const resetSeconds = Math.min(Math.max(Math.ceil(msBeforeNext / 1_000), 1), seconds);
    return { ...state, resetSeconds };
  }
}

type Taken = { allowed: boolean; remaining: number; msBeforeNext: number };
