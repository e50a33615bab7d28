import type { UserSet } from "./search.ts";
import { userHash, userWords } from "./user-hash.ts";

export type { UserSet } from "./search.ts";

/** Makes a set of user IDs. A `Set` of the same size takes ten times the memory. */
export class UserSetBuilder {
  #set: UserSet;
  #count = 0;

  /** @param users - how many are expected */
  constructor(users: number) {
    this.#set = emptySet(users);
  }

  add(userId: string): void {
    const [first, second, third] = userHash(userId);
    this.addHash(first!, second!, third!);
  }

  addHash(first: number, second: number, third: number): void {
    const { slots } = this.#set;
    const at = slotOf(slots, first, second, third);
    if (!isFree(slots, at)) return;
    put(slots, at, first, second, third);
    if (++this.#count * 2 * userWords > slots.length) this.#grow();
  }

  get set(): UserSet {
    return this.#set;
  }

  #grow(): void {
    const { slots: old } = this.#set;
    this.#set = emptySet(this.#count * 2);
    const { slots } = this.#set;
    for (let from = 0; from < old.length; from += userWords) {
      if (isFree(old, from)) continue;
      const [first, second, third] = [old[from]!, old[from + 1]!, old[from + 2]!];
      put(slots, slotOf(slots, first, second, third), first, second, third);
    }
  }
}

export function hasUser(set: UserSet, userId: string): boolean {
  if (userId === "") return false;
  const [first, second, third] = userHash(userId);
  return hasHash(set, first!, second!, third!);
}

export function hasHash({ slots }: UserSet, first: number, second: number, third: number): boolean {
  return !isFree(slots, slotOf(slots, first, second, third));
}

/** Where a hash is, or the free slot that it would get. */
function slotOf(slots: Uint32Array, first: number, second: number, third: number): number {
  const mask = slots.length / userWords - 1;
  for (let slot = first & mask; ; slot = (slot + 1) & mask) {
    const at = slot * userWords;
    if (slots[at] === first && slots[at + 1] === second && slots[at + 2] === third) return at;
    if (isFree(slots, at)) return at;
  }
}

function put(slots: Uint32Array, at: number, first: number, second: number, third: number): void {
  slots[at] = first;
  slots[at + 1] = second;
  slots[at + 2] = third;
}

function isFree(slots: Uint32Array, at: number): boolean {
  return slots[at] === 0 && slots[at + 1] === 0 && slots[at + 2] === 0;
}

function emptySet(users: number): UserSet {
  const slots = 2 ** Math.ceil(Math.log2(Math.max(users * 2, 16)));
  return {
    slots: new Uint32Array(new SharedArrayBuffer(slots * userWords * Uint32Array.BYTES_PER_ELEMENT)),
  };
}
