/**
 * Ids and arrival stamps of events.
 *
 * An event's id is a UUIDv7 (RFC 9562, section 5.7). Ids made by the server contain the arrival's counter in the 12
 * bits of `rand_a` and the 8 bits after the variant, so that they sort by arrival. 52 random bits follow.
 */

import { type ProblemError, problem } from "../core/problems.ts";

/** Maximum of `ArrivalStamp.sequence`: about a million arrivals per millisecond. */
export const sequenceMax = 2 ** 20 - 1;

/** When an event arrived: a millisecond, and a counter within it. Never the same twice. */
export type ArrivalStamp = { ms: number; sequence: number };

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Whether a text is a lower-case UUIDv7. */
export function isEventId(text: string): boolean {
  return uuid.test(text);
}

export function eventIdOf(stamp: ArrivalStamp, random: () => number = Math.random): string {
  const sequence = hex(stamp.sequence, 5);
  const tail = hex(Math.floor(random() * 2 ** 52), 13);
  return `${timestampOf(stamp.ms)}-7${sequence.slice(0, 3)}-8${sequence.slice(3)}${tail[0]}-${tail.slice(1)}`;
}

let lastMs = -1;
let lastTimestamp = "";

/** The first 48 bits of an id. Cached for ids of the same millisecond. */
function timestampOf(ms: number): string {
  if (ms !== lastMs) {
    const timestamp = hex(ms, 12);
    lastMs = ms;
    lastTimestamp = `${timestamp.slice(0, 8)}-${timestamp.slice(8)}`;
  }
  return lastTimestamp;
}

/** The arrival stamp in an id. Meaningful only if the server made the id. */
export function stampOfId(id: string): ArrivalStamp {
  return {
    ms: Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16),
    sequence: Number.parseInt(id.slice(15, 18) + id.slice(20, 22), 16),
  };
}

export function compareStamps(a: ArrivalStamp, b: ArrivalStamp): number {
  return a.ms - b.ms || a.sequence - b.sequence;
}

/** Formats a stamp as a live stream's `id:`. */
export function stampToken(stamp: ArrivalStamp): string {
  return `${stamp.ms}-${stamp.sequence}`;
}

/** Parses a stream's `id:`; null if it isn't one. */
export function parseStampToken(token: string): ArrivalStamp | null {
  const match = /^(\d{1,15})-(\d{1,7})$/.exec(token);
  if (!match || Number(match[2]) > sequenceMax) return null;
  return { ms: Number(match[1]), sequence: Number(match[2]) };
}

/**
 * Range of valid clock times. Outside of it, the clock is certainly wrong and no event is recorded: arrivals never go
 * back, so one from the far future would stay forever, and row keys end in 2109.
 */
const clockMinMs = Date.UTC(2024, 0, 1);
const clockMaxMs = Date.UTC(2100, 0, 1);
/**
 * Minimum lead of the last arrival over the clock that is worth a warning. Synchronized clocks are set back by less.
 */
const warnAheadMs = 60_000;
const warnEveryMs = 60 * 60_000;

type ClockOptions = {
  /** The machine's clock, in milliseconds since 1970. */
  now?: () => number;
  /** Called if the clock is or was wrong, once an hour while that matters. */
  warn?: (warning: string) => void;
};

/**
 * Hands out arrivals. They are an order, not a date: `nowMs` is the clock's time.
 *
 * Invariant: arrivals only grow, even if the clock is set back or the process restarts. Checked by
 * `server/event/id.test.ts` and `server/storage/store.test.ts`.
 */
export class ArrivalClock {
  #last: ArrivalStamp;
  #nowMs = 0;
  #warnedAtMs = Number.NEGATIVE_INFINITY;
  readonly #now: () => number;
  readonly #onWarning: (warning: string) => void;

  /** @param after - the last arrival that was stored */
  constructor(after: ArrivalStamp | null, { now = Date.now, warn = () => {} }: ClockOptions = {}) {
    this.#last = after ?? { ms: 0, sequence: 0 };
    this.#now = now;
    this.#onWarning = warn;
    if (!isValid(now())) this.#clockWrong(now());
    else this.observe(this.#last);
  }

  /** Throws `clock-wrong` if the clock is outside the valid range. */
  next(): ArrivalStamp {
    const now = this.#now();
    if (!isValid(now)) throw this.#clockWrong(now);
    const last = this.#last;
    this.#nowMs = now;
    if (now > last.ms) {
      this.#last = { ms: now, sequence: 0 };
    } else {
      if (last.ms - now >= warnAheadMs) this.#warnAhead(last.ms - now);
      if (last.sequence < sequenceMax) this.#last = { ms: last.ms, sequence: last.sequence + 1 };
      else this.#last = { ms: last.ms + 1, sequence: 0 };
    }
    return this.#last;
  }

  /**
   * The clock's time at the last arrival. Earlier than that arrival if the clock was set back.
   *
   * Invariant: a `createdAt` that the client did not send is the clock's time. It is never moved to keep an order.
   * Checked by `server/ingest/clock.test.ts`.
   */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** The clock's current time, in milliseconds since 1970. */
  read(): number {
    return this.#now();
  }

  /** The last arrival that was handed out. */
  get last(): ArrivalStamp {
    return this.#last;
  }

  /** Compares an arrival that any node stored with the clock, and warns if the clock is behind. */
  observe({ ms }: ArrivalStamp): void {
    const aheadMs = ms - this.#now();
    if (aheadMs >= warnAheadMs) this.#warnAhead(aheadMs);
  }

  #warnAhead(aheadMs: number): void {
    this.#warn(
      `The last event arrived ${durationOf(aheadMs)} ahead of this machine's clock. Either this clock is behind, or a clock was ahead when earlier events were recorded, and those events have dates in the future. New events use this clock. See "A wrong clock" in docs/settings.md.`,
    );
  }

  #clockWrong(nowMs: number): ProblemError {
    const detail = `The server's clock shows ${new Date(nowMs).toISOString()}, so no events are recorded. Set the clock, then send the event again.`;
    this.#warn(detail);
    return problem("clock-wrong", { detail, retryAfterSeconds: 60 });
  }

  #warn(warning: string): void {
    const now = performance.now();
    if (now - this.#warnedAtMs < warnEveryMs) return;
    this.#warnedAtMs = now;
    this.#onWarning(warning);
  }
}

function isValid(clockMs: number): boolean {
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
