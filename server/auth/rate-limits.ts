import type { RateLimiter } from "../storage/rate-limiter.ts";
import type { Store } from "../storage/store.ts";

type Rule = { window: number; max: number };

/** Where better-auth counts requests by address and path. Its own memory serves one node only. */
export function rateLimitStorage(rateLimiter: Store["rateLimiter"]) {
  const limiters = new Map<string, RateLimiter>();
  return {
    async consume(
      key: string,
      { window, max }: Rule,
    ): Promise<{ allowed: boolean; retryAfter: number | null }> {
      const name = `auth-${max}/${window}`;
      const limiter = limiters.get(name) ?? rateLimiter({ name, points: max, seconds: window });
      limiters.set(name, limiter);
      const { allowed, resetSeconds } = await limiter.consume(key);
      return { allowed, retryAfter: allowed ? null : resetSeconds };
    },
  };
}
