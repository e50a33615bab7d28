import { LRUCache } from "lru-cache";
import type { UserProperties } from "../schemas/user-rule.ts";
import { applyChanges, type UserChange } from "../users/user-change.ts";

const rememberedUsers = 50_000;

/** Collects the changes to users that an import finds, without those that change nothing. */
export class UserChanges {
  /** What this import has set. */
  readonly #known = new LRUCache<string, UserProperties>({ max: rememberedUsers });
  #changes: UserChange[] = [];
  /** Users whose properties are set. */
  count = 0;

  add(change: UserChange): void {
    const known = this.#known.get(change.userId);
    const { set = {}, setOnce = {} } = change;
    const isKnown =
      known &&
      Object.entries(set).every(([name, value]) => known[name] === value) &&
      Object.keys(setOnce).every((name) => known[name] !== undefined);
    if (isKnown) return;
    if (!known) this.count++;
    this.#known.set(change.userId, applyChanges(known ?? {}, [change]));
    this.#changes.push(change);
  }

  /** The changes since the last call, in order. */
  take(): UserChange[] {
    const changes = this.#changes;
    this.#changes = [];
    return changes;
  }
}
