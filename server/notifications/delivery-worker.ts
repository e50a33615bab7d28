import type { Event } from "../event/event.ts";
import { WorkLoop } from "../scheduling/work-loop.ts";
import type { DeliveryShare, Store } from "../storage/store.ts";
import { releaseQueues, takeQueues } from "./delivery-holds.ts";
import { recordOutcomes, type SentDelivery } from "./delivery-outcomes.ts";
import { type DeliveryQueue, listQueues, sendingMaxOf, shareAmong } from "./delivery-queues.ts";
import { type Delivery, findTargets } from "./delivery-targets.ts";
import type { Outcome } from "./kinds/kind.ts";
import { findEvent, type SendDeps, sendDelivery } from "./send-delivery.ts";

type Deps = Omit<SendDeps, "control" | "now"> & {
  store: Store;
  onError: (error: unknown) => void;
  now?: () => number;
  random?: () => number;
};

/** A delivery that was sent, and until when to retry recording its outcome. */
type UnrecordedDelivery = SentDelivery & { untilMs: number };

/** Deliveries sent at the same time. */
const sendingMax = 32;
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
/**
 * How long after a claim its outcomes can be recorded: a little less than the lease, after which they are sent again. A
 * failover of the database is shorter.
 */
const recordMs = 55_000;
const idleMs = 60_000;

/**
 * Sends deliveries, from a queue for each destination. Retries with exponential backoff and full jitter
 * (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/). A queue waits as a whole if its receiver
 * takes no more messages now (delivery-holds.ts).
 */
export class DeliveryWorker extends WorkLoop {
  readonly #deps: Deps;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #sendDeps: SendDeps;
  /** Deliveries being sent. */
  readonly #sending = new Set<Promise<void>>();
  /** Their number for each destination. */
  readonly #sendingTo = new Map<string, number>();
  /** Deliveries are due to destinations that have as many in progress as they may. */
  #hasFullQueues = false;
  /** Deliveries that were sent, but whose outcome is not recorded yet. */
  #sent: UnrecordedDelivery[] = [];
  /** No claims before these times, as in `performance.now()`: it rests after a claim, and nothing is due. */
  #restUntilMs = 0;
  #dueAtMs = 0;

  constructor(deps: Deps) {
    super(deps);
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
    this.#random = deps.random ?? Math.random;
    this.#sendDeps = { ...deps, control: deps.store.control, now: this.#now };
  }

  /** Sends what is due: deliveries that were just made, or what an earlier process left. */
  override wake(): void {
    this.#dueAtMs = 0;
    super.wake();
  }

  /** Waits for deliveries that are being sent. The others stay in the outbox. */
  override async close(): Promise<void> {
    await super.close();
    await Promise.all(this.#sending);
    await this.#recordSent().catch(this.#deps.onError);
  }

  protected async work(): Promise<void> {
    try {
      if (this.#sent.length > 0) {
        await this.rest(recordDelayMs);
        await this.#recordSent();
        // Some are due again at another time.
        if (this.#sending.size === 0 && this.#dueAtMs > 0) await this.#findDue();
      }
      const mayClaim = !this.#isFull && !this.isClosed;
      if (mayClaim && performance.now() >= this.#claimAtMs) await this.#claim();
    } catch (error) {
      this.#dueAtMs = 0;
      throw error;
    }
  }

  protected waitMs(): number {
    return this.#isFull ? Number.POSITIVE_INFINITY : this.#claimAtMs - performance.now();
  }

  get #claimAtMs(): number {
    return Math.max(this.#restUntilMs, this.#dueAtMs);
  }

  /** Whether a delivery must end before it claims more, which wakes it. */
  get #isFull(): boolean {
    return this.#sending.size >= sendingMax;
  }

  async #claim(): Promise<void> {
    this.#dueAtMs = Number.POSITIVE_INFINITY;
    const startedAt = performance.now();
    const now = this.#now();
    const due = (await listQueues(this.#deps.store.control)).filter(({ dueAt }) => dueAt <= now);
    const shares = await this.#take(
      due,
      shareAmong(due, this.#sendingTo, sendingMax - this.#sending.size),
      now,
    );
    const claimed =
      shares.length > 0 ? await this.#deps.store.claimDeliveries(now, now + leaseMs, shares) : [];
    await this.#release(due, shares, claimed);
    if (claimed.length > 0) await this.#start(claimed, now + recordMs);
    this.#hasFullQueues = due.some((queue) => this.#isQueueFull(queue));
    // A claim that got all that it asked for may have left some.
    const asked = shares.reduce((sum, { count }) => sum + count, 0);
    const hasMore = claimed.length === asked && due.some((queue) => !this.#isQueueFull(queue));
    if (hasMore) this.#dueAtMs = 0;
    else if (this.#dueAtMs > 0) await this.#findDue();
    const endedAt = performance.now();
    const ratio = Math.max(restRatioMin, (restRatio * claimed.length) / sendingMax);
    this.#restUntilMs = endedAt + Math.min((endedAt - startedAt) * ratio, restMsMax);
  }

  /** Leaves out the shares of serial queues that another node has taken. */
  async #take(due: DeliveryQueue[], shares: DeliveryShare[], now: number): Promise<DeliveryShare[]> {
    const serial = serialOf(due, shares);
    const taken = await takeQueues(this.#deps.store.control, [...serial], now, now + leaseMs);
    return shares.filter(({ destinationId }) => !serial.has(destinationId) || taken.has(destinationId));
  }

  /** Releases serial queues that turned out to have nothing to send. */
  async #release(due: DeliveryQueue[], shares: DeliveryShare[], claimed: Delivery[]): Promise<void> {
    const serial = serialOf(due, shares);
    for (const { destinationId } of claimed) serial.delete(destinationId!);
    await releaseQueues(this.#deps.store.control, [...serial]);
  }

  #isQueueFull(queue: DeliveryQueue): boolean {
    return (this.#sendingTo.get(queue.destinationId) ?? 0) >= sendingMaxOf(queue);
  }

  /** @param untilMs - until when to record the outcomes */
  async #start(claimed: Delivery[], untilMs: number): Promise<void> {
    const targets = await findTargets(this.#deps.store.control, claimed);
    // Deliveries of one event are claimed together, so it is read once.
    const events = new Map<string, Promise<Event | null>>();
    for (const delivery of claimed) {
      const { eventId, projectId } = delivery;
      const key = `${projectId} ${eventId}`;
      const event = events.get(key) ?? findEvent(this.#deps.events, delivery);
      events.set(key, event);
      this.#began(delivery);
      const sending = sendDelivery(this.#sendDeps, delivery, targets.get(delivery.id), event)
        .catch((error: unknown): Outcome => {
          this.#deps.onError(error);
          const detail = `Tidings could not send it: ${(error as Error).message}`;
          return { kind: "retry", detail, wasCalled: false };
        })
        .then((outcome) => {
          this.#sending.delete(sending);
          this.#ended(delivery);
          this.#sent.push({ delivery, outcome, untilMs });
          this.run();
        });
      this.#sending.add(sending);
    }
  }

  #began({ destinationId }: Delivery): void {
    if (destinationId !== null)
      this.#sendingTo.set(destinationId, (this.#sendingTo.get(destinationId) ?? 0) + 1);
  }

  #ended({ destinationId }: Delivery): void {
    if (this.#hasFullQueues) this.#dueAtMs = 0;
    if (destinationId === null) return;
    const left = this.#sendingTo.get(destinationId)! - 1;
    if (left === 0) this.#sendingTo.delete(destinationId);
    else this.#sendingTo.set(destinationId, left);
  }

  /**
   * Records outcomes, many at a time. A delivery that was sent must be recorded before it is due again, so recording is
   * retried for a while if the storage fails.
   */
  async #recordSent(): Promise<void> {
    const sent = this.#sent.splice(0);
    if (sent.length === 0) return;
    try {
      const at = { now: this.#now(), random: this.#random };
      const { madeDeliveries, releasedQueues } = await recordOutcomes(this.#deps.store, sent, at);
      if (madeDeliveries || releasedQueues) this.#dueAtMs = 0;
    } catch (error) {
      const now = this.#now();
      if (!this.isClosed) this.#sent.push(...sent.filter(({ untilMs }) => now < untilMs));
      throw error;
    }
  }

  /** Finds out when the next delivery is due, unless it is woken meanwhile. */
  async #findDue(): Promise<void> {
    this.#dueAtMs = Number.POSITIVE_INFINITY;
    const queues = await listQueues(this.#deps.store.control);
    // Those that are full continue when one of their deliveries has ended.
    const times = queues.flatMap((queue) => (this.#isQueueFull(queue) ? [] : [queue.dueAt]));
    const waitMs = Math.min(Math.max(Math.min(...times) - this.#now(), 10), idleMs);
    this.#dueAtMs = Math.min(this.#dueAtMs, performance.now() + waitMs);
  }
}

/** The destinations of shares in serial queues. */
function serialOf(due: readonly DeliveryQueue[], shares: readonly DeliveryShare[]): Set<string> {
  const shared = new Set(shares.map(({ destinationId }) => destinationId));
  return new Set(
    due.flatMap(({ destinationId, isSerial }) =>
      isSerial && shared.has(destinationId) ? [destinationId] : [],
    ),
  );
}
