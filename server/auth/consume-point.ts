import { problem } from "../problems.ts";
import type { RateLimiter } from "../storage/rate-limiter.ts";

/** Takes a point from a key of a rate limit. Throws `too-many-requests` if it has none left. */
export async function consumePoint(limiter: RateLimiter, key: string): Promise<void> {
  const { allowed, resetSeconds } = await limiter.consume(key);
  if (allowed) return;
  const minutes = Math.ceil(resetSeconds / 60);
  const detail = `Too many attempts. Try again in ${minutes === 1 ? "a minute" : `${minutes} minutes`}.`;
  throw problem("too-many-requests", { detail, retryAfterSeconds: resetSeconds });
}
