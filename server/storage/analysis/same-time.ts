import type { Turns } from "../../scheduling/turns.ts";
import { grown } from "./grown.ts";
import type { Texts } from "./numbered.ts";
import { TooLargeError } from "./too-large.ts";

/** Events of a millisecond that are put in order between two looks at the clock. */
const eventsOfTurn = 4_096;

type SameTimeOptions = {
  names: Texts;
  users: number;
  isAfter: boolean;
  mergesRepeats: boolean;
  /** How many events of one user and millisecond can become steps, one of which may be one with the step before. */
  most: number;
  turns: Turns;
  pass: (user: number, name: number, ms: number) => void;
};

/**
 * Passes events on in the order of time; those of one user and millisecond by their names, as many as can be steps. An
 * import with dates only can have millions of events in a millisecond, so they are ordered without sorting all of them.
 */
export class SameTime {
  readonly #options: SameTimeOptions;
  #ms = Number.NaN;
  #size = 0;
  /** By user: the last event, counted from 1 on; 0 for none. */
  readonly #lastOf: Uint32Array;
  /** By event: the user, the name, and the user's event before it, as in `#lastOf`. */
  #users = new Uint32Array(1_024);
  #nameNumbers = new Uint32Array(1_024);
  #before = new Uint32Array(1_024);

  constructor(options: SameTimeOptions) {
    this.#options = options;
    this.#lastOf = new Uint32Array(options.users + 1);
  }

  get ms(): number {
    return this.#ms;
  }

  /** Adds an event. Those of another millisecond must have been flushed. Throws `TooLargeError`. */
  add(user: number, name: number, ms: number): void {
    this.#ms = ms;
    if (this.#size === this.#users.length) {
      TooLargeError.check("events", this.#size);
      this.#users = grown(this.#users);
      this.#nameNumbers = grown(this.#nameNumbers);
      this.#before = grown(this.#before);
    }
    this.#users[this.#size] = user;
    this.#nameNumbers[this.#size] = name;
    this.#before[this.#size] = this.#lastOf[user]!;
    this.#lastOf[user] = ++this.#size;
  }

  /** Passes on all that was added; null if that is done already. Most milliseconds have one event, so no promise. */
  flush(): Promise<void> | null {
    if (this.#size > 1) return this.#passAll();
    if (this.#size === 1) {
      const user = this.#users[0]!;
      this.#options.pass(user, this.#nameNumbers[0]!, this.#ms);
      this.#lastOf[user] = 0;
      this.#size = 0;
    }
    return null;
  }

  async #passAll(): Promise<void> {
    const { isAfter, turns, pass } = this.#options;
    let visited = 0;
    for (let at = 0; at < this.#size; at++) {
      const user = this.#users[at]!;
      const nearest: number[] = [];
      // The first of a user's events passes all of them on.
      for (let event = this.#lastOf[user]!; event !== 0; event = this.#before[event - 1]!) {
        this.#insert(nearest, this.#nameNumbers[event - 1]!);
        if (++visited % eventsOfTurn === 0) await turns.next();
      }
      this.#lastOf[user] = 0;
      if (!isAfter) nearest.reverse();
      for (const name of nearest) pass(user, name, this.#ms);
    }
    this.#size = 0;
  }

  /** Inserts a name at its place; beyond `most`, the last one drops out. */
  #insert(nearest: number[], name: number): void {
    const { names, mergesRepeats, most } = this.#options;
    const isBefore = (other: number) => names.texts[name - 1]! < names.texts[other - 1]!;
    let place = nearest.length;
    while (place > 0 && isBefore(nearest[place - 1]!)) place--;
    if (place === most || (mergesRepeats && nearest[place - 1] === name)) return;
    nearest.splice(place, 0, name);
    if (nearest.length > most) nearest.pop();
  }
}
