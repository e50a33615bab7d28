import type { Insertable, Transaction } from "kysely";
import { lockMembers } from "../projects/members.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Arrival, Store } from "../storage/store.ts";

type NewDelivery = Insertable<ControlTables["deliveries"]>;

type Deps = {
  store: Pick<Store, "control">;
  /** Deliveries were made: of events that arrived on this node, or `null` for others. */
  onMade: (events: Arrival[]) => void;
  onError: (error: unknown) => void;
};

/** About how many deliveries are made in one transaction, which events may wait for. */
const deliveriesPerStep = 500;
const eventsPerStepMax = 200;
/** Rows of an INSERT, whose values the storage engines limit to some 32,000. */
const rowsPerInsert = 1_000;
/**
 * After a step, the worker rests this many times as long as the step took. While many events arrive, steps take longer,
 * because they wait for events. So the rests are longer too, and ingest loses little.
 */
const restRatio = 16;
const restMsMax = 500;
/** Delay before a retry after a storage failure. */
const errorDelayMs = 2_000;
/** Events of this node to report with their deliveries. Beyond it, the oldest are not reported. */
const arrivedMax = 1_000;

/**
 * Makes the deliveries of events that notify. An event is stored with an entry in the outbox; a step takes entries out
 * and makes their deliveries in one transaction, so that each event is told exactly once, and a notification to many
 * costs ingest one row (https://microservices.io/patterns/data/transactional-outbox.html).
 */
export class FanOut {
  readonly #deps: Deps;
  /** Events that arrived and may have no deliveries yet, by project and id. */
  readonly #arrived = new Map<string, Arrival>();
  /** Deliveries for each event in the last step. */
  #perEvent = 25;
  #mayHaveMore = false;
  #running: Promise<void> | null = null;
  #retryTimer: Timer | null = null;
  readonly #closed = Promise.withResolvers<void>();
  #isClosed = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Makes the deliveries of an event that was just stored on any node, or what an earlier process left. */
  wake(arrived?: Arrival): void {
    if (arrived) this.#remember(arrived);
    if (this.#isClosed) return;
    this.#mayHaveMore = true;
    this.#running ??= this.#run()
      .catch((error) => {
        this.#deps.onError(error);
        this.#retryTimer = setTimeout(() => this.wake(), errorDelayMs);
        this.#retryTimer.unref();
        this.#mayHaveMore = false;
      })
      .finally(() => {
        this.#running = null;
        if (this.#mayHaveMore) this.wake();
      });
  }

  /** Waits for the step in progress. What it leaves stays in the outbox. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#mayHaveMore = false;
    if (this.#retryTimer) clearTimeout(this.#retryTimer);
    this.#closed.resolve();
    await this.#running;
  }

  #remember(arrived: Arrival): void {
    if (this.#arrived.size >= arrivedMax) {
      const [oldest] = this.#arrived.keys();
      this.#arrived.delete(oldest!);
    }
    this.#arrived.set(keyOf(arrived.projectId, arrived.event.id), arrived);
  }

  async #run(): Promise<void> {
    while (this.#mayHaveMore && !this.#isClosed) {
      this.#mayHaveMore = false;
      const waiting = [...this.#arrived.keys()];
      const startedAt = performance.now();
      const taken = await this.#step();
      const stepMs = performance.now() - startedAt;
      if (taken.length > 0) this.#mayHaveMore = true;
      // Those that are no longer in the outbox were taken out by another node.
      this.#report(taken.length > 0 ? taken : waiting);
      if (this.#mayHaveMore && taken.length > 0)
        await Promise.race([Bun.sleep(Math.min(stepMs * restRatio, restMsMax)), this.#closed.promise]);
    }
  }

  #report(keys: string[]): void {
    const events: Arrival[] = [];
    for (const key of keys) {
      const event = this.#arrived.get(key);
      if (!event) continue;
      this.#arrived.delete(key);
      events.push(event);
    }
    if (keys.length > 0) this.#deps.onMade(events);
  }

  /** Makes the deliveries of the oldest entries. Returns their keys. */
  async #step(): Promise<string[]> {
    const limit = Math.min(eventsPerStepMax, Math.max(1, Math.floor(deliveriesPerStep / this.#perEvent)));
    const { entries, made } = await this.#deps.store.control.transaction().execute(async (transaction) => {
      // Whoever leaves a project is not told any more. It also lets only one node at a time take entries.
      await lockMembers(transaction);
      const entries = await transaction
        .deleteFrom("outbox")
        .where("id", "in", (eb) => eb.selectFrom("outbox").select("id").orderBy("id").limit(limit))
        .returningAll()
        .execute();
      entries.sort((a, b) => a.id - b.id);
      const deliveries = await deliveriesOf(transaction, entries);
      for (let start = 0; start < deliveries.length; start += rowsPerInsert) {
        await transaction
          .insertInto("deliveries")
          .values(deliveries.slice(start, start + rowsPerInsert))
          .execute();
      }
      return { entries, made: deliveries.length };
    });
    if (entries.length > 0) this.#perEvent = Math.max(1, made / entries.length);
    return entries.map(({ projectId, eventId }) => keyOf(projectId, eventId));
  }
}

type Entry = { projectId: number; eventId: string; createdAt: number };

/** Returns a delivery for each event and each enabled destination of a member. */
async function deliveriesOf(
  transaction: Transaction<ControlTables>,
  entries: Entry[],
): Promise<NewDelivery[]> {
  if (entries.length === 0) return [];
  const projects = [...new Set(entries.map(({ projectId }) => projectId))];
  const destinations = await transaction
    .selectFrom("members")
    .innerJoin("destinations", "destinations.accountId", "members.accountId")
    .select(["projectId", "members.accountId", "destinations.id", "kind", "label"])
    .where("projectId", "in", projects)
    .where("enabled", "=", 1)
    .execute();
  const byProject = Map.groupBy(destinations, ({ projectId }) => projectId);
  return entries.flatMap(({ projectId, eventId, createdAt }) =>
    (byProject.get(projectId) ?? []).map(({ accountId, id, kind, label }): NewDelivery => {
      const isDashboard = kind === "dashboard";
      return {
        projectId,
        eventId,
        accountId,
        destinationId: id,
        kind,
        label,
        state: isDashboard ? "delivered" : "waiting",
        createdAt,
        nextAttemptAt: isDashboard ? null : createdAt,
        deliveredAt: isDashboard ? createdAt : null,
      };
    }),
  );
}

function keyOf(projectId: number, eventId: string): string {
  return `${projectId} ${eventId}`;
}
