import type { Kysely } from "kysely";
import { type ProblemError, problem } from "../core/problems.ts";
import type { ProjectAccess } from "../http/caller.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { AppendResult } from "../storage/event-store.ts";

const dayMs = 24 * 60 * 60 * 1_000;
/** How often each node adds its count to the table and reads the total of all nodes back. */
const syncEveryMs = 1_000;
/** From this age on, the total is read in the background, so that events of a busy project never wait. */
const refreshAgeMs = 500;

type Project = Pick<ProjectAccess, "projectId" | "eventsPerDay">;

/** A project's events of one day (UTC). */
export type DayCount = {
  projectId: number;
  /** Days since 1970. */
  day: number;
  /** The total of all nodes in the table, and when it was read. */
  stored: number;
  readAtMs: number;
  /** This node's events that are being added to the table, and those that are not yet. */
  syncing: number;
  pending: number;
  sync: Promise<void> | null;
};

/** Events that a project may record. */
class Reservation {
  readonly events: number;
  readonly #count: DayCount | null;

  /** @param count - null if the project has no quota */
  constructor(count: DayCount | null, events: number) {
    this.#count = count;
    this.events = events;
    if (count) count.pending += events;
  }

  /** Stores the events. Those that were not recorded, or were recorded before, are returned to the quota. */
  async use<Results extends readonly (AppendResult | Error)[] | null>(
    append: () => Promise<Results>,
  ): Promise<Results> {
    let recorded = 0;
    try {
      const results = await append();
      for (const result of results ?? []) if ("kind" in result && result.kind === "created") recorded++;
      return results;
    } finally {
      this.settle(recorded);
    }
  }

  /** Returns all of the events to the quota. */
  release(): void {
    this.settle(0);
  }

  /** Returns all but those that were recorded. */
  settle(recorded: number): void {
    if (this.#count) this.#count.pending -= this.events - recorded;
  }
}

/**
 * The daily quotas of projects. Each node counts in memory and shares its count once a second.
 *
 * Invariant: with several nodes, a project exceeds its daily quota by at most a second's worth of events. Checked by
 * `server/e2e/nodes.test.ts`.
 */
export class DailyQuota {
  readonly #control: Kysely<ControlTables>;
  readonly #now: () => number;
  readonly #onError: (error: unknown) => void;
  readonly #counts = new Map<number, DayCount>();
  readonly #timer: Timer;

  constructor(
    control: Kysely<ControlTables>,
    { now = Date.now, onError }: { now?: () => number; onError: (error: unknown) => void },
  ) {
    this.#control = control;
    this.#now = now;
    this.#onError = onError;
    this.#timer = setInterval(() => this.#syncPending(), syncEveryMs);
    this.#timer.unref();
  }

  /** The count of a project's day, to reserve events in: at once, unless it has to be read. Null without a quota. */
  of({ projectId, eventsPerDay }: Project): DayCount | null | Promise<DayCount> {
    if (eventsPerDay === null) return null;
    const now = this.#now();
    let count = this.#counts.get(projectId);
    if (count?.day !== dayOf(now)) {
      if (count) this.#syncInBackground(count);
      count = { projectId, day: dayOf(now), stored: 0, readAtMs: 0, syncing: 0, pending: 0, sync: null };
      this.#counts.set(projectId, count);
    }
    const ageMs = Math.abs(now - count.readAtMs);
    const current = count;
    if (ageMs >= syncEveryMs) return this.#sync(current).then(() => current);
    // If this fails, the next event that has to wait gets the error.
    if (ageMs >= refreshAgeMs) this.#syncInBackground(current);
    return current;
  }

  /** Reserves events, as many of them as the day's quota has left. */
  reserve(count: DayCount | null, { eventsPerDay }: Project, events: number): Reservation {
    if (count === null || eventsPerDay === null) return new Reservation(null, events);
    const used = count.stored + count.syncing + count.pending;
    return new Reservation(count, Math.min(events, Math.max(eventsPerDay - used, 0)));
  }

  /** The problem of events that are over the quota. */
  exceeded({ eventsPerDay }: Project): ProblemError {
    const now = this.#now();
    return problem("quota-reached", {
      detail: `This project can record ${eventsPerDay!.toLocaleString("en")} events a day. The next day begins at midnight UTC.`,
      retryAfterSeconds: Math.ceil(((dayOf(now) + 1) * dayMs - now) / 1_000),
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const count of this.#counts.values()) {
      await count.sync?.catch(() => {});
      if (count.pending !== 0) await this.#sync(count).catch(this.#onError);
    }
  }

  #syncPending(): void {
    const today = dayOf(this.#now());
    for (const [projectId, count] of this.#counts) {
      if (count.pending !== 0) this.#syncInBackground(count);
      else if (count.day !== today && count.sync === null) this.#counts.delete(projectId);
    }
  }

  #syncInBackground(count: DayCount): void {
    this.#sync(count).catch(this.#onError);
  }

  #sync(count: DayCount): Promise<void> {
    count.sync ??= this.#addToTable(count).finally(() => {
      count.sync = null;
    });
    return count.sync;
  }

  async #addToTable(count: DayCount): Promise<void> {
    const { projectId, day } = count;
    const startedMs = this.#now();
    count.syncing = count.pending;
    count.pending = 0;
    try {
      count.stored = await this.#add(projectId, day, count.syncing);
      count.readAtMs = startedMs;
    } catch (error) {
      count.pending += count.syncing;
      throw error;
    } finally {
      count.syncing = 0;
    }
  }

  /** Adds to a project's count of a day. Returns the total. */
  async #add(projectId: number, day: number, events: number): Promise<number> {
    if (events === 0) {
      const row = await this.#control
        .selectFrom("dailyEvents")
        .select("events")
        .where("projectId", "=", projectId)
        .where("day", "=", day)
        .executeTakeFirst();
      return row?.events ?? 0;
    }
    const row = await this.#control
      .insertInto("dailyEvents")
      .columns(["projectId", "day", "events"])
      // Nothing, if the project was deleted.
      .expression((eb) =>
        eb
          .selectFrom("projects")
          .select(({ val, cast }) => [
            "id",
            cast<number>(val(day), "integer").as("day"),
            cast<number>(val(events), "integer").as("events"),
          ])
          .where("id", "=", projectId),
      )
      .onConflict((conflict) =>
        conflict
          .columns(["projectId", "day"])
          .doUpdateSet((eb) => ({ events: eb("dailyEvents.events", "+", eb.ref("excluded.events")) })),
      )
      .returning("events")
      .executeTakeFirst();
    return row?.events ?? 0;
  }
}

function dayOf(ms: number): number {
  return Math.floor(ms / dayMs);
}
