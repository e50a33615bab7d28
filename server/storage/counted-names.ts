import { limits } from "../core/limits.ts";

/** The counters' name for all names without a counter of their own. No event has an empty name. */
const otherNames = "";

/** Hours of channels whose names are remembered. A forgotten one starts again from zero names. */
const hoursMax = 1_000;
const hourMs = 3_600_000;

/**
 * Chooses the names with a counter of their own: the first `limits.countedNames` of each channel and hour. Names that
 * contain a number, such as "Order 1234 paid", would otherwise make a counter for each event.
 */
export class CountedNames {
  readonly #hours = new Map<string, Set<string>>();

  /** The name to count an event under: its own or `otherNames`. */
  of(projectId: number, channel: string, name: string, createdAtMs: number): string {
    const key = `${projectId} ${Math.floor(createdAtMs / hourMs)} ${channel}`;
    let names = this.#hours.get(key);
    if (names === undefined) {
      // Drop the hour added first: events mostly arrive in the order of time.
      if (this.#hours.size >= hoursMax) this.#hours.delete(this.#hours.keys().next().value!);
      names = new Set();
      this.#hours.set(key, names);
    }
    if (names.has(name)) return name;
    if (names.size >= limits.countedNames) return otherNames;
    // A copy: the name is a part of its batch's text, all of which it would keep in memory.
    names.add(Buffer.from(name).toString());
    return name;
  }
}
