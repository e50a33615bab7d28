import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BitSet } from "./bit-set.ts";

/**
 * Events of a run are numbered, and their ids contain the run and the number, so what was acknowledged is one bit each.
 * What happens to an event follows from its number.
 */
export const fates = ["kept", "expiring", "erased", "imported"] as const;
export type Fate = (typeof fates)[number];
/** The event that an id stands for. */
export type Sent = { run: number; number: number; fate: Fate };

/** Of 20 events, one expires within minutes, and one belongs to a user who is erased. */
const fateEvery = 20;

/** An event's fate. Imported events are numbered apart, beginning here. */
export const importedFrom = 2 ** 40;

export function fateOf(number: number): Fate {
  if (number >= importedFrom) return "imported";
  return number % fateEvery === 7 ? "expiring" : number % fateEvery === 13 ? "erased" : "kept";
}

const hex = (value: number, digits: number) => value.toString(16).padStart(digits, "0");

/** A UUIDv7 with a time, a run and a number. */
export function idOf(ms: number, run: number, number: number): string {
  const time = hex(ms, 12);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(run, 3)}-8000-${hex(number, 12)}`;
}

/** Numbers are below 2^32, imported ones from 2^40 on: an ID of the server's own is hardly ever one of these. */
const id = /^[0-9a-f]{8}-[0-9a-f]{4}-7([0-9a-f]{3})-8000-(0[01]00[0-9a-f]{8})$/;

/** Reads an id; null if it isn't one of these. */
export function sentOf(text: string): Sent | null {
  const [, run, number] = id.exec(text) ?? [];
  if (run === undefined || number === undefined) return null;
  const value = Number.parseInt(number, 16);
  return { run: Number.parseInt(run, 16), number: value, fate: fateOf(value) };
}

/** The users who are erased: each has the events of so many numbers. */
export const leaverOf = (number: number, span: number): number => Math.floor(number / span);

/** A set of events, by run. */
export class EventSet {
  readonly #bits = new Map<string, BitSet>();

  /** Returns whether it was there already. */
  add({ run, number }: { run: number; number: number }): boolean {
    return this.#of(run, number >= importedFrom).add(number % importedFrom);
  }

  has({ run, number }: { run: number; number: number }): boolean {
    return this.#of(run, number >= importedFrom).has(number % importedFrom);
  }

  *[Symbol.iterator](): Generator<Sent> {
    for (const [name, bits] of this.#bits) {
      const [run, imported] = name.split("-") as [string, string | undefined];
      for (const bit of bits) {
        const number = bit + (imported ? importedFrom : 0);
        yield { run: Number(run), number, fate: fateOf(number) };
      }
    }
  }

  #of(run: number, isImported: boolean): BitSet {
    const name = isImported ? `${run}-imported` : `${run}`;
    const bits = this.#bits.get(name) ?? new BitSet();
    this.#bits.set(name, bits);
    return bits;
  }

  save(directory: string): void {
    mkdirSync(directory, { recursive: true });
    for (const [name, bits] of this.#bits) {
      const path = join(directory, name);
      writeFileSync(`${path}.new`, bits.bytes());
      renameSync(`${path}.new`, path);
    }
  }

  static load(directory: string): EventSet {
    const events = new EventSet();
    if (!existsSync(directory)) return events;
    for (const name of readdirSync(directory)) {
      if (!name.endsWith(".new")) events.#bits.set(name, new BitSet(readFileSync(join(directory, name))));
    }
    return events;
  }
}
