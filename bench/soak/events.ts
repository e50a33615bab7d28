import { eventOf, userCount } from "../events.ts";
import { fateOf, idOf, leaverOf } from "./ledger.ts";

const dayMs = 86_400_000;
/** The channel whose events are kept for a day, and how long before the end of that day its events are dated. */
export const expiringChannel = "expiring";
const expiresAfterMs = 120_000;
/** One event in this many matches the rules that notify, and one in twice as many resolves their alert. */
const alertEvery = 400;

/** How many numbers apart the users who are erased begin. */
export const leaverSpan = 20_000;

export const leaverName = (run: number, leaver: number): string => `leaver-${run}-${leaver}`;

/** Returns the body of an event. `ms` is when it was first sent. */
export function bodyOf(run: number, number: number, ms: number): Record<string, unknown> {
  const event = { ...eventOf(number), id: idOf(ms, run, number) };
  switch (fateOf(number)) {
    case "expiring":
      return { ...event, channel: expiringChannel, createdAt: ms - dayMs + expiresAfterMs };
    case "erased":
      return { ...event, userId: leaverName(run, leaverOf(number, leaverSpan)) };
    case "imported":
      return { ...event, createdAt: ms - (number % 30) * dayMs };
    case "kept": {
      const isAlert = number % alertEvery === 1;
      const isResolved = number % (alertEvery * 2) === 2;
      if (!isAlert && !isResolved) return event;
      const tags = { ...event.tags, server: `server-${number % 7}`, state: isAlert ? "failed" : "ok" };
      return { ...event, name: "Check", tags, userId: `user_${number % userCount}` };
    }
  }
}

/** The tag by which a run's requests of the webhook are counted. */
export const listOf = (run: number): string => `news-${run}`;
