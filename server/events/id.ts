/**
 * Identifiers and moments of events.
 *
 * An event's id is a UUIDv7 (RFC 9562, section 5.7). One that the server makes holds the arrival counter in its 12 bits
 * of `rand_a` and the 8 bits after the variant, so that ids sort as the events arrived; 52 random bits follow.
 */

/** Arrivals within one millisecond that the server numbers; also the bound of `Moment.sequence`. */
export const sequenceMax = 2 ** 20 - 1;

/** When something came to the server: a millisecond, and a counter within it. Never the same twice. */
export type Moment = { ms: number; sequence: number };

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Whether a text is a UUIDv7 in lower case. */
export function isEventId(text: string): boolean {
  return uuid.test(text);
}

export function eventIdOf(moment: Moment, random: () => number = Math.random): string {
  const sequence = hex(moment.sequence, 5);
  const tail = hex(Math.floor(random() * 2 ** 52), 13);
  return `${timeOf(moment.ms)}-7${sequence.slice(0, 3)}-8${sequence.slice(3)}${tail[0]}-${tail.slice(1)}`;
}

let lastMs = -1;
let lastTime = "";

/** The first 48 bits of an id; ids of the same millisecond share the text. */
function timeOf(ms: number): string {
  if (ms !== lastMs) {
    const time = hex(ms, 12);
    lastMs = ms;
    lastTime = `${time.slice(0, 8)}-${time.slice(8)}`;
  }
  return lastTime;
}

/** The moment that stands in an id, if it is one that the server made. */
export function momentOfId(id: string): Moment {
  return {
    ms: Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16),
    sequence: Number.parseInt(id.slice(15, 18) + id.slice(20, 22), 16),
  };
}

export function compareMoments(a: Moment, b: Moment): number {
  return a.ms - b.ms || a.sequence - b.sequence;
}

/** A moment as the token of a live stream's `id:` line. */
export function momentToken(moment: Moment): string {
  return `${moment.ms}-${moment.sequence}`;
}

/** The moment of a token, or null for a text that is none. */
export function parseMomentToken(token: string): Moment | null {
  const match = /^(\d{1,15})-(\d{1,7})$/.exec(token);
  if (!match || Number(match[2]) > sequenceMax) return null;
  return { ms: Number(match[1]), sequence: Number(match[2]) };
}

/** Hands out moments that only grow, also when the machine's clock is set back. */
export class ArrivalClock {
  #last: Moment;
  readonly #now: () => number;

  constructor(after: Moment | null, now: () => number = Date.now) {
    this.#last = after ?? { ms: 0, sequence: 0 };
    this.#now = now;
  }

  next(): Moment {
    const now = this.#now();
    const last = this.#last;
    if (now > last.ms) this.#last = { ms: now, sequence: 0 };
    else if (last.sequence < sequenceMax) this.#last = { ms: last.ms, sequence: last.sequence + 1 };
    else this.#last = { ms: last.ms + 1, sequence: 0 };
    return this.#last;
  }

  /** The last moment that was handed out. */
  get last(): Moment {
    return this.#last;
  }
}

function hex(value: number, width: number): string {
  return value.toString(16).padStart(width, "0");
}
