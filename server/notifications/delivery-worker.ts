import type { Kysely, Selectable } from "kysely";
import { LRUCache } from "lru-cache";
import type { Event } from "../event/event.ts";
import { limits } from "../limits.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import type { Arrival, Store } from "../storage/store.ts";
import type { FailedAttempt } from "./deliveries.ts";
import { listQueues, shareAmong } from "./delivery-queues.ts";
import { recordHealth } from "./destination-health.ts";
import { removeDestination } from "./destinations.ts";
import { messageOfEmailDigest, type StoredEmailDigest } from "./email-digest.ts";
import { type AccountMessage, type Message, messageOfEvent } from "./message.ts";
import {
  isOwnerNotice,
  messageOfNotification,
  messageOfOwnerNotice,
  type OwnerNotice,
  type StoredNotification,
  tellsOfEvent,
} from "./notification-message.ts";
import type { OutboundPolicy } from "./outbound.ts";
import { kindOf, openSettings } from "./project-destinations.ts";
import type { Outcome, Transports } from "./transport.ts";
import type { UnsubscribeLinks } from "./unsubscribe.ts";

type Delivery = Selectable<ControlTables["deliveries"]>;

/**
 * Where a delivery is sent, as of now: since it was stored, a member may have left, or a destination may have been turned
 * off or changed accounts. `role`, `address` and `settings` are null if it can't be sent there any more.
 */
type Target = {
  slug: string;
  name: string;
  role: string | null;
  address: string | null;
  secret: string | null;
  settings: string | null;
  ruleName: string | null;
  urgent: number | null;
  unsubscribedAt: number | null;
};

/** The outcome of an attempt, and whether the destination had a part in it. */
type Attempt = { outcome: Outcome; wasCalled: boolean };

type SentDelivery = Attempt & {
  delivery: Delivery;
  /** Until when to retry recording this outcome. */
  untilMs: number;
};

/** One update for deliveries with the same outcome. */
type Update = { ids: number[]; attempts: number; set: Partial<Delivery> };

type Deps = {
  store: Store;
  /** The transport for each kind of destination. A missing one is not configured. */
  transports: Transports;
  /** For the settings of projects' destinations. */
  secrets: SecretBox;
  policy: OutboundPolicy;
  baseUrl: string;
  unsubscribeLinks: Pick<UnsubscribeLinks, "url">;
  onError: (error: unknown) => void;
  now?: () => number;
  random?: () => number;
};

/** Deliveries sent at the same time. */
const sendingMax = 32;
/** Of these, for one destination, so that a slow one doesn't delay the others. */
const sendingPerDestinationMax = 4;
/**
 * After a claim of `sendingMax` deliveries, the worker rests this many times as long as the claim took; after smaller
 * ones, less. While many events arrive, claims take longer, because they wait for events. So the rests are longer too,
 * and sending takes little of the thread and the writer that it shares with ingest.
 */
const restRatio = 16;
const restRatioMin = 2;
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
 * Sends deliveries, from a queue for each destination. Retries with exponential backoff and full
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
  /** The same for each destination. */
  readonly #sendingTo = new Map<string, number>();
  /** Deliveries are due to destinations that have as many in progress as they may. */
  #hasFullQueues = false;
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
    const due = (await listQueues(this.#deps.store.control)).filter(({ dueAt }) => dueAt <= now);
    const shares = shareAmong(due, this.#sendingTo, sendingMax - this.#sending, sendingPerDestinationMax);
    const claimed =
      shares.length > 0 ? await this.#deps.store.claimDeliveries(now, now + leaseMs, shares) : [];
    if (claimed.length > 0) await this.#start(claimed);
    this.#hasFullQueues = due.some(({ destinationId }) => this.#isFull(destinationId));
    // A claim that got all that it asked for may have left some.
    const asked = shares.reduce((sum, { count }) => sum + count, 0);
    const hasMore = claimed.length === asked && due.some(({ destinationId }) => !this.#isFull(destinationId));
    if (hasMore) this.#mayHaveDue = true;
    else if (!this.#mayHaveDue) await this.#sleep();
    const endedAt = performance.now();
    const ratio = Math.max(restRatioMin, (restRatio * claimed.length) / sendingMax);
    this.#claimAtMs = endedAt + Math.min((endedAt - startedAt) * ratio, restMsMax);
  }

  #isFull(destinationId: string): boolean {
    return (this.#sendingTo.get(destinationId) ?? 0) >= sendingPerDestinationMax;
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
      this.#began(delivery);
      this.#send(delivery, targets.get(delivery.id), event)
        .catch((error: unknown): Attempt => {
          this.#deps.onError(error);
          const detail = `Tidings could not send it: ${(error as Error).message}`;
          return { outcome: { kind: "retry", detail }, wasCalled: false };
        })
        .then((attempt) => {
          this.#ended(delivery);
          this.#sent.push({ ...attempt, delivery, untilMs: this.#now() + recordTimeoutMs });
          this.#wakeUp.resolve();
        });
    }
  }

  #began({ destinationId }: Delivery): void {
    this.#sending++;
    if (destinationId !== null)
      this.#sendingTo.set(destinationId, (this.#sendingTo.get(destinationId) ?? 0) + 1);
  }

  #ended({ destinationId }: Delivery): void {
    this.#sending--;
    if (this.#hasFullQueues) this.#mayHaveDue = true;
    if (destinationId === null) return;
    const left = this.#sendingTo.get(destinationId)! - 1;
    if (left === 0) this.#sendingTo.delete(destinationId);
    else this.#sendingTo.set(destinationId, left);
  }

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
          .onRef("destinations.accountId", "=", "deliveries.accountId"),
      )
      .leftJoin("projectDestinations", (join) =>
        join
          .onRef("projectDestinations.id", "=", "deliveries.destinationId")
          .onRef("projectDestinations.projectId", "=", "deliveries.projectId")
          .on("projectDestinations.enabled", "=", 1),
      )
      .leftJoin("rules", "rules.id", "deliveries.ruleId")
      .leftJoin("emailUnsubscriptions", (join) =>
        join
          .onRef("emailUnsubscriptions.projectId", "=", "deliveries.projectId")
          .onRef("emailUnsubscriptions.accountId", "=", "deliveries.accountId"),
      )
      .select([
        "deliveries.id",
        "slug",
        "projects.name",
        "members.role",
        "address",
        "secret",
        "destinations.enabled",
        "projectDestinations.settings",
        "rules.name as ruleName",
        "rules.urgent",
        "emailUnsubscriptions.createdAt as unsubscribedAt",
      ])
      .where(
        "deliveries.id",
        "in",
        deliveries.map(({ id }) => id),
      )
      .execute();
    const notices = new Set(
      deliveries.flatMap((delivery) =>
        notificationOf(delivery)?.type === "server-notice" ? [delivery.id] : [],
      ),
    );
    // What the server's owner must know is sent also where notifications are off.
    return new Map(
      rows.map(({ enabled, ...row }) => [
        row.id,
        enabled === 1 || notices.has(row.id) ? row : { ...row, address: null },
      ]),
    );
  }

  async #send(
    delivery: Delivery,
    target: Target | undefined,
    pendingEvent: Promise<Event | null>,
  ): Promise<Attempt> {
    const event = await pendingEvent;
    if (!target) return notCalled("The delivery was removed.");
    const notification = notificationOf(delivery);
    if (notification?.type === "email-digest") return this.#sendDigest(delivery, target, notification);
    if (!event && tellsOfEvent(notification)) return notCalled("The event was deleted.");
    const message = this.#messageOf(delivery, target, notification, event);
    return delivery.accountId === null
      ? this.#sendToProject(delivery, target, message as Message)
      : this.#sendToAccount(delivery, target, message);
  }

  async #sendDigest(delivery: Delivery, target: Target, digest: StoredEmailDigest): Promise<Attempt> {
    const { store, baseUrl } = this.#deps;
    const { id, accountId } = delivery;
    const { slug, name } = target;
    const message = await messageOfEmailDigest(store.control, (row) => this.#event(row), digest, {
      id: String(id),
      project: { slug, name },
      accountId: accountId!,
      baseUrl,
    });
    if (!message) return notCalled("Everything in it was deleted.");
    return this.#sendToAccount(delivery, target, message);
  }

  async #sendToAccount(
    { kind, projectId, accountId }: Delivery,
    { role, address, secret, unsubscribedAt }: Target,
    message: AccountMessage,
  ): Promise<Attempt> {
    const send = kind === "dashboard" ? undefined : this.#deps.transports[kind as keyof Transports];
    if (!send) return notCalled(`Notifications by ${kind} are not configured.`);
    if (role === null) return notCalled("The account is no longer a member of the project.");
    if (address === null) return notCalled("The destination was removed.");
    if (kind !== "email") return { outcome: await send({ message, address, secret }), wasCalled: true };
    if (unsubscribedAt !== null) return notCalled("The account unsubscribed before this was sent.");
    const unsubscribeUrl = this.#deps.unsubscribeLinks.url({ projectId, accountId: accountId! });
    return { outcome: await send({ message, address, secret, unsubscribeUrl }), wasCalled: true };
  }

  async #sendToProject(delivery: Delivery, { settings }: Target, message: Message): Promise<Attempt> {
    const { kind, destinationId } = delivery;
    if (settings === null || destinationId === null)
      return notCalled("The destination was deleted or turned off.");
    const { policy, secrets } = this.#deps;
    const previous = message.type === "summary" ? await this.#previousOf(delivery) : null;
    const outcome = await kindOf({ kind }).send(
      message,
      openSettings({ id: destinationId, settings }, secrets),
      { policy, nowMs: this.#now(), ...(previous !== null && { previous }) },
    );
    return { outcome, wasCalled: true };
  }

  #messageOf(
    { id, ruleId }: Delivery,
    { slug, name, ruleName, urgent }: Target,
    notification: StoredNotification | OwnerNotice | null,
    event: Event | null,
  ): AccountMessage {
    const { baseUrl } = this.#deps;
    const about = { id: String(id), project: { slug, name }, urgent: urgent === 1 };
    if (isOwnerNotice(notification)) return messageOfOwnerNotice(notification, { ...about, baseUrl });
    if (notification) return messageOfNotification(notification, event, { ...about, baseUrl, ruleId });
    const rule = ruleId === null || ruleName === null ? null : { id: ruleId, name: ruleName };
    return messageOfEvent(event!, { ...about, rule, url: `${baseUrl}/p/${slug}/events/${event!.id}` });
  }

  /** What the receiver calls the message about the event that began the burst. */
  async #previousOf({ eventId, ruleId, destinationId }: Delivery): Promise<string | null> {
    const row = await this.#deps.store.control
      .selectFrom("deliveries")
      .select("reference")
      .where("eventId", "=", eventId)
      .where("ruleId", "=", ruleId)
      .where("destinationId", "=", destinationId)
      .where("reference", "is not", null)
      .orderBy("id")
      .limit(1)
      .executeTakeFirst();
    return row?.reference ?? null;
  }

  async #event({
    eventId,
    projectId,
    createdAt,
  }: Pick<Delivery, "eventId" | "projectId" | "createdAt">): Promise<Event | null> {
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
    await this.#recordHealth(sent);
  }

  /** Records what the outcomes say about their destinations. */
  async #recordHealth(sent: SentDelivery[]): Promise<void> {
    const { control } = this.#deps.store;
    const called = sent.filter(({ wasCalled, delivery }) => wasCalled && delivery.destinationId !== null);
    for (const [destinationId, attempts] of Map.groupBy(called, ({ delivery }) => delivery.destinationId!)) {
      const outcomes = attempts.map(({ outcome }) => outcome);
      const gone = outcomes.find(({ kind }) => kind === "gone");
      if (attempts[0]!.delivery.accountId === null) {
        const isOff = await recordHealth(control, destinationId, outcomes, this.#now());
        // Its owners are told.
        if (isOff) this.#mayHaveDue = true;
      } else if (gone) await removeDestination(control, destinationId, gone.detail);
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

  #updateOf(delivery: Delivery, outcome: Outcome, now: number): Partial<Delivery> {
    const { attempts, createdAt } = delivery;
    const ended = { detail: outcome.detail, nextAttemptAt: null };
    if (outcome.kind === "delivered") {
      const { reference } = outcome;
      return {
        ...ended,
        state: "delivered",
        deliveredAt: now,
        ...(reference !== undefined && { reference }),
      };
    }
    const failures = withFailure(delivery, { atMs: now, detail: outcome.detail });
    if (outcome.kind !== "retry") return { ...ended, failures, state: "dead" };
    const nextAttemptAt = Math.round(now + Math.max(this.backoffMs(attempts), outcome.retryAfterMs ?? 0));
    return nextAttemptAt - createdAt > giveUpMs
      ? { ...ended, failures, state: "dead" }
      : { detail: outcome.detail, failures, nextAttemptAt };
  }

  async #sleep(): Promise<void> {
    const queues = await listQueues(this.#deps.store.control);
    // Those that are full continue when one of their deliveries has ended.
    const times = queues.flatMap(({ destinationId, dueAt }) => (this.#isFull(destinationId) ? [] : [dueAt]));
    const waitMs = Math.min(Math.max(Math.min(...times) - this.#now(), 10), idleMs);
    this.#wakeIn(waitMs);
  }

  #wakeIn(waitMs: number): void {
    if (this.#closed) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.wake(), waitMs);
    this.#timer.unref();
  }
}

/** Adds to a delivery's failed attempts, and drops the oldest ones beyond the limit. */
function withFailure({ failures }: Delivery, failure: FailedAttempt): string {
  const earlier: FailedAttempt[] = failures === null ? [] : JSON.parse(failures);
  return JSON.stringify([...earlier, failure].slice(-limits.deliveryFailures));
}

/** The outcome of a delivery that can't be sent. */
function notCalled(detail: string): Attempt {
  return { outcome: { kind: "failed", detail }, wasCalled: false };
}

function notificationOf({
  notification,
}: Delivery): StoredNotification | OwnerNotice | StoredEmailDigest | null {
  return notification === null ? null : JSON.parse(notification);
}
