import { LRUCache } from "lru-cache";
import { limits } from "../core/limits.ts";
import { clipped, problem } from "../core/problems.ts";
import type { KeyAccess } from "../http/caller.ts";
import type { RateLimiter, RateLimitState } from "../storage/rate-limiter.ts";
import type { Store } from "../storage/store.ts";

/** Distinct rates that are counted at once. The counts of those that were not used for longest are lost. */
const ratesMax = 100;

/** Rate limits of keys. A window takes ten seconds' worth of events, so that short bursts pass. */
export class KeyRateLimits {
  /** By the number of events in a window. */
  readonly #limiters: LRUCache<number, RateLimiter>;

  constructor(store: Pick<Store, "rateLimiter">) {
    this.#limiters = new LRUCache({
      max: ratesMax,
      memoMethod: (points) =>
        store.rateLimiter({ name: "events", points, seconds: limits.rateWindowSeconds }),
    });
  }

  /** The rate limit of a key for one request; null if the key has none. */
  of({ keyId, eventsPerSecond }: KeyAccess): RequestRateLimit | null {
    if (eventsPerSecond === null) return null;
    const points = eventsPerSecond * limits.rateWindowSeconds;
    return new RequestRateLimit(keyId, points, this.#limiters.memo(points));
  }
}

/** Counts a request's events, and tells its sender about the limit. */
export class RequestRateLimit {
  /** The most events that can be sent at once. */
  readonly windowEvents: number;
  readonly #keyId: string;
  readonly #limiter: RateLimiter;
  #state: RateLimitState | null = null;

  constructor(keyId: string, windowEvents: number, limiter: RateLimiter) {
    this.#keyId = keyId;
    this.windowEvents = windowEvents;
    this.#limiter = limiter;
  }

  /** Throws `rate-limited`, and `body-too-large` for more events than can ever be sent at once. */
  async take(events: number): Promise<void> {
    const { windowEvents } = this;
    const policy = `${windowEvents.toLocaleString("en")} events in ${limits.rateWindowSeconds} seconds`;
    if (events > windowEvents) {
      throw problem("body-too-large", {
        detail: `This key can send ${policy}, and the array has ${events.toLocaleString("en")}. Send shorter arrays.`,
      });
    }
    if (await this.tryToTake(events)) return;
    const { resetSeconds } = this.#state!;
    throw problem("rate-limited", {
      detail: `This key can send ${policy}. Try again in ${resetSeconds} ${resetSeconds === 1 ? "second" : "seconds"}.`,
      retryAfterSeconds: resetSeconds,
    });
  }

  /** Takes at most a window's events, and returns whether the limit allows them now. */
  async tryToTake(events: number): Promise<boolean> {
    this.#state = await this.#limiter.consume(this.#keyId, events);
    return this.#state.allowed;
  }

  /** `RateLimit-Policy` and `RateLimit` (https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers). */
  addHeaders(headers: Headers): void {
    headers.set("ratelimit-policy", `"events";q=${this.windowEvents};w=${limits.rateWindowSeconds}`);
    if (this.#state)
      headers.set("ratelimit", `"events";r=${this.#state.remaining};t=${this.#state.resetSeconds}`);
  }
}

/** Whether a key may be used by a page of an origin. `https://*.example.com` allows all its subdomains. */
function allowsOrigin({ origins }: Pick<KeyAccess, "origins">, origin: string): boolean {
  if (origins.length === 0) return true;
  return origins.some((allowed) => {
    if (!allowed.includes("://*.")) return origin === allowed;
    const [scheme, domain] = allowed.split("*") as [string, string];
    return origin.startsWith(scheme) && origin.endsWith(domain) && origin.length > allowed.length - 1;
  });
}

/** Throws `key-origin-forbidden` if a browser sends a request from a page that may not use the key. */
export function checkKeyOrigin(key: KeyAccess, origin: string | null): void {
  if (origin === null || allowsOrigin(key, origin)) return;
  throw problem("key-origin-forbidden", {
    detail: `Pages of ${clipped(origin)} may not use this key. Add the origin to the key in the dashboard under "API keys".`,
  });
}
