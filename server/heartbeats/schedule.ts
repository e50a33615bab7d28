import type { HeartbeatSchedule } from "../schemas/heartbeat.ts";
import { nextCronMs } from "../validation/cron.ts";

export const minuteMs = 60_000;

/** How far the clock of the machine that pings may be behind cron's: its ping counts for the time that it is early for. */
const earlyMs = 30_000;

/** When the next ping is due after one that came at a moment, in milliseconds since 1970. */
export function nextDueMs(schedule: HeartbeatSchedule, afterMs: number): number {
  if (schedule.type === "period") return afterMs + schedule.minutes * minuteMs;
  // An expression that never fires again, because it named a year, is never due.
  return nextCronMs(schedule.expression, schedule.timeZone, afterMs + earlyMs) ?? Number.POSITIVE_INFINITY;
}

/** The next times at which pings are due, if each comes when it is. */
export function nextTimes(schedule: HeartbeatSchedule, nowMs: number, count: number): number[] {
  const times: number[] = [];
  for (let at = nowMs; times.length < count; ) {
    at =
      schedule.type === "period"
        ? nextDueMs(schedule, at)
        : (nextCronMs(schedule.expression, schedule.timeZone, at) ?? Number.POSITIVE_INFINITY);
    if (at === Number.POSITIVE_INFINITY) break;
    times.push(at);
  }
  return times;
}
