import { LRUCache } from "lru-cache";
import { limits } from "../../core/limits.ts";
import { userHash, userWords } from "../../event/user-hash.ts";
import { Turns } from "../../scheduling/turns.ts";

/** Three words of an ID's hash, and three of its person's. */
const slotWords = 2 * userWords;
const firstSlots = 1_024;
/** Rows that are read and hashed at a time, which takes some milliseconds. */
const stepRows = 2_000;

/**
 * The IDs of a project that are joined to another one, as hashes: whom an ID's events count for. It is a hash table in a
 * typed array. An ID that was split off again is in it, with itself as its person.
 */
export class PersonHashes {
  /** How many IDs it has. */
  count = 0;
  /** A person's words are all 0 in a free slot, and only there. */
  #slots = new Uint32Array(slotWords * firstSlots);

  get bytes(): number {
    return this.#slots.byteLength;
  }

  /** The words of all slots. `find` returns where a person's hash is in them. */
  get words(): Uint32Array {
    return this.#slots;
  }

  /** Where `words` have the hash of the person of an ID; -1 if the ID isn't joined to another one. */
  find(first: number, second: number, third: number): number {
    const slots = this.#slots;
    const at = this.#slotOf(first, second, third);
    if (isFree(slots, at)) return -1;
    const isSame = slots[at + 3] === first && slots[at + 4] === second && slots[at + 5] === third;
    return isSame ? -1 : at + userWords;
  }

  set(userId: string, personId: string): void {
    const own = userHash(userId);
    const person = userId === personId ? own : userHash(personId);
    const at = this.#slotOf(own[0]!, own[1]!, own[2]!);
    const isNew = isFree(this.#slots, at);
    this.#slots.set(own, at);
    this.#slots.set(person, at + userWords);
    if (isNew && ++this.count * slotWords * 2 > this.#slots.length) this.#grow();
  }

  /** Where the slot of an ID begins, or the free one that it would get. */
  #slotOf(first: number, second: number, third: number): number {
    const slots = this.#slots;
    const mask = slots.length / slotWords - 1;
    for (let slot = first & mask; ; slot = (slot + 1) & mask) {
      const at = slot * slotWords;
      if (slots[at] === first && slots[at + 1] === second && slots[at + 2] === third) return at;
      if (isFree(slots, at)) return at;
    }
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(old.length * 2);
    for (let from = 0; from < old.length; from += slotWords) {
      if (isFree(old, from)) continue;
      const at = this.#slotOf(old[from]!, old[from + 1]!, old[from + 2]!);
      this.#slots.set(old.subarray(from, from + slotWords), at);
    }
  }
}

function isFree(slots: Uint32Array, at: number): boolean {
  return slots[at + 3] === 0 && slots[at + 4] === 0 && slots[at + 5] === 0;
}

/** A row of `person_ids`. */
type PersonRow = { userId: string; personId: string; version: number };

/** How an engine reads a project's people. */
export type PeopleSource = {
  /** The project's version of people, and the one at which rows were last removed; null if no IDs were ever joined. */
  versions: (projectId: number) => Promise<{ version: number; removed: number } | null>;
  /** Up to `limit` rows after one, in the order of their version and ID. */
  rowsAfter: (
    projectId: number,
    after: { version: number; userId: string },
    limit: number,
  ) => Promise<PersonRow[]>;
};

/** The people of a project; null if all IDs are people themselves. */
export type ReadPeople = (projectId: number) => Promise<PersonHashes | null>;

type Cached = { hashes: PersonHashes; version: number };

/**
 * Reads people for analyses. Those of recent projects stay in memory, and only what changed is read again. Each analysis
 * asks for the project's version first, so a change counts at once, whichever node made it.
 *
 * Invariant: the people in memory are bounded. Checked by `server/storage/analysis/person-hashes.test.ts`.
 */
export function createReadPeople(source: PeopleSource, bytesMax: number = limits.peopleBytes): ReadPeople {
  const cache = new LRUCache<number, Cached>({
    maxSize: bytesMax,
    sizeCalculation: ({ hashes }) => hashes.bytes,
  });
  /** Analyses that need the same people share one read. */
  const reading = new Map<number, Promise<Cached>>();

  async function update(projectId: number, version: number, removed: number): Promise<Cached> {
    const known = cache.get(projectId);
    const isUsable = known !== undefined && known.version >= removed;
    const hashes = isUsable ? known.hashes : new PersonHashes();
    const turns = new Turns(projectId);
    let after = { version: isUsable ? known.version + 1 : 0, userId: "" };
    for (;;) {
      const rows = await source.rowsAfter(projectId, after, stepRows);
      for (const { userId, personId } of rows) hashes.set(userId, personId);
      if (rows.length < stepRows) break;
      after = rows.at(-1)!;
      await turns.next();
    }
    const updated = { hashes, version };
    cache.set(projectId, updated);
    return updated;
  }

  return async function readPeople(projectId) {
    for (;;) {
      const versions = await source.versions(projectId);
      if (!versions) return null;
      const known = cache.get(projectId);
      if (known && known.version >= versions.version) return known.hashes.count > 0 ? known.hashes : null;
      const running = reading.get(projectId);
      if (running) {
        await running;
        continue;
      }
      const read = update(projectId, versions.version, versions.removed).finally(() =>
        reading.delete(projectId),
      );
      reading.set(projectId, read);
      const { hashes } = await read;
      return hashes.count > 0 ? hashes : null;
    }
  };
}
