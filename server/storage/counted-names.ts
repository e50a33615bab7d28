import { limits } from "../limits.ts";

/** Stands in the counters for all names that are not counted one by one. No event has an empty name. */
const otherNames = "";

/** Hours of channels whose names are remembered; for one that is forgotten, names are counted anew. */
const hoursMax = 1_000;
const hourMs = 3_600_000;

/**
 * Chooses the names that are counted: the first `limits.countedNames` of each channel in each hour. A name with a number in it, such as "Order
 * 1234 paid", would make a counter for each event.
 */
export class CountedNames {
  readonly #hours = new Map<string, Set<string>>();

  /** The name to count an event under: its own, or `otherNames`. */
  of(projectId: number, channel: string, name: string, createdAtMs: number): string {
    const key = `${projectId} ${Math.floor(createdAtMs / hourMs)} ${channel}`;
    let names = this.#hours.get(key);
    if (names === undefined) {
      // The one that was added first; events come in the order of time, mostly.
      if (this.#hours.size >= hoursMax) this.#hours.delete(this.#hours.keys().next().value!);
      names = new Set();
      this.#hours.set(key, names);
    }
    if (names.has(name)) return name;
    if (names.size >= limits.countedNames) return otherNames;
    names.add(name);
    return name;
  }
}
