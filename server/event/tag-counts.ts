import { limits } from "../core/limits.ts";
import type { Event } from "./event.ts";

/** Counts which tags events have, to make columns of them. */
export class TagCounts {
  readonly #counts = new Map<string, number>();

  add({ tags }: Pick<Event, "tags">): void {
    for (const key of Object.keys(tags)) this.#addCount(key, 1);
  }

  /** Adds counts that `entries` returned. */
  addAll(entries: Iterable<readonly [key: string, count: number]>): void {
    for (const [key, count] of entries) this.#addCount(key, count);
  }

  entries(): [key: string, count: number][] {
    return [...this.#counts];
  }

  /** The tags that most events have, as many as there can be columns, by name. */
  columns(): string[] {
    const byCount = this.entries().sort(([a, times], [b, others]) => others - times || (a < b ? -1 : 1));
    return byCount
      .slice(0, limits.csvTagColumns)
      .map(([key]) => key)
      .sort();
  }

  /** Of too many tags, those that come last become no columns. */
  #addCount(key: string, count: number): void {
    const known = this.#counts.get(key);
    if (known === undefined && this.#counts.size >= limits.csvCountedTags) return;
    this.#counts.set(key, (known ?? 0) + count);
  }
}
