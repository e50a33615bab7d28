/// <reference path="../rate-limiter-flexible.d.ts" />
import RateLimiterMemory from "rate-limiter-flexible/lib/RateLimiterMemory.js";
import { limits } from "../../core/limits.ts";
import type { RateLimiter, RateLimiterOptions } from "../rate-limiter.ts";
import { rateLimiter } from "../rate-limiter.ts";

/** Counts in memory, because SQLite serves one process. It drops the keys that were not used for longest. */
export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  const { name, points, seconds } = options;
  const limiter = new RateLimiterMemory({ keyPrefix: name, points, duration: seconds });
  const { consume, reset } = rateLimiter(limiter, options);
  /** Keys by their last use, the oldest first. Unlike `LRUCache`, a set takes no memory in advance. */
  const used = new Set<string>();
  return {
    consume(key, points) {
      used.delete(key);
      used.add(key);
      if (used.size > limits.rateLimitKeys) remove(used.keys().next().value!);
      return consume(key, points);
    },
    reset,
  };

  function remove(key: string): void {
    used.delete(key);
    void limiter.delete(key);
  }
}
