import { hashTextOf, userHash, userWords } from "../../event/user-hash.ts";
import { grown } from "./grown.ts";
import type { PersonHashes } from "./person-hashes.ts";
import { TooLargeError, type TooMany } from "./too-large.ts";

const firstCapacity = 16_384;

/** Users that are read as rows and kept, so that they aren't hashed for each event. */
const cachedUsersMax = 20_000;

/** Marks the slot of an ID that is joined to another one: its number is that of the person. */
const joinedBit = 0x80000000;

/**
 * Numbers the users of an analysis, from 1 on. All IDs of a person have one number. It is a hash table in a typed array,
 * as millions of keys in a `Map` take several times the memory and time.
 */
export class Users {
  /** How many there are. A person with several IDs is one. */
  count = 0;
  /** For each slot three words of a hash and the user's number, which is 0 in a free slot. */
  #slots = new Uint32Array(4 * firstCapacity);
  #usedSlots = 0;
  readonly #cached = new Map<string, number>();
  readonly #people: PersonHashes | null;
  readonly #tooMany: "users" | "followedUsers";
  #isClosed = false;

  /** @param tooMany - what the analysis may have too many of: those with times of each user can have fewer */
  constructor(people: PersonHashes | null = null, tooMany: "users" | "followedUsers" = "users") {
    this.#people = people;
    this.#tooMany = tooMany;
  }

  /** Numbers no other users from now on: they all get 0, as if there was no user. */
  close(): void {
    this.#isClosed = true;
  }

  /** The number of the user with the hash at `at`. Throws `TooLargeError`. */
  addHash(hashes: Uint32Array, at: number): number {
    const first = hashes[at]!;
    const second = hashes[at + 1]!;
    const third = hashes[at + 2]!;
    const slots = this.#slots;
    const end = slots.length - 1;
    let slot = (first << 2) & end;
    for (;;) {
      const number = slots[slot + 3]!;
      if (number === 0) break;
      if (slots[slot] === first && slots[slot + 1] === second && slots[slot + 2] === third)
        return number & ~joinedBit;
      slot = (slot + 4) & end;
    }
    const person = this.#people?.find(first, second, third) ?? -1;
    if (person >= 0) {
      const number = this.addHash(this.#people!.words, person);
      if (number !== 0) this.#take(first, second, third, number | joinedBit);
      return number;
    }
    if (this.#isClosed) return 0;
    TooLargeError.check(this.#tooMany, this.count);
    const added = ++this.count;
    this.#take(first, second, third, added);
    return added;
  }

  /** Takes a free slot. */
  #take(first: number, second: number, third: number, number: number): void {
    const slots = this.#slots;
    const end = slots.length - 1;
    let slot = (first << 2) & end;
    while (slots[slot + 3] !== 0) slot = (slot + 4) & end;
    slots[slot] = first;
    slots[slot + 1] = second;
    slots[slot + 2] = third;
    slots[slot + 3] = number;
    if (++this.#usedSlots * 8 > slots.length) this.#rehash();
  }

  /** 0 for no user. */
  add(userId: string): number {
    if (userId === "") return 0;
    let number = this.#cached.get(userId);
    if (number === undefined) {
      number = this.addHash(userHash(userId), 0);
      if (this.#cached.size >= cachedUsersMax) this.#cached.clear();
      this.#cached.set(userId, number);
    }
    return number;
  }

  /** How many slots there are to go through. */
  get slots(): number {
    return this.#slots.length / 4;
  }

  /** The user in a slot, in no order; 0 for none, and for an ID that is joined to another one. */
  numberIn(slot: number): number {
    const number = this.#slots[4 * slot + 3]!;
    return number >= joinedBit ? 0 : number;
  }

  /** The words of the hash of the user in a slot. */
  wordsIn(slot: number): [first: number, second: number, third: number] {
    const at = 4 * slot;
    return [this.#slots[at]!, this.#slots[at + 1]!, this.#slots[at + 2]!];
  }

  /** The hash of the user in a slot, as `userHashText` writes it. */
  hashIn(slot: number): string {
    return hashTextOf(this.#slots.subarray(4 * slot, 4 * slot + userWords));
  }

  #rehash(): void {
    const old = this.#slots;
    const slots = largerThan(old);
    const end = slots.length - 1;
    for (let from = 0; from < old.length; from += 4) {
      if (old[from + 3] === 0) continue;
      let slot = (old[from]! << 2) & end;
      while (slots[slot + 3] !== 0) slot = (slot + 4) & end;
      slots[slot] = old[from]!;
      slots[slot + 1] = old[from + 1]!;
      slots[slot + 2] = old[from + 2]!;
      slots[slot + 3] = old[from + 3]!;
    }
    this.#slots = slots;
  }
}

/**
 * Pairs of the first groups and users have an array for each group, which is twice as fast as a hash table. It takes at
 * most 16 MB. Group 0 has one for all users.
 */
const arrayGroupsMax = 32;
const arrayUsersMax = 262_144;

/** The last bucket in which each pair of a group and a user was seen. */
export class LastBuckets {
  #count = 0;
  /** For each slot the group, the user and the bucket plus 1, which is 0 in a free slot. */
  #slots = new Uint32Array(4 * firstCapacity);
  /** The bucket plus 1 by group and user. 16 bits are enough for `limits.statsBuckets`. */
  readonly #arrays: Uint16Array[] = [];

  /** Sets a pair's bucket, and returns the one before plus 1; 0 if there was none. Throws `TooLargeError`. */
  set(group: number, user: number, bucket: number): number {
    return group === 0 || (group < arrayGroupsMax && user < arrayUsersMax)
      ? this.#setInArray(group, user, bucket)
      : this.#setPair(group, user, bucket);
  }

  #setInArray(group: number, user: number, bucket: number): number {
    // The system gives memory only for the pages that are written.
    this.#arrays[group] ??= new Uint16Array(arrayUsersMax);
    while (user >= this.#arrays[group].length) this.#arrays[group] = grown(this.#arrays[group]);
    const buckets = this.#arrays[group];
    const before = buckets[user]!;
    buckets[user] = bucket + 1;
    return before;
  }

  #setPair(group: number, user: number, bucket: number): number {
    const slots = this.#slots;
    const end = slots.length - 1;
    let slot = slotOf(group, user) & end;
    for (;;) {
      const before = slots[slot + 2]!;
      if (before === 0) break;
      if (slots[slot] === group && slots[slot + 1] === user) {
        slots[slot + 2] = bucket + 1;
        return before;
      }
      slot = (slot + 4) & end;
    }
    TooLargeError.check("pairs", this.#count);
    slots[slot] = group;
    slots[slot + 1] = user;
    slots[slot + 2] = bucket + 1;
    if (++this.#count * 8 > slots.length) this.#rehash();
    return 0;
  }

  #rehash(): void {
    const old = this.#slots;
    const slots = largerThan(old);
    const end = slots.length - 1;
    for (let from = 0; from < old.length; from += 4) {
      if (old[from + 2] === 0) continue;
      let slot = slotOf(old[from]!, old[from + 1]!) & end;
      while (slots[slot + 2] !== 0) slot = (slot + 4) & end;
      slots[slot] = old[from]!;
      slots[slot + 1] = old[from + 1]!;
      slots[slot + 2] = old[from + 2]!;
    }
    this.#slots = slots;
  }
}

/** Small tables grow faster, as each growth moves all keys. */
function largerThan({ length }: Uint32Array): Uint32Array<ArrayBuffer> {
  return new Uint32Array(length * (length < 4 * 1_048_576 ? 4 : 2));
}

function slotOf(group: number, user: number): number {
  const mixed = Math.imul(user ^ Math.imul(group, 0x9e3779b1), 0x85ebca6b);
  return (mixed ^ (mixed >>> 15)) << 2;
}

/** Numbers texts, from 1 on. */
export class Texts {
  readonly texts: string[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #tooMany: TooMany;
  #isClosed = false;

  /** @param tooMany - what the analysis has too many of if there are too many texts */
  constructor(tooMany: TooMany = "values") {
    this.#tooMany = tooMany;
  }

  /** Numbers these texts and no others: all other texts get the next number. */
  close(texts: readonly string[]): void {
    for (const text of texts) this.add(text);
    this.#isClosed = true;
  }

  /** Throws `TooLargeError`. */
  add(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    if (this.#isClosed) return this.texts.length + 1;
    TooLargeError.check(this.#tooMany, this.texts.length);
    this.texts.push(text);
    this.#numbers.set(text, this.texts.length);
    return this.texts.length;
  }
}
