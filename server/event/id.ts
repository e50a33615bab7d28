/**
 * Identifiers and moments of events.
 *
 * An event's id is a UUIDv7 (RFC 9562, section 5.7). One that the server makes holds the arrival counter in its 12 bits
 * of `rand_a` and the 8 bits after the variant, so that ids sort as the events arrived; 52 random bits follow.
 */

import { type ProblemError, problem } from "../problems.ts";

/** Arrivals within one millisecond that the server numbers; also the bound of `Moment.sequence`. */
export const sequenceMax = 2 ** 20 - 1;

/** When something came to the server: a millisecond, and a counter within it. Never the same twice. */
export type ArrivalStamp = { ms: number; sequence: number };

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Whether a text is a UUIDv7 in lower case. */
export function isEventId(text: string): boolean {
  return uuid.test(text);
}

export function eventIdOf(moment: ArrivalStamp, random: () => number = Math.random): string {
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
export function stampOfId(id: string): ArrivalStamp {
  return {
    ms: Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16),
    sequence: Number.parseInt(id.slice(15, 18) + id.slice(20, 22), 16),
  };
}

export function compareStamps(a: ArrivalStamp, b: ArrivalStamp): number {
  return a.ms - b.ms || a.sequence - b.sequence;
}

/** A moment as the token of a live stream's `id:` line. */
export function stampToken(moment: ArrivalStamp): string {
  return `${moment.ms}-${moment.sequence}`;
}

/** The moment of a token, or null for a text that is none. */
export function parseStampToken(token: string): ArrivalStamp | null {
  const match = /^(\d{1,15})-(\d{1,7})$/.exec(token);
  if (!match || Number(match[2]) > sequenceMax) return null;
  return { ms: Number(match[1]), sequence: Number(match[2]) };
}

/**
 * What a machine's clock can show. Outside of that it is certainly wrong, and no event is recorded: an arrival from beyond would be carried
 * on for good, and rows have no place for one from 2109 on.
 */
const clockMinMs = Date.UTC(2024, 0, 1);
const clockMaxMs = Date.UTC(2100, 0, 1);
/** Arrivals that are less ahead of the clock are not worth a warning: clocks that are kept right are set back by less. */
const aheadMsMin = 60_000;
const warnEveryMs = 60 * 60_000;

type ClockOptions = {
  /** The machine's clock; milliseconds since 1970. */
  now?: () => number;
  /** Told of a clock that is or was wrong, once an hour as long as it matters. */
  warn?: (warning: string) => void;
};

/**
 * Hands out arrivals, which only grow, also when the machine's clock is set back. An arrival says in which order events came; when they came
 * is `nowMs`, what the clock shows.
 */
export class ArrivalClock {
  #last: ArrivalStamp;
  #nowMs = 0;
  #warnedAtMs = Number.NEGATIVE_INFINITY;
  readonly #now: () => number;
  readonly #tellWarning: (warning: string) => void;

  /** @param after - the last arrival that was stored */
  constructor(after: ArrivalStamp | null, { now = Date.now, warn = () => {} }: ClockOptions = {}) {
    this.#last = after ?? { ms: 0, sequence: 0 };
    this.#now = now;
    this.#tellWarning = warn;
    if (!isPossible(now())) this.#wrongNow(now());
    else this.observe(this.#last);
  }

  /** Throws `clock-wrong` where the clock shows what can't be. */
  next(): ArrivalStamp {
    const now = this.#now();
    if (!isPossible(now)) throw this.#wrongNow(now);
    const last = this.#last;
    this.#nowMs = now;
    if (now > last.ms) {
      this.#last = { ms: now, sequence: 0 };
    } else {
      if (last.ms - now >= aheadMsMin) this.#warnAhead(last.ms - now);
      if (last.sequence < sequenceMax) this.#last = { ms: last.ms, sequence: last.sequence + 1 };
      else this.#last = { ms: last.ms + 1, sequence: 0 };
    }
    return this.#last;
  }

  /** What the clock showed at the last arrival: never later than that arrival, and earlier where the clock was set back. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** What the clock shows now; milliseconds since 1970. */
  read(): number {
    return this.#now();
  }

  /** The last moment that was handed out. */
  get last(): ArrivalStamp {
    return this.#last;
  }

  /** Holds an arrival that was stored, by whichever node, against the clock. */
  observe({ ms }: ArrivalStamp): void {
    const aheadMs = ms - this.#now();
    if (aheadMs >= aheadMsMin) this.#warnAhead(aheadMs);
  }

  #warnAhead(aheadMs: number): void {
    this.#warn(
      `The last event arrived ${durationOf(aheadMs)} ahead of this machine's clock. Either this clock is behind, or a clock was ahead when earlier events were recorded, and those events have dates in the future. New events use this clock. See "A wrong clock" in docs/settings.md.`,
    );
  }

  #wrongNow(nowMs: number): ProblemError {
    const detail = `The server's clock shows ${new Date(nowMs).toISOString()}, so it records nothing. Set the clock, then send the event again.`;
    this.#warn(detail);
    return problem("clock-wrong", { detail, retryAfterSeconds: 60 });
  }

  #warn(warning: string): void {
    const now = performance.now();
    if (now - this.#warnedAtMs < warnEveryMs) return;
    this.#warnedAtMs = now;
    this.#tellWarning(warning);
  }
}

function isPossible(clockMs: number): boolean {
  return clockMs >= clockMinMs && clockMs < clockMaxMs;
}

function durationOf(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  const [days, hours] = [Math.floor(minutes / 1_440), Math.floor(minutes / 60) % 24];
  return days > 0 ? `${days} d ${hours} h` : hours > 0 ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
}

function hex(value: number, width: number): string {
  return value.toString(16).padStart(width, "0");
}
