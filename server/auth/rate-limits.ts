type Rule = { window: number; max: number };
type Window = { count: number; endsAtMs: number };

const windowsMax = 10_000;

/**
 * Counts requests by address and path, in windows that start with the first request. better-auth's own memory is shared
 * by the whole process, and its windows never end while requests continue.
 */
export class RateLimits {
  readonly #windows = new Map<string, Window>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async consume(
    key: string,
    { window, max }: Rule,
  ): Promise<{ allowed: boolean; retryAfter: number | null }> {
    const now = this.#now();
    const current = this.#windows.get(key);
    if (current && now < current.endsAtMs) {
      current.count++;
      const allowed = current.count <= max;
      return { allowed, retryAfter: allowed ? null : Math.ceil((current.endsAtMs - now) / 1_000) };
    }
    if (this.#windows.size >= windowsMax) this.#removeExpired(now);
    this.#windows.set(key, { count: 1, endsAtMs: now + window * 1_000 });
    return { allowed: true, retryAfter: null };
  }

  #removeExpired(now: number): void {
    for (const [key, { endsAtMs }] of this.#windows) if (endsAtMs <= now) this.#windows.delete(key);
    if (this.#windows.size >= windowsMax) this.#windows.clear();
  }
}
