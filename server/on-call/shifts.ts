/**
 * Who is on call, as pure functions. Moments are in milliseconds since 1970.
 *
 * Times of day are those of the schedule's time zone. A time that the clock skips is when the clock has skipped it, and
 * one that it shows twice is the first of the two.
 */
import { moments, zoned } from "../core/zoned-time.ts";
import type { OnCallRotation } from "../schemas/on-call.ts";
import { weekdays } from "../schemas/rule.ts";

type Override = { id: string; accountId: string; fromMs: number; toMs: number };

export type ScheduleTimes = {
  timeZone: string;
  rotations: readonly OnCallRotation[];
  /** In the order in which they were made. */
  overrides: readonly Override[];
};

/** Who is on call, and by which rotation (its index) or override. All null: nobody. */
export type OnCall = { accountId: string | null; rotation: number | null; override: string | null };
export type Shift = OnCall & { fromMs: number; toMs: number };

const nobody: OnCall = { accountId: null, rotation: null, override: null };

const dayMs = 24 * 60 * 60 * 1_000;
/** How far ahead the next hand-over is looked for, step by step: in the end beyond the longest turn, of 30 weeks. */
export const horizonMs = 224 * dayMs;
const horizonsMs = [2 * dayMs, 16 * dayMs, horizonMs];

/** The latest override that covers the moment, or else the first rotation that does. */
export function onCallAt({ timeZone, rotations, overrides }: ScheduleTimes, atMs: number): OnCall {
  const override = overrides.findLast(({ fromMs, toMs }) => fromMs <= atMs && atMs < toMs);
  if (override) return { ...nobody, accountId: override.accountId, override: override.id };
  for (const [index, rotation] of rotations.entries()) {
    const turn = turnAt(rotation, timeZone, atMs);
    if (turn < 0 || !isCovered(rotation, timeZone, atMs)) continue;
    return { ...nobody, accountId: rotation.members[turn % rotation.members.length]!, rotation: index };
  }
  return nobody;
}

/** The shifts from one moment to another, without a gap. A shift of nobody says so. */
export function shiftsBetween(schedule: ScheduleTimes, fromMs: number, toMs: number): Shift[] {
  const shifts: Shift[] = [];
  const starts = [...new Set([fromMs, ...changesBetween(schedule, fromMs, toMs)])].toSorted((a, b) => a - b);
  for (const [index, startMs] of starts.entries()) {
    const onCall = onCallAt(schedule, startMs);
    const endMs = starts[index + 1] ?? toMs;
    const last = shifts.at(-1);
    if (last && isSame(last, onCall)) last.toMs = endMs;
    else shifts.push({ ...onCall, fromMs: startMs, toMs: endMs });
  }
  return shifts;
}

/** The next moment at which somebody else is on call, and who; null if there is none within `horizonMs`. */
export function nextHandOver(
  schedule: ScheduleTimes,
  afterMs: number,
): { atMs: number; accountId: string | null } | null {
  if (isAlwaysTheSame(schedule, afterMs)) return null;
  const { accountId } = onCallAt(schedule, afterMs);
  for (const ms of horizonsMs) {
    const next = shiftsBetween(schedule, afterMs, afterMs + ms).find(
      (shift) => shift.accountId !== accountId,
    );
    if (next) return { atMs: next.fromMs, accountId: next.accountId };
  }
  return null;
}

/** Whether one member is on call at all times from now on, so that there is no need to look for a hand-over. */
function isAlwaysTheSame({ timeZone, rotations, overrides }: ScheduleTimes, afterMs: number): boolean {
  const ofRotations = rotations.flatMap(({ members }) => members);
  const members = new Set([...ofRotations, ...overrides.map(({ accountId }) => accountId)]);
  const hasBegun = (rotation: OnCallRotation) => turnAt(rotation, timeZone, afterMs) >= 0;
  return members.size === 1 && rotations.some((rotation) => rotation.hours === null && hasBegun(rotation));
}

function isSame(one: OnCall, other: OnCall): boolean {
  return (
    one.accountId === other.accountId && one.rotation === other.rotation && one.override === other.override
  );
}

/** Moments between two others at which who is on call may change. */
function changesBetween(
  { timeZone, rotations, overrides }: ScheduleTimes,
  fromMs: number,
  toMs: number,
): number[] {
  const ofRotations = rotations.flatMap((rotation) => [
    ...turnsBetween(rotation, timeZone, fromMs, toMs),
    ...hoursBetween(rotation, timeZone, fromMs, toMs).flat(),
  ]);
  const ofOverrides = overrides.flatMap((override) => [override.fromMs, override.toMs]);
  return [...ofRotations, ...ofOverrides].filter((ms) => fromMs < ms && ms < toMs);
}

/** How many turns were over at a moment; negative before the first one. */
function turnAt(rotation: OnCallRotation, timeZone: string, atMs: number): number {
  const days = zoned(atMs, timeZone).toPlainDate().since(rotation.startsOn, { largestUnit: "days" }).days;
  // The clock may have been set back over midnight since the last hand-over.
  let turn = Math.floor(days / daysOf(rotation)) + 1;
  while (turn >= 0 && turnStart(rotation, timeZone, turn) > atMs) turn--;
  return turn;
}

function turnsBetween(rotation: OnCallRotation, timeZone: string, fromMs: number, toMs: number): number[] {
  const starts: number[] = [];
  for (let turn = Math.max(0, turnAt(rotation, timeZone, fromMs)); ; turn++) {
    const startMs = turnStart(rotation, timeZone, turn);
    if (startMs >= toMs) return starts;
    starts.push(startMs);
  }
}

function turnStart(rotation: OnCallRotation, timeZone: string, turn: number): number {
  const date = Temporal.PlainDate.from(rotation.startsOn).add({ days: turn * daysOf(rotation) });
  return moments(date, rotation.at, timeZone)[0];
}

function daysOf({ every, unit }: OnCallRotation): number {
  return unit === "week" ? every * 7 : every;
}

function isCovered(rotation: OnCallRotation, timeZone: string, atMs: number): boolean {
  if (rotation.hours === null) return true;
  return hoursBetween(rotation, timeZone, atMs, atMs).some(([fromMs, toMs]) => fromMs <= atMs && atMs < toMs);
}

/** The hours that a rotation covers, from a day before the first moment to a day after the last. */
function hoursBetween(
  { hours }: OnCallRotation,
  timeZone: string,
  fromMs: number,
  toMs: number,
): [fromMs: number, toMs: number][] {
  if (hours === null) return [];
  const { days, from, to } = hours;
  const covered: [number, number][] = [];
  const last = zoned(toMs, timeZone).toPlainDate().add({ days: 1 });
  let date = zoned(fromMs, timeZone).toPlainDate().subtract({ days: 1 });
  for (; Temporal.PlainDate.compare(date, last) <= 0; date = date.add({ days: 1 })) {
    if (!days.includes(weekdays[date.dayOfWeek - 1]!)) continue;
    const end = from < to ? date : date.add({ days: 1 });
    covered.push([moments(date, from, timeZone)[0], moments(end, to, timeZone)[0]]);
  }
  return covered;
}
