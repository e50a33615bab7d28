import type { Kysely } from "kysely";
import { ProblemError } from "../core/problems.ts";
import { WorkLoop } from "../core/work-loop.ts";
import type { EventSource } from "../ingest/accepted-event.ts";
import type { Recorder } from "../ingest/record.ts";
import type { RejectedEvents } from "../ingest/rejected.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Store } from "../storage/store.ts";
import { applyTime, lockHeartbeat, saveState, stateIn } from "./apply.ts";
import { afterDowntime } from "./heartbeat-state.ts";
import { type HeartbeatRow, timesOf } from "./heartbeats.ts";

type Deps = {
  store: Pick<Store, "control" | "together">;
  recorder: Pick<Recorder, "record">;
  rejected: Pick<RejectedEvents, "keep">;
  onError: (error: unknown) => void;
  now?: () => number;
};

/** Events that are recorded, and heartbeats that are checked, before the next look. */
const stepMax = 100;
/** Changes by other nodes wake nobody here, so they are noticed this late at most. */
const idleMs = 60_000;

/**
 * Records the events of heartbeats, and notices those that are due.
 *
 * A ping changes its heartbeat and stores its events in one transaction; so does time that has passed. This loop
 * records these events, and removes them when they are durable. A process that dies in between, or another node that
 * does the same, records one again: with the same id, so it is stored once.
 *
 * Invariant: each change of a heartbeat's state is recorded as an event exactly once, over restarts and nodes. Checked
 * by `server/heartbeats/exactly-once.test.ts`.
 */
export class HeartbeatWorker extends WorkLoop {
  readonly #deps: Deps;
  readonly #now: () => number;

  constructor(deps: Deps) {
    super(deps);
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
  }

  /** Before pings come in after the server was down: what became due meanwhile waits for pings that may still come. */
  async startAgain(): Promise<void> {
    for (const { id } of await this.#due())
      await this.#deps.store.control.transaction().execute(async (transaction) => {
        const row = await lockHeartbeat(transaction, id);
        if (!row) return;
        const before = stateIn(row);
        const state = afterDowntime(timesOf(row), before, this.#now());
        if (state !== before) await saveState(transaction, row, state);
      });
  }

  protected async work(): Promise<void> {
    while (!this.isClosed) {
      const due = await this.#due(stepMax);
      for (const { id } of due) {
        if (this.isClosed) return;
        await this.#deps.store.together("control", async (transaction) => {
          const row = await lockHeartbeat(transaction, id);
          if (row) await applyTime(transaction, row, this.#now());
        });
      }
      const recorded = await this.#recordEvents();
      if (due.length < stepMax && recorded < stepMax) return;
    }
  }

  protected async waitMs(): Promise<number> {
    const next = await this.#deps.store.control
      .selectFrom("heartbeats")
      .select("dueAt")
      .where("dueAt", "is not", null)
      .orderBy("dueAt")
      .limit(1)
      .executeTakeFirst();
    const waitMs = (next?.dueAt ?? Number.POSITIVE_INFINITY) - this.#now();
    return Math.min(Math.max(waitMs, 10), idleMs);
  }

  #due(limit?: number): Promise<Pick<HeartbeatRow, "id">[]> {
    return this.#deps.store.control
      .selectFrom("heartbeats")
      .select("id")
      .where("dueAt", "<=", this.#now())
      .orderBy("dueAt")
      .$if(limit !== undefined, (query) => query.limit(limit!))
      .execute();
  }

  /** Returns how many there were to record. */
  async #recordEvents(): Promise<number> {
    const { control } = this.#deps.store;
    const rows = await control
      .selectFrom("heartbeatEvents")
      .innerJoin("projects", "projects.id", "heartbeatEvents.projectId")
      .select(["heartbeatEvents.id", "projectId", "event", "eventsPerDay", "deletedAt"])
      .orderBy("heartbeatEvents.id")
      .limit(stepMax)
      .execute();
    const recorded: number[] = [];
    // Projects at the same time, so that they share commits; each in order, so that "up" follows "down".
    const outcomes = await Promise.allSettled(
      [...Map.groupBy(rows, ({ projectId }) => projectId).values()].map(async (own) => {
        for (const row of own) {
          if (this.isClosed) return;
          if (row.deletedAt === null) await this.#record(row);
          recorded.push(row.id);
        }
      }),
    );
    if (recorded.length > 0) await removeEvents(control, recorded);
    const failed = outcomes.find(({ status }) => status === "rejected");
    if (failed) throw (failed as PromiseRejectedResult).reason;
    return rows.length;
  }

  /** Throws what the storage throws. An event that can't be recorded is kept as rejected. */
  async #record({
    projectId,
    event,
    eventsPerDay,
  }: {
    projectId: number;
    event: string;
    eventsPerDay: number | null;
  }): Promise<void> {
    const body = JSON.parse(event) as { notify?: boolean };
    const source: EventSource = {
      projectId,
      // Whoever chose the channel may create one.
      knownChannelsOnly: false,
      // Changes of state are few, and nobody must miss one.
      eventsPerDay: body.notify ? null : eventsPerDay,
      mayRead: false,
    };
    try {
      await this.#deps.recorder.record(body, source);
    } catch (error) {
      if (!(error instanceof ProblemError) || !["body-invalid", "quota-reached"].includes(error.code))
        throw error;
      await this.#deps.rejected.keep([{ body: event, problem: error }], source);
    }
  }
}

async function removeEvents(control: Kysely<ControlTables>, ids: number[]): Promise<void> {
  await control.deleteFrom("heartbeatEvents").where("id", "in", ids).execute();
}
