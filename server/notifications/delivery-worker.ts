import type { Kysely, Selectable } from "kysely";
import { LRUCache } from "lru-cache";
import type { Event } from "../event/event.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Arrival, Store } from "../storage/store.ts";
import { removeDestination } from "./destinations.ts";
import type { Outcome } from "./outcome.ts";

type Delivery = Selectable<ControlTables["deliveries"]>;

/** What a channel of delivery is handed: the event itself, and where to send it. */
export type NotificationMessage = {
  event: Event;
  /** Null in a test message. */
  project: { slug: string; name: string } | null;
  address: string;
  secret: string | null;
};

/** Sends one notification, within a time that it has a default for; throws only where the program is at fault. */
export type Send = (notice: NotificationMessage, timeoutMs?: number) => Promise<Outcome>;

/** Where a delivery is to be sent; role and address are null where it no longer is. */
type Target = {
  slug: string;
  name: string;
  role: string | null;
  address: string | null;
  secret: string | null;
};

type Sent = {
  delivery: Delivery;
  outcome: Outcome;
  /** For so long it is tried to write this down. */
  untilMs: number;
};

/** What is written down of deliveries alike. */
type Change = { ids: number[]; attempts: number; set: Partial<Delivery> };

type Rooms = {
  store: Store;
  /** How each kind of destination is reached; one that is missing here is not configured. */
  transports: { browser: Send; email?: Send | undefined };
  onError: (error: unknown) => void;
  now?: () => number;
  random?: () => number;
};

/** Deliveries that are sent at the same time. */
const sendingMax = 32;
/**
 * After a claim the sender rests so many times as long as it took. While many events arrive, a claim waits for them, so that a long one means
 * a long rest: sending shares its thread and the writer with ingest, and takes little of both.
 */
const restRatio = 16;
const restMsMax = 500;
/** What was sent within this time is written down together. */
const settleRestMs = 20;
/** A claimed delivery is another's again after this: the process that held it has died. */
const leaseMs = 60_000;
/** For so long it is tried to write down how a delivery went: with the sending itself, less than the lease. */
const settleMs = 10_000;
const backoffBaseMs = 5_000;
const backoffCapMs = 4 * 60 * 60 * 1_000;
/** A delivery that did not come through within a day is dead. */
const giveUpMs = 24 * 60 * 60 * 1_000;
const idleMs = 60_000;
/** Until it is tried again what the storage did not take. */
const troubleMs = 2_000;
const rememberedEventsMax = 1_000;

/**
 * Sends the deliveries that events left in the outbox, with retries and full jitter
 * (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
 */
export class DeliveryWorker {
  readonly #rooms: Rooms;
  readonly #now: () => number;
  readonly #random: () => number;
  /** Events of this process, passed along; those from before a restart or of another node are read again. */
  readonly #events = new LRUCache<string, { event: Event; arrivalMs: number }>({
    max: rememberedEventsMax,
  });
  /** How many are being sent. */
  #sending = 0;
  /** What was sent and is not written down yet. */
  #sent: Sent[] = [];
  /** Nothing is claimed before this, as `performance.now` counts. */
  #claimAtMs = 0;
  #changed = Promise.withResolvers<void>();
  #timer: Timer | null = null;
  #working: Promise<void> | null = null;
  #again = false;
  #closed = false;

  constructor(rooms: Rooms) {
    this.#rooms = rooms;
    this.#now = rooms.now ?? Date.now;
    this.#random = rooms.random ?? Math.random;
  }

  /** Takes up what is due: an event whose deliveries were just stored, or what an earlier process left. */
  wake(arrived?: Arrival): void {
    if (arrived) {
      this.#events.set(arrived.event.id, { event: arrived.event, arrivalMs: arrived.arrival.ms });
    }
    if (this.#closed) return;
    this.#again = true;
    this.#changed.resolve();
    this.#working ??= this.#work()
      .catch((error) => {
        this.#rooms.onError(error);
        this.#wakeIn(troubleMs);
      })
      .finally(() => {
        this.#working = null;
        if (this.#again) this.wake();
      });
  }

  /** Lets go of events that were removed. */
  forget(eventIds: string[]): void {
    for (const id of eventIds) this.#events.delete(id);
  }

  /** Waits for what is being sent; the rest stays in the outbox. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
    this.#changed.resolve();
    await this.#working;
    // After a failure, nobody waits for what is still being sent.
    if (this.#sending > 0 || this.#sent.length > 0) await this.#work().catch(this.#rooms.onError);
  }

  /** How long to wait before the next attempt. */
  backoffMs(attempts: number): number {
    return this.#random() * Math.min(backoffCapMs, backoffBaseMs * 2 ** attempts);
  }

  async #work(): Promise<void> {
    for (;;) {
      if (this.#sent.length > 0) await this.#settleSent();
      if (this.#canClaim && performance.now() >= this.#claimAtMs) await this.#claim();
      const isIdle = this.#sending === 0 && this.#sent.length === 0;
      if (isIdle && (this.#closed || !this.#again)) {
        if (!this.#closed) await this.#sleep();
        return;
      }
      await this.#untilDue();
    }
  }

  /** Whether there may be something to send, and there is room for it. */
  get #canClaim(): boolean {
    return this.#again && this.#sending < sendingMax && !this.#closed;
  }

  async #claim(): Promise<void> {
    this.#again = false;
    const startedAt = performance.now();
    const now = this.#now();
    const free = sendingMax - this.#sending;
    const claimed = await this.#rooms.store.claimDeliveries(now, now + leaseMs, free);
    if (claimed.length > 0) await this.#start(claimed);
    if (claimed.length === free) this.#again = true;
    else if (!this.#again) await this.#sleep();
    const endedAt = performance.now();
    this.#claimAtMs = endedAt + Math.min((endedAt - startedAt) * restRatio, restMsMax);
  }

  /** Resolves when something was sent, or when more may be claimed. */
  async #untilDue(): Promise<void> {
    while (this.#sent.length === 0 && !(this.#closed && this.#sending === 0)) {
      const waitMs = this.#claimAtMs - performance.now();
      if (this.#canClaim && waitMs <= 0) return;
      const changed = this.#changed.promise;
      await (this.#canClaim ? Promise.race([changed, Bun.sleep(waitMs)]) : changed);
      this.#changed = Promise.withResolvers<void>();
    }
    if (!this.#closed) await Bun.sleep(settleRestMs);
  }

  async #start(claimed: Delivery[]): Promise<void> {
    const targets = await this.#targetsOf(claimed);
    // Deliveries of one event are claimed together: it is read once.
    const events = new Map<string, Promise<Event | null>>();
    for (const delivery of claimed) {
      const { eventId, projectId } = delivery;
      const key = `${projectId} ${eventId}`;
      const event = events.get(key) ?? this.#event(delivery);
      events.set(key, event);
      this.#sending++;
      this.#send(delivery, targets.get(delivery.id), event)
        .catch((error: unknown): Outcome => {
          this.#rooms.onError(error);
          return { kind: "retry", detail: `Tidings could not send it: ${(error as Error).message}` };
        })
        .then((outcome) => {
          this.#sending--;
          this.#sent.push({ delivery, outcome, untilMs: this.#now() + settleMs });
          this.#changed.resolve();
        });
    }
  }

  /**
   * Where deliveries are to be sent. All that is asked is asked now: since a delivery was made, a member may have left, and a browser
   * changed hands.
   */
  async #targetsOf(deliveries: Delivery[]): Promise<Map<number, Target>> {
    const rows = await this.#rooms.store.control
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
    eventFound: Promise<Event | null>,
  ): Promise<Outcome> {
    const event = await eventFound;
    const send = delivery.kind === "dashboard" ? undefined : this.#rooms.transports[delivery.kind];
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
    const known = this.#events.get(eventId);
    // An event that was removed by another node may have come anew, under the same id.
    if (known?.arrivalMs === createdAt) return known.event;
    const json = await this.#rooms.store.events.find(projectId, eventId);
    return json === null ? null : (JSON.parse(json) as Event);
  }

  /**
   * Writes down how deliveries went, many at a time. What was sent is to be known as sent before it is due again, so where the storage
   * does not take it, it is tried again for a while.
   */
  async #settleSent(): Promise<void> {
    const sent = this.#sent.splice(0);
    try {
      await this.#settle(sent);
    } catch (error) {
      const now = this.#now();
      if (!this.#closed) this.#sent.push(...sent.filter(({ untilMs }) => now < untilMs));
      throw error;
    }
  }

  async #settle(sent: Sent[]): Promise<void> {
    const { control } = this.#rooms.store;
    const changes = this.#changesOf(sent);
    const write = async (on: Kysely<ControlTables>) => {
      for (const { ids, attempts, set } of changes) {
        await on
          .updateTable("deliveries")
          .set(set)
          .where("id", "in", ids)
          // One that was cancelled or claimed again meanwhile is left alone, unless it came through.
          .$if(set.state !== "delivered", (query) =>
            query.where("state", "=", "waiting").where("attempts", "=", attempts),
          )
          .execute();
      }
    };
    await (changes.length === 1 ? write(control) : control.transaction().execute(write));
    for (const { delivery, outcome } of sent) {
      const { destinationId } = delivery;
      if (outcome.kind !== "gone" || !destinationId) continue;
      await removeDestination(control, destinationId, outcome.detail);
    }
  }

  /** What is to be written, with a statement for all deliveries that it is the same for. */
  #changesOf(sent: Sent[]): Change[] {
    const now = this.#now();
    const changes = new Map<string, Change>();
    for (const { delivery, outcome } of sent) {
      const set = this.#changeOf(delivery, outcome, now);
      const { attempts } = delivery;
      const key = JSON.stringify([set, attempts]);
      const known = changes.get(key);
      if (known) known.ids.push(delivery.id);
      else changes.set(key, { ids: [delivery.id], attempts, set });
    }
    return [...changes.values()];
  }

  #changeOf({ attempts, createdAt }: Delivery, outcome: Outcome, now: number): Partial<Delivery> {
    const ended = { detail: outcome.detail, nextAttemptAt: null };
    if (outcome.kind === "delivered") return { ...ended, state: "delivered", deliveredAt: now };
    if (outcome.kind !== "retry") return { ...ended, state: "dead" };
    const nextAttemptAt = Math.round(now + Math.max(this.backoffMs(attempts), outcome.retryAfterMs ?? 0));
    return nextAttemptAt - createdAt > giveUpMs
      ? { ...ended, state: "dead" }
      : { detail: outcome.detail, nextAttemptAt };
  }

  async #sleep(): Promise<void> {
    const next = await this.#rooms.store.control
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
