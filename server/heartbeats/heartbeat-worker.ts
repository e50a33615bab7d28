import type { Kysely } from "kysely";
import { type ProblemCode, ProblemError } from "../core/problems.ts";
import type { EventSource } from "../ingest/accepted-event.ts";
import type { Recorder } from "../ingest/record.ts";
import type { RejectedEvents, Rejection } from "../ingest/rejected.ts";
import { WorkLoop } from "../scheduling/work-loop.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Store } from "../storage/store.ts";
import { applyDowntime, applyTime, changeHeartbeats } from "./apply.ts";

type Deps = {
  store: Pick<Store, "control" | "together" | "rowsOf">;
  recorder: Pick<Recorder, "checkAll" | "recordAll">;
  rejected: Pick<RejectedEvents, "keep">;
  onError: (error: unknown) => void;
  now?: () => number;
};

/** Heartbeats that are checked in one transaction, whose pings then wait. */
const dueMax = 100;
/** Events that are recorded before the next look. */
const eventsMax = 1_000;
/** After work, events wait so long for others to be recorded with. */
const restMs = 50;
/** So much later is a heartbeat down that is due: a ping that came in time is stored by then. */
const storingMs = 100;
/** Problems of an event, for which it is rejected; all others are the server's, and pass. */
const rejectedFor: readonly ProblemCode[] = ["body-invalid", "quota-reached"];
type WaitingEvent = {
  id: number;
  projectId: number;
  event: string;
  eventsPerDay: number | null;
  deletedAt: number | null;
};

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
    const due = await this.#due();
    for (let start = 0; start < due.length; start += dueMax)
      await changeHeartbeats(this.#deps.store, due.slice(start, start + dueMax), (row) =>
        applyDowntime(row, this.#now()),
      );
  }

  protected async work(): Promise<void> {
    while (!this.isClosed) {
      const due = await this.#due(dueMax);
      if (due.length > 0)
        await changeHeartbeats(this.#deps.store, due, (row) => applyTime(row, this.#settledMs));
      const recorded = await this.#recordEvents();
      if (due.length === dueMax || recorded === eventsMax) continue;
      if (due.length + recorded > 0) await this.rest(restMs);
      return;
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
    const waitMs = (next?.dueAt ?? Number.POSITIVE_INFINITY) - this.#settledMs;
    return Math.min(Math.max(waitMs, 10), idleMs);
  }

  get #settledMs(): number {
    return this.#now() - storingMs;
  }

  async #due(limit?: number): Promise<string[]> {
    const rows = await this.#deps.store.control
      .selectFrom("heartbeats")
      .select("id")
      .where("dueAt", "<=", this.#settledMs)
      .orderBy("dueAt")
      .$if(limit !== undefined, (query) => query.limit(limit!))
      .execute();
    return rows.map(({ id }) => id);
  }

  /** Returns how many there were to record. */
  async #recordEvents(): Promise<number> {
    const { control } = this.#deps.store;
    const rows = await control
      .selectFrom("heartbeatEvents")
      .innerJoin("projects", "projects.id", "heartbeatEvents.projectId")
      .select(["heartbeatEvents.id", "projectId", "event", "eventsPerDay", "deletedAt"])
      .orderBy("heartbeatEvents.id")
      .limit(eventsMax)
      .execute();
    const outcomes = await Promise.allSettled(
      [...Map.groupBy(rows, ({ projectId }) => projectId).values()].map((own) => this.#recordProject(own)),
    );
    const recorded = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? outcome.value : []));
    if (recorded.length > 0) await removeEvents(control, recorded);
    const failed = outcomes.find(({ status }) => status === "rejected");
    if (failed) throw (failed as PromiseRejectedResult).reason;
    return rows.length;
  }

  /**
   * Records a project's events in order, so that "up" follows "down". Returns the ids of the rows that are done with.
   *
   * Throws the problem that is the server's, if there is one: nothing of the project is done with then, and what was
   * recorded is a duplicate the next time.
   */
  async #recordProject(rows: WaitingEvent[]): Promise<number[]> {
    const { projectId, eventsPerDay, deletedAt } = rows[0]!;
    if (deletedAt === null) {
      // Whoever chose the channel may create one.
      const source = { projectId, knownChannelsOnly: false, mayRead: false };
      // Changes of state are few, and nobody must miss one.
      for (const { isChange, bodies } of runsOf(rows))
        await this.#recordAll(bodies, { ...source, eventsPerDay: isChange ? null : eventsPerDay });
    }
    return rows.map(({ id }) => id);
  }

  /** An event that can't be recorded is kept as rejected. */
  async #recordAll(bodies: object[], source: EventSource): Promise<void> {
    const { recorder, rejected } = this.#deps;
    const outcomes = await recorder.recordAll(await recorder.checkAll(bodies, source), source);
    const rejections: Rejection[] = [];
    for (const [index, problem] of outcomes.entries()) {
      if (!(problem instanceof ProblemError)) continue;
      if (!rejectedFor.includes(problem.code)) throw problem;
      rejections.push({ body: JSON.stringify(bodies[index]), problem });
    }
    if (rejections.length > 0) await rejected.keep(rejections, source);
  }
}

/** Neighbors of which all or none are changes of state. */
function runsOf(rows: WaitingEvent[]): { isChange: boolean; bodies: object[] }[] {
  const runs: { isChange: boolean; bodies: object[] }[] = [];
  for (const { event } of rows) {
    const body = JSON.parse(event) as { notify?: boolean };
    const isChange = body.notify === true;
    const last = runs.at(-1);
    if (last?.isChange === isChange) last.bodies.push(body);
    else runs.push({ isChange, bodies: [body] });
  }
  return runs;
}

async function removeEvents(control: Kysely<ControlTables>, ids: number[]): Promise<void> {
  await control.deleteFrom("heartbeatEvents").where("id", "in", ids).execute();
}
