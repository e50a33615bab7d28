import { LRUCache } from "lru-cache";
import { limits } from "../limits.ts";
import type { UserProperties } from "../wire/user.ts";

const rememberedUsers = 50_000;
const requestsAtOnce = 8;

/** Reads and replaces the properties of a user. One who is not known yet has none. */
export type UserAccess = {
  read: (userId: string) => Promise<UserProperties>;
  write: (userId: string, properties: UserProperties) => Promise<unknown>;
};

/** Sets the properties that an import finds, added to those that users have. */
export class UserImport {
  readonly #access: UserAccess;
  /** What users have, as far as this import knows. */
  readonly #known = new LRUCache<string, UserProperties>({ max: rememberedUsers });
  #changed = new Map<string, UserProperties>();
  /** Users whose properties changed. */
  count = 0;

  constructor(access: UserAccess) {
    this.#access = access;
  }

  add(userId: string, properties: UserProperties): void {
    const known = this.#known.get(userId);
    if (known && Object.entries(properties).every(([name, value]) => known[name] === value)) return;
    this.#changed.set(userId, { ...this.#changed.get(userId), ...properties });
  }

  /** Stores what was added. */
  async flush(): Promise<void> {
    const changed = [...this.#changed];
    this.#changed = new Map();
    const next = async () => {
      for (let user = changed.shift(); user; user = changed.shift()) await this.#put(...user);
    };
    await Promise.all(Array.from({ length: requestsAtOnce }, next));
  }

  async #put(userId: string, properties: UserProperties): Promise<void> {
    const known = this.#known.get(userId) ?? (await this.#access.read(userId));
    const entries = Object.entries({ ...known, ...properties }).slice(0, limits.userProperties);
    const merged = Object.fromEntries(entries);
    await this.#access.write(userId, merged);
    if (!this.#known.has(userId)) this.count++;
    this.#known.set(userId, merged);
  }
}
