/// <reference path="../rate-limiter-flexible.d.ts" />
import { LRUCache } from "lru-cache";
import RateLimiterMemory from "rate-limiter-flexible/lib/RateLimiterMemory.js";
import { limits } from "../../limits.ts";
import { rateLimiter } from "../rate-limiter.ts";
import type { RateLimiter, RateLimiterOptions } from "../store.ts";

/** Counts in memory, because SQLite serves one process. The keys that were not used for longest are forgotten. */
export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  const { name, points, seconds } = options;
  const limiter = new RateLimiterMemory({ keyPrefix: name, points, duration: seconds });
  const { consume, reset } = rateLimiter(limiter, options);
  const recent = new LRUCache<string, true>({
    max: limits.rateLimitKeys,
    dispose: (_, key, reason) => {
      if (reason === "evict") void limiter.delete(key);
    },
  });
  return {
    consume(key, points) {
      recent.set(key, true);
      return consume(key, points);
    },
    reset,
  };
}
