import type { Database } from "bun:sqlite";
import { LRUCache } from "lru-cache";
import {
  type BodyGroup,
  DamagedGroup,
  GroupReader,
  groupOf,
  isReference,
  ordinalOf,
  parseReference,
} from "./body-group.ts";

/** Memory for groups and what was decompressed of them, in characters of one or two bytes. */
const cacheCharactersUsual = 8 * 1_024 * 1_024;

export type Bodies = ReturnType<typeof createBodies>;

/**
 * The bodies of rows. Readers don't know that a row can have a reference to a group in place of its body: they pass
 * what the column `body` has through `of`.
 */
export function createBodies(database: Database, cacheCharacters = cacheCharactersUsual) {
  const selectGroup = database.prepare<BodyGroup, [number]>(
    "SELECT events, frames, bytes FROM body_groups WHERE id = ?1",
  );
  // A cached group stays valid: the bodies in it keep their ordinals, and nobody asks for removed ones.
  const cache = new LRUCache<number, GroupReader>({
    maxSize: cacheCharacters,
    sizeCalculation: ({ size }) => size,
  });
  let last: { id: number; size: number; group: GroupReader } | null = null;

  function groupWith(id: number): GroupReader {
    if (last?.id === id) return last.group;
    // It may have been decompressed further since it was cached.
    if (last && last.group.size !== last.size) cache.set(last.id, last.group);
    let group = cache.get(id);
    if (!group) {
      const stored = selectGroup.get(id);
      if (!stored) throw new DamagedGroup(id, "it is missing");
      group = new GroupReader(id, stored);
      cache.set(id, group);
    }
    last = { id, size: group.size, group };
    return group;
  }

  function of(body: string): string {
    if (!isReference(body)) return body;
    const reference = parseReference(body);
    return groupWith(groupOf(reference)).read(ordinalOf(reference));
  }

  const transaction = database.transaction((read: () => unknown) => read());

  /** Runs a read in one transaction. */
  function reading<Result>(read: () => Result): Result {
    return database.inTransaction ? read() : (transaction(read) as Result);
  }

  return {
    /**
     * The body of a row, from what its column `body` has. Call it in the transaction that read the row: a removal after
     * that one can delete the group. Throws `DamagedGroup`.
     */
    of,
    reading,

    /** Reads rows with their bodies, in one transaction. */
    in: <Row extends { body: string }>(read: () => Row[]): Row[] =>
      reading(() => {
        const rows = read();
        for (const row of rows) row.body = of(row.body);
        return rows;
      }),
  };
}
