import { expect, test } from "bun:test";
import { RateLimits } from "./rate-limits.ts";

test("each key has its own count, in a window that starts with its first request", async () => {
  let now = 1_000;
  const limits = new RateLimits(() => now);
  const rule = { window: 60, max: 2 };
  expect(await limits.consume("a", rule)).toEqual({ allowed: true, retryAfter: null });
  now += 30_000;
  expect(await limits.consume("a", rule)).toEqual({ allowed: true, retryAfter: null });
  expect(await limits.consume("a", rule)).toEqual({ allowed: false, retryAfter: 30 });
  expect(await limits.consume("b", rule)).toEqual({ allowed: true, retryAfter: null });
  now += 30_000;
  expect(await limits.consume("a", rule)).toEqual({ allowed: true, retryAfter: null });
});

test("a key is remembered among thousands of others", async () => {
  const limits = new RateLimits(() => 0);
  const rule = { window: 60, max: 1 };
  await limits.consume("guarded", rule);
  for (let n = 0; n < 9_000; n++) await limits.consume(`${n}`, rule);
  expect((await limits.consume("guarded", rule)).allowed).toBe(false);
});
