import { problem } from "../core/problems.ts";
import type { RateLimiter } from "../storage/rate-limiter.ts";

/**
 * Takes a point from a key of a rate limit. Throws `too-many-requests` if it has none left.
 *
 * @param points - to take. With 0, this only throws if more were taken than there are.
 */
export async function consumePoint(limiter: RateLimiter, key: string, points = 1): Promise<void> {
  const { allowed, resetSeconds } = await limiter.consume(key, points);
  if (allowed) return;
  const minutes = Math.ceil(resetSeconds / 60);
  const detail = `Too many attempts. Try again in ${minutes === 1 ? "a minute" : `${minutes} minutes`}.`;
  throw problem("too-many-requests", { detail, retryAfterSeconds: resetSeconds });
}
