import { LRUCache } from "lru-cache";
import { type BodyGroup, GroupReader, groupOf, isGroup, ordinalOf } from "../body-group.ts";
import type { PageFile } from "./page-file.ts";
import { pageKinds, rowOf, treePage } from "./records.ts";

/** Groups that are kept in memory: events are mostly read in the order of their groups. */
const groupsMax = 64;

/** The compressed bodies of a file that may be damaged. */
export class PackedBodies {
  readonly #file: PageFile;
  /** Where the rows of groups are, by id. A write that went astray can have made a second one. */
  #places: Map<number, { page: number; cell: number }[]> | null = null;
  readonly #groups = new LRUCache<number, GroupReader[]>({ max: groupsMax });

  constructor(file: PageFile) {
    this.#file = file;
  }

  /** The body that a reference names; null if it can't be read. */
  of(reference: number): string | null {
    const id = groupOf(reference);
    const groups = this.#groups.get(id) ?? this.#groupsWith(id);
    this.#groups.set(id, groups);
    for (const group of groups) {
      try {
        return group.read(ordinalOf(reference));
      } catch {
        // Another copy of the row may be whole.
      }
    }
    return null;
  }

  #groupsWith(id: number): GroupReader[] {
    this.#places ??= this.#find();
    return (this.#places.get(id) ?? []).flatMap(({ page, cell }) => {
      const group = this.#groupAt(page, cell);
      if (!group) return [];
      try {
        return [new GroupReader(id, group)];
      } catch {
        return [];
      }
    });
  }

  #groupAt(number: number, cell: number): (BodyGroup & { id: number }) | null {
    const page = treePage(this.#file.page(number)!, number);
    const row = page && rowOf(this.#file, page, cell);
    if (row?.rowid?.high !== 0 || row.values.length !== 4) return null;
    const [id, events, frames, bytes] = row.values;
    if (id !== null || typeof events !== "number") return null;
    if (!(frames instanceof Buffer && bytes instanceof Buffer && isGroup(frames))) return null;
    return { id: row.rowid.low, events, frames, bytes };
  }

  #find(): Map<number, { page: number; cell: number }[]> {
    const places = new Map<number, { page: number; cell: number }[]>();
    for (let number = 1; number <= this.#file.pages; number++) {
      const page = treePage(this.#file.page(number)!, number);
      if (page?.kind !== pageKinds.tableLeaf) continue;
      for (const cell of page.cells) {
        const group = this.#groupAt(number, cell);
        if (group) places.set(group.id, [...(places.get(group.id) ?? []), { page: number, cell }]);
      }
    }
    return places;
  }
}
