import { problem } from "../core/problems.ts";
import type { RateLimiter } from "./rate-limiter.ts";

/**
 * Takes a point from a key of a rate limit. Throws `too-many-requests` if it has none left.
 *
 * @param what - there are too many of, in a sentence: "requests with invitations"
 */
export async function takePoint(limiter: RateLimiter, key: string, what = "requests"): Promise<void> {
  const { allowed, resetSeconds } = await limiter.consume(key);
  if (allowed) return;
  const wait = `${resetSeconds} ${resetSeconds === 1 ? "second" : "seconds"}`;
  throw problem("too-many-requests", {
    detail: `Too many ${what}. Try again in ${wait}.`,
    retryAfterSeconds: resetSeconds,
  });
}
