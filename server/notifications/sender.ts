import type { Selectable } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Arrival, Store } from "../storage/store.ts";
import type { Event } from "../wire/event.ts";
import { removeDestination } from "./destinations.ts";
import type { Outcome } from "./outcome.ts";

type Delivery = Selectable<ControlTables["deliveries"]>;

/** What a channel of delivery is handed: the event itself, and where to send it. */
export type Notice = {
  event: Event;
  /** Null in a test message. */
  project: { slug: string; name: string } | null;
  address: string;
  secret: string | null;
};

/** Sends one notification, within a time that it has a default for; throws only where the program is at fault. */
export type Send = (notice: Notice, timeoutMs?: number) => Promise<Outcome>;

type Rooms = {
  store: Store;
  /** How each kind of destination is reached; one that is missing here is not configured. */
  channels: { browser: Send; email?: Send | undefined };
  onError: (error: unknown) => void;
  now?: () => number;
  random?: () => number;
};

/** Deliveries that are sent at the same time. */
const claimMax = 16;
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
export class Sender {
  readonly #rooms: Rooms;
  readonly #now: () => number;
  readonly #random: () => number;
  /** Events of this process, passed along; those from before a restart or of another node are read again. */
  readonly #events = new Map<string, { event: Event; arrivalMs: number }>();
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
      if (this.#events.size >= rememberedEventsMax) this.#events.delete(this.#events.keys().next().value!);
      this.#events.set(arrived.event.id, { event: arrived.event, arrivalMs: arrived.arrival.ms });
    }
    if (this.#closed) return;
    this.#again = true;
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
    await this.#working;
  }

  /** How long to wait before the next attempt. */
  backoffMs(attempts: number): number {
    return this.#random() * Math.min(backoffCapMs, backoffBaseMs * 2 ** attempts);
  }

  async #work(): Promise<void> {
    while (!this.#closed) {
      this.#again = false;
      const now = this.#now();
      const claimed = await this.#rooms.store.claimDeliveries(now, now + leaseMs, claimMax);
      if (claimed.length === 0) break;
      await Promise.all(claimed.map((delivery) => this.#deliver(delivery)));
    }
    if (!this.#closed) await this.#sleep();
  }

  async #deliver(delivery: Delivery): Promise<void> {
    let outcome: Outcome;
    try {
      outcome = await this.#send(delivery);
    } catch (error) {
      this.#rooms.onError(error);
      outcome = { kind: "retry", detail: `Tidings failed at it: ${(error as Error).message}` };
    }
    // What was sent is to be known as sent before it is due again; the storage may be away for a moment.
    const untilMs = this.#now() + settleMs;
    for (;;) {
      try {
        return await this.#settle(delivery, outcome);
      } catch (error) {
        if (this.#closed || this.#now() > untilMs) throw error;
        await Bun.sleep(troubleMs);
      }
    }
  }

  async #send(delivery: Delivery): Promise<Outcome> {
    const { channels, store } = this.#rooms;
    const { control } = store;
    const send = delivery.kind === "dashboard" ? undefined : channels[delivery.kind];
    if (!send)
      return {
        kind: "failed",
        detail: `Sending to a destination of this kind (${delivery.kind}) is not configured.`,
      };
    // All that is asked is asked now: since the delivery was made, a member may have left, and a browser changed hands.
    const found = await control
      .selectFrom("projects")
      .leftJoin("members", (join) =>
        join.onRef("members.projectId", "=", "projects.id").on("members.accountId", "=", delivery.accountId),
      )
      .leftJoin("destinations", (join) =>
        join
          .onRef("destinations.accountId", "=", "members.accountId")
          .on("destinations.id", "=", delivery.destinationId)
          .on("destinations.enabled", "=", 1),
      )
      .select(["slug", "projects.name", "members.role", "address", "secret"])
      .where("projects.id", "=", delivery.projectId)
      .executeTakeFirst();
    if (!found) return { kind: "failed", detail: "The project was deleted." };
    const { slug, name, role, address, secret } = found;
    if (role === null) return { kind: "failed", detail: "The account is no longer a member of the project." };
    if (address === null) return { kind: "failed", detail: "The destination was removed." };
    const event = await this.#event(delivery);
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

  async #settle(delivery: Delivery, outcome: Outcome): Promise<void> {
    const { control } = this.#rooms.store;
    const now = this.#now();
    const { detail } = outcome;
    const update = (change: Partial<Delivery>) =>
      control
        .updateTable("deliveries")
        .set({ detail, nextAttemptAt: null, ...change })
        .where("id", "=", delivery.id)
        // One that was cancelled or claimed again meanwhile is left alone, unless it came through.
        .$if(outcome.kind !== "delivered", (query) =>
          query.where("state", "=", "waiting").where("attempts", "=", delivery.attempts),
        )
        .execute();
    switch (outcome.kind) {
      case "delivered":
        await update({ state: "delivered", deliveredAt: now });
        return;
      case "failed":
        await update({ state: "dead" });
        return;
      case "gone":
        await update({ state: "dead" });
        if (delivery.destinationId) {
          const id = delivery.destinationId;
          await control.transaction().execute((transaction) => removeDestination(transaction, id, detail));
        }
        return;
      case "retry": {
        const nextAttemptAt = Math.round(
          now + Math.max(this.backoffMs(delivery.attempts), outcome.retryAfterMs ?? 0),
        );
        const isOver = nextAttemptAt - delivery.createdAt > giveUpMs;
        await update(isOver ? { state: "dead" } : { nextAttemptAt });
      }
    }
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
