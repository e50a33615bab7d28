import type { Event } from "../../event/event.ts";
import type { Acknowledged } from "./ledger.ts";

/** What clients noticed of a fault. Times are milliseconds, the other members count events. */
export type Outcome = {
  fault: string;
  /** The longest time in which no write, or no read, of any client succeeded. */
  writePauseMs: number;
  readPauseMs: number;
  /** The longest time until a write, or a read, of one client succeeded, with its retries. */
  slowestWriteMs: number;
  slowestReadMs: number;
  /** From the end of the fault until every part was whole again. */
  recoveryMs: number;
  lost: number;
  doubled: number;
  /** Of streams: events that one of them lacks, delivered twice, or delivered too late. */
  missing: number;
  repeated: number;
  outOfOrder: number;
  resets: number;
  /** Acknowledged events that a reader did not find at some time. */
  vanished: number;
  /** Events that were listed before they were acknowledged, and then missing for a while. */
  listedEarly: number;
};

/** Members of an outcome that must be 0. */
export const promises = [
  "lost",
  "doubled",
  "missing",
  "repeated",
  "outOfOrder",
  "resets",
  "vanished",
] as const satisfies (keyof Outcome)[];

/** How many acknowledged events are not stored, and how many events are stored more than once. */
export function compareStored(
  stored: readonly Pick<Event, "id" | "userId">[],
  acknowledged: Iterable<Acknowledged>,
): { lost: number; doubled: number } {
  const byId = new Map(stored.map(({ id, userId }) => [id, userId]));
  let lost = 0;
  for (const { id, userId } of acknowledged) if (byId.get(id) !== userId) lost++;
  return { lost, doubled: stored.length - new Set(stored.map(({ userId }) => userId)).size };
}

/** Returns the outcomes of each fault as one: the longest times, and sums of the rest. */
export function combine(outcomes: readonly Outcome[]): (Outcome & { times: number })[] {
  const combined = new Map<string, Outcome & { times: number }>();
  for (const outcome of outcomes) {
    const known = combined.get(outcome.fault);
    if (!known) {
      combined.set(outcome.fault, { ...outcome, times: 1 });
      continue;
    }
    known.times++;
    for (const [name, value] of Object.entries(outcome)) {
      if (typeof value !== "number") continue;
      const key = name as Exclude<keyof Outcome, "fault">;
      known[key] = key.endsWith("Ms") ? Math.max(known[key], value) : known[key] + value;
    }
  }
  return [...combined.values()];
}
