import type { Kysely, Selectable } from "kysely";
import { LRUCache } from "lru-cache";
import type { Event } from "../event/event.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Arrival, Store } from "../storage/store.ts";
import { removeDestination } from "./destinations.ts";
import type { Outcome, Transports } from "./transport.ts";

type Delivery = Selectable<ControlTables["deliveries"]>;

/** Where a delivery is sent. Role and address are null if the member or the destination is gone. */
type Target = {
  slug: string;
  name: string;
  role: string | null;
  address: string | null;
  secret: string | null;
};

type SentDelivery = {
  delivery: Delivery;
  outcome: Outcome;
  /** Until when to retry recording this outcome. */
  untilMs: number;
};

/** One update for deliveries with the same outcome. */
type Update = { ids: number[]; attempts: number; set: Partial<Delivery> };

type Deps = {
  store: Store;
  /** The transport for each kind of destination. A missing one is not configured. */
  transports: Transports;
  onError: (error: unknown) => void;
  now?: () => number;
  random?: () => number;
};

/** Deliveries sent at the same time. */
const sendingMax = 32;
/**
 * After a claim, the worker rests this many times as long as the claim took. While many events arrive, claims take
 * longer, because they wait for events. So the rests are longer too, and sending takes little of the thread and the
 * writer that it shares with ingest.
 */
const restRatio = 16;
const restMsMax = 500;
/** Outcomes within this time are recorded together. */
const recordDelayMs = 20;
/** After this time, a delivery can be claimed again: the process that claimed it has died. */
const leaseMs = 60_000;
/** How long to retry recording an outcome. Together with sending, less than the lease. */
const recordTimeoutMs = 10_000;
const backoffBaseMs = 5_000;
const backoffCapMs = 4 * 60 * 60 * 1_000;
/** A delivery that did not succeed within a day is dead. */
const giveUpMs = 24 * 60 * 60 * 1_000;
const idleMs = 60_000;
/** Delay before a retry after a storage failure. */
const errorDelayMs = 2_000;
const cachedEventsMax = 1_000;

/**
 * Sends the deliveries in the outbox, which are stored with their events. Retries with exponential backoff and full
 * jitter (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
 */
export class DeliveryWorker {
  readonly #deps: Deps;
  readonly #now: () => number;
  readonly #random: () => number;
  /** Recent events of this process. Those from before a restart or from other nodes are read from the store. */
  readonly #events = new LRUCache<string, { event: Event; arrivalMs: number }>({
    max: cachedEventsMax,
  });
  /** Number of deliveries being sent. */
  #sending = 0;
  /** Deliveries that were sent, but whose outcome is not recorded yet. */
  #sent: SentDelivery[] = [];
  /** No claims before this time, as in `performance.now()`. */
  #claimAtMs = 0;
  #wakeUp = Promise.withResolvers<void>();
  #timer: Timer | null = null;
  #running: Promise<void> | null = null;
  #mayHaveDue = false;
  #closed = false;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
    this.#random = deps.random ?? Math.random;
  }

  /** Keeps an event whose deliveries will be sent, so that it isn't read again. */
  remember({ event, arrival }: Arrival): void {
    this.#events.set(event.id, { event, arrivalMs: arrival.ms });
  }

  /** Sends what is due: deliveries that were just made, or what an earlier process left. */
  wake(): void {
    if (this.#closed) return;
    this.#mayHaveDue = true;
    this.#wakeUp.resolve();
    this.#running ??= this.#run()
      .catch((error) => {
        this.#deps.onError(error);
        this.#wakeIn(errorDelayMs);
      })
      .finally(() => {
        this.#running = null;
        if (this.#mayHaveDue) this.wake();
      });
  }

  /** Drops removed events from memory. */
  dropEvents(eventIds: string[]): void {
    for (const id of eventIds) this.#events.delete(id);
  }

  /** Waits for deliveries that are being sent. The others stay in the outbox. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
    this.#wakeUp.resolve();
    await this.#running;
    // After a failure, nothing else waits for deliveries that are still being sent.
    if (this.#sending > 0 || this.#sent.length > 0) await this.#run().catch(this.#deps.onError);
  }

  /** Random delay before the next attempt. */
  backoffMs(attempts: number): number {
    return this.#random() * Math.min(backoffCapMs, backoffBaseMs * 2 ** attempts);
  }

  async #run(): Promise<void> {
    for (;;) {
      if (this.#sent.length > 0) await this.#flushSent();
      if (this.#canClaim && performance.now() >= this.#claimAtMs) await this.#claim();
      const isIdle = this.#sending === 0 && this.#sent.length === 0;
      if (isIdle && (this.#closed || !this.#mayHaveDue)) {
        if (!this.#closed) await this.#sleep();
        return;
      }
      await this.#untilDue();
    }
  }

  /** Whether there may be something to send, and capacity for it. */
  get #canClaim(): boolean {
    return this.#mayHaveDue && this.#sending < sendingMax && !this.#closed;
  }

  async #claim(): Promise<void> {
    this.#mayHaveDue = false;
    const startedAt = performance.now();
    const now = this.#now();
    const free = sendingMax - this.#sending;
    const claimed = await this.#deps.store.claimDeliveries(now, now + leaseMs, free);
    if (claimed.length > 0) await this.#start(claimed);
    if (claimed.length === free) this.#mayHaveDue = true;
    else if (!this.#mayHaveDue) await this.#sleep();
    const endedAt = performance.now();
    this.#claimAtMs = endedAt + Math.min((endedAt - startedAt) * restRatio, restMsMax);
  }

  /** Resolves when something was sent, or when more can be claimed. */
  async #untilDue(): Promise<void> {
    while (this.#sent.length === 0 && !(this.#closed && this.#sending === 0)) {
      const waitMs = this.#claimAtMs - performance.now();
      if (this.#canClaim && waitMs <= 0) return;
      const wakeUp = this.#wakeUp.promise;
      await (this.#canClaim ? Promise.race([wakeUp, Bun.sleep(waitMs)]) : wakeUp);
      this.#wakeUp = Promise.withResolvers<void>();
    }
    if (!this.#closed) await Bun.sleep(recordDelayMs);
  }

  async #start(claimed: Delivery[]): Promise<void> {
    const targets = await this.#targetsOf(claimed);
    // Deliveries of one event are claimed together, so it is read once.
    const events = new Map<string, Promise<Event | null>>();
    for (const delivery of claimed) {
      const { eventId, projectId } = delivery;
      const key = `${projectId} ${eventId}`;
      const event = events.get(key) ?? this.#event(delivery);
      events.set(key, event);
      this.#sending++;
      this.#send(delivery, targets.get(delivery.id), event)
        .catch((error: unknown): Outcome => {
          this.#deps.onError(error);
          return { kind: "retry", detail: `Tidings could not send it: ${(error as Error).message}` };
        })
        .then((outcome) => {
          this.#sending--;
          this.#sent.push({ delivery, outcome, untilMs: this.#now() + recordTimeoutMs });
          this.#wakeUp.resolve();
        });
    }
  }

  /**
   * Where deliveries are sent, as of now: since a delivery was stored, a member may have left, or a browser may have
   * changed accounts.
   */
  async #targetsOf(deliveries: Delivery[]): Promise<Map<number, Target>> {
    const rows = await this.#deps.store.control
      .selectFrom("deliveries")
      .innerJoin("projects", "projects.id", "deliveries.projectId")
      .leftJoin("members", (join) =>
        join
          .onRef("members.projectId", "=", "deliveries.projectId")
          .onRef("members.accountId", "=", "deliveries.accountId"),
      )
      .leftJoin("destinations", (join) =>
        join
          .onRef("destinations.id", "=", "deliveries.destinationId")
          .onRef("destinations.accountId", "=", "deliveries.accountId")
          .on("destinations.enabled", "=", 1),
      )
      .select(["deliveries.id", "slug", "projects.name", "members.role", "address", "secret"])
      .where(
        "deliveries.id",
        "in",
        deliveries.map(({ id }) => id),
      )
      .execute();
    return new Map(rows.map((row) => [row.id, row]));
  }

  async #send(
    delivery: Delivery,
    target: Target | undefined,
    pendingEvent: Promise<Event | null>,
  ): Promise<Outcome> {
    const event = await pendingEvent;
    const send =
      delivery.kind === "dashboard" ? undefined : this.#deps.transports[delivery.kind as keyof Transports];
    if (!send)
      return {
        kind: "failed",
        detail: `Notifications by ${delivery.kind} are not configured.`,
      };
    if (!target) return { kind: "failed", detail: "The delivery was removed." };
    const { slug, name, role, address, secret } = target;
    if (role === null) return { kind: "failed", detail: "The account is no longer a member of the project." };
    if (address === null) return { kind: "failed", detail: "The destination was removed." };
    if (!event) return { kind: "failed", detail: "The event was deleted." };
    return send({ event, project: { slug, name }, address, secret });
  }

  async #event({ eventId, projectId, createdAt }: Delivery): Promise<Event | null> {
    if (eventId === null) return null;
    const cached = this.#events.get(eventId);
    // Another node may have removed the event, and a new one may have the same id.
    if (cached?.arrivalMs === createdAt) return cached.event;
    const json = await this.#deps.store.events.find(projectId, eventId);
    return json === null ? null : (JSON.parse(json) as Event);
  }

  /**
   * Records outcomes, many at a time. A delivery that was sent must be recorded before it is due again, so recording is
   * retried for a while if the storage fails.
   */
  async #flushSent(): Promise<void> {
    const sent = this.#sent.splice(0);
    try {
      await this.#recordOutcomes(sent);
    } catch (error) {
      const now = this.#now();
      if (!this.#closed) this.#sent.push(...sent.filter(({ untilMs }) => now < untilMs));
      throw error;
    }
  }

  async #recordOutcomes(sent: SentDelivery[]): Promise<void> {
    const { control } = this.#deps.store;
    const updates = this.#updatesOf(sent);
    const write = async (on: Kysely<ControlTables>) => {
      for (const { ids, attempts, set } of updates) {
        await on
          .updateTable("deliveries")
          .set(set)
          .where("id", "in", ids)
          // Skips deliveries that were cancelled or claimed again in the meantime, unless they were delivered.
          .$if(set.state !== "delivered", (query) =>
            query.where("state", "=", "waiting").where("attempts", "=", attempts),
          )
          .execute();
      }
    };
    await (updates.length === 1 ? write(control) : control.transaction().execute(write));
    for (const { delivery, outcome } of sent) {
      const { destinationId } = delivery;
      if (outcome.kind !== "gone" || !destinationId) continue;
      await removeDestination(control, destinationId, outcome.detail);
    }
  }

  /** Groups equal updates, one statement for each group. */
  #updatesOf(sent: SentDelivery[]): Update[] {
    const now = this.#now();
    const updates = new Map<string, Update>();
    for (const { delivery, outcome } of sent) {
      const set = this.#updateOf(delivery, outcome, now);
      const { attempts } = delivery;
      const key = JSON.stringify([set, attempts]);
      const existing = updates.get(key);
      if (existing) existing.ids.push(delivery.id);
      else updates.set(key, { ids: [delivery.id], attempts, set });
    }
    return [...updates.values()];
  }

  #updateOf({ attempts, createdAt }: Delivery, outcome: Outcome, now: number): Partial<Delivery> {
    const ended = { detail: outcome.detail, nextAttemptAt: null };
    if (outcome.kind === "delivered") return { ...ended, state: "delivered", deliveredAt: now };
    if (outcome.kind !== "retry") return { ...ended, state: "dead" };
    const nextAttemptAt = Math.round(now + Math.max(this.backoffMs(attempts), outcome.retryAfterMs ?? 0));
    return nextAttemptAt - createdAt > giveUpMs
      ? { ...ended, state: "dead" }
      : { detail: outcome.detail, nextAttemptAt };
  }

  async #sleep(): Promise<void> {
    const next = await this.#deps.store.control
      .selectFrom("deliveries")
      .select("nextAttemptAt")
      .where("state", "=", "waiting")
      .orderBy("nextAttemptAt")
      .limit(1)
      .executeTakeFirst();
    const waitMs = next ? Math.min(Math.max(next.nextAttemptAt! - this.#now(), 10), idleMs) : idleMs;
    this.#wakeIn(waitMs);
  }

  #wakeIn(waitMs: number): void {
    if (this.#closed) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.wake(), waitMs);
    this.#timer.unref();
  }
}
