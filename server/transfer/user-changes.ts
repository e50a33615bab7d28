import { LRUCache } from "lru-cache";
import type { ItemJoining } from "../drop-in/item.ts";
import type { GroupChange } from "../schemas/group-rule.ts";
import type { UserProperties } from "../schemas/user-rule.ts";
import { applyChanges, type UserChange } from "../users/user-change.ts";

const rememberedUsers = 50_000;

/** IDs to join, and the number of the record that says so. */
export type RecordJoining = ItemJoining & { record: number };

/** A group to save, and the number of the record that says so. */
export type RecordGroup = GroupChange & { record: number };

/** Collects the changes to users that an import finds, without those that change nothing. */
export class UserChanges {
  /** What this import has set. */
  readonly #known = new LRUCache<string, UserProperties>({ max: rememberedUsers });
  #changes: UserChange[] = [];
  readonly #joined = new LRUCache<string, true>({ max: rememberedUsers });
  #joinings: RecordJoining[] = [];
  #groups: RecordGroup[] = [];
  /** Users whose properties are set. */
  count = 0;

  add(change: UserChange): void {
    const known = this.#known.get(change.userId);
    const { set = {}, setOnce = {} } = change;
    const isKnown =
      known &&
      Object.entries(set).every(([name, value]) => known[name] === value) &&
      Object.keys(setOnce).every((name) => known[name] !== undefined);
    if (isKnown && !change.identifies) return;
    if (!known) this.count++;
    this.#known.set(change.userId, applyChanges(known ?? {}, [change]));
    this.#changes.push(change);
  }

  /** Adds IDs of one person that this import has not joined yet. */
  join(joinings: readonly ItemJoining[], record: number): void {
    for (const joining of joinings) {
      const key = `${joining.id}\n${joining.userId}`;
      if (this.#joined.has(key)) continue;
      this.#joined.set(key, true);
      this.#joinings.push({ ...joining, record });
    }
  }

  /** The IDs to join since the last call, in order. */
  takeJoinings(): RecordJoining[] {
    const joinings = this.#joinings;
    this.#joinings = [];
    return joinings;
  }

  save(groups: readonly GroupChange[], record: number): void {
    for (const group of groups) this.#groups.push({ ...group, record });
  }

  /** The groups to save since the last call, in order. */
  takeGroups(): RecordGroup[] {
    const groups = this.#groups;
    this.#groups = [];
    return groups;
  }

  /** The changes since the last call, in order. */
  take(): UserChange[] {
    const changes = this.#changes;
    this.#changes = [];
    return changes;
  }
}
