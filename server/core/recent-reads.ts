import { LRUCache } from "lru-cache";

/** How long a value is valid. A command or another node may change what it was read from. */
const maxAgeMs = 1_000;
/** From this age on, a value is read again in the background, so that busy callers never wait. */
const refreshAgeMs = 500;

type CachedRead<Value> = { value: Value; readAtMs: number };
type Read<Value> = { promise: Promise<Value>; startedMs: number };

type Options<Key, Value> = {
  read: (key: Key) => Promise<Value>;
  /** The most values in memory. */
  max: number;
  /** Milliseconds, of any origin. */
  now?: () => number;
};

/**
 * Values that are read when they are needed. Callers get the value itself, to pass on: what is in memory can change or
 * disappear while they wait for something else.
 *
 * Invariant: what nodes must agree on is decided in the database. What a node has in memory is read again within a
 * second. Checked by `server/core/recent-reads.test.ts` and `server/e2e/nodes.test.ts`.
 */
export class RecentReads<Key, Value extends object> {
  readonly #read: (key: Key) => Promise<Value>;
  readonly #now: () => number;
  readonly #entries: LRUCache<NonNullable<Key>, CachedRead<Value>>;
  /** Callers that need the same value share one read. */
  readonly #reads = new Map<Key, Read<Value>>();

  constructor({ read, max, now = Date.now }: Options<Key, Value>) {
    this.#read = read;
    this.#now = now;
    this.#entries = new LRUCache({ max });
  }

  /** A value: itself if it was read within the last second, otherwise a promise of it. Throws what reading throws. */
  get(key: NonNullable<Key>): Value | Promise<Value> {
    const entry = this.#entries.get(key);
    const now = this.#now();
    const ageMs = entry ? now - entry.readAtMs : Infinity;
    if (ageMs < refreshAgeMs) return entry!.value;
    const reading = this.#start(key, now);
    if (ageMs >= maxAgeMs) return reading;
    // If this read fails, the next caller that has to wait for one gets the error.
    reading.catch(() => {});
    return entry!.value;
  }

  /** A value of any age, if it is in memory. */
  peek(key: NonNullable<Key>): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  /** Makes a change effective at once, also for callers that wait for a read that began before it. */
  invalidate(key: NonNullable<Key>): void {
    this.#entries.delete(key);
    this.#reads.delete(key);
  }

  /** The same for all values that a change concerns. */
  invalidateWhere(isChanged: (value: Value) => boolean): void {
    // What they read is not known yet.
    this.#reads.clear();
    for (const [key, { value }] of this.#entries) if (isChanged(value)) this.#entries.delete(key);
  }

  #start(key: NonNullable<Key>, now: number): Promise<Value> {
    const current = this.#reads.get(key);
    if (current && now - current.startedMs < maxAgeMs) return current.promise;
    const read: Read<Value> = {
      promise: this.#finish(key, now, () => this.#reads.get(key) === read),
      startedMs: now,
    };
    this.#reads.set(key, read);
    return read.promise;
  }

  /** @param isCurrent - whether nothing was invalidated, and no later read began, since this one did */
  async #finish(key: NonNullable<Key>, startedMs: number, isCurrent: () => boolean): Promise<Value> {
    try {
      const value = await this.#read(key);
      if (!isCurrent()) return await this.get(key);
      this.#entries.set(key, { value, readAtMs: startedMs });
      return value;
    } finally {
      if (isCurrent()) this.#reads.delete(key);
    }
  }
}
