// The time zone of all days and times on the page: the project's, or the browser's if it has none.

const minuteMs = 60_000;
/** Offsets change at quarters of an hour only. */
const spanMs = 15 * minuteMs;
const dayMs = 24 * 60 * minuteMs;

export const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

let shown = browserZone;
let clock: Intl.DateTimeFormat | null = null;
/** The offsets of spans that were asked for. */
const offsets = new Map<number, number>();
const offsetsMax = 10_000;

/** The IANA name of the page's time zone. */
export function zone(): string {
  return shown;
}

/** Sets the page's time zone; null is the browser's. */
export function setZone(timeZone: string | null): void {
  const next = timeZone ?? browserZone;
  if (next === shown) return;
  shown = next;
  offsets.clear();
  clock =
    next === browserZone
      ? null
      : new Intl.DateTimeFormat("en", {
          timeZone: next,
          hourCycle: "h23",
          year: "numeric",
          month: "numeric",
          day: "numeric",
          hour: "numeric",
          minute: "numeric",
        });
}

/** The zone's offset from UTC, in milliseconds. */
function offsetAt(ms: number): number {
  if (!clock) return -new Date(ms).getTimezoneOffset() * minuteMs;
  const span = Math.floor(ms / spanMs);
  let offset = offsets.get(span);
  if (offset === undefined) {
    const parts: Record<string, number> = {};
    for (const { type, value } of clock.formatToParts(span * spanMs)) parts[type] = Number(value);
    const { year, month, day, hour, minute } = parts as Record<string, number>;
    offset = Date.UTC(year!, month! - 1, day, hour, minute) - span * spanMs;
    if (offsets.size >= offsetsMax) offsets.clear();
    offsets.set(span, offset);
  }
  return offset;
}

/** The wall clock at a moment. Read it with the UTC methods: `wallAt(ms).getUTCHours()`. */
export function wallAt(ms: number): Date {
  return new Date(ms + offsetAt(ms));
}

/**
 * When the clock shows this time: `wallMs` is that of UTC. If the clock shows it twice, the first moment; if it skips
 * it, as much later.
 */
export function momentOf(wallMs: number): number {
  const before = offsetAt(wallMs - dayMs);
  const after = offsetAt(wallMs + dayMs);
  const early = wallMs - before;
  if (before === after || offsetAt(early) === before) return early;
  const late = wallMs - after;
  return offsetAt(late) === after ? late : early;
}

/** When a day begins, in milliseconds since 1970. Months are counted from 0; days may be beyond their month. */
export function startOfDay(year: number, month: number, day: number): number {
  return momentOf(Date.UTC(year, month, day));
}

/** When the day of a moment begins, or one some days later. */
export function dayStart(ms: number, daysLater = 0): number {
  const wall = wallAt(ms);
  return startOfDay(wall.getUTCFullYear(), wall.getUTCMonth(), wall.getUTCDate() + daysLater);
}

/** A number that differs between days: those since January 1, 1970. */
export function dayNumber(ms: number): number {
  return Math.floor((ms + offsetAt(ms)) / dayMs);
}

/** When the week of a moment begins, on Monday. */
export function weekStart(ms: number): number {
  return dayStart(ms, -((wallAt(ms).getUTCDay() + 6) % 7));
}

export function monthStart(ms: number): number {
  const wall = wallAt(ms);
  return startOfDay(wall.getUTCFullYear(), wall.getUTCMonth(), 1);
}

export function yearOf(ms: number): number {
  return wallAt(ms).getUTCFullYear();
}

export function isMidnight(ms: number): boolean {
  return (ms + offsetAt(ms)) % dayMs === 0;
}

/** "2026-11-08" for a moment. */
export function dayText(ms: number): string {
  return wallAt(ms).toISOString().slice(0, 10);
}

/** When a day that is written like that begins, or one some days later; NaN if it is none. */
export function dayOfText(text: string, daysLater = 0): number {
  const ms = Date.parse(`${text}T00:00:00Z`);
  // Some engines read February 31 as a day in March.
  const isDay = !Number.isNaN(ms) && new Date(ms).toISOString().slice(0, 10) === text;
  return isDay ? momentOf(ms + daysLater * dayMs) : Number.NaN;
}
