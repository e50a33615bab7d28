import type { DeletedEvents } from "../event/event.ts";
import { matches } from "../event/filter.ts";
import { type ArrivalClock, type ArrivalStamp, compareStamps } from "../event/id.ts";
import { limits } from "../limits.ts";
import { problem } from "../problems.ts";
import type { Arrival, EventReader } from "../storage/event-store.ts";
import { catchUp, type Deletion } from "./catch-up.ts";
import type { Listener, StreamClient } from "./stream-client.ts";
import { frameOf, heartbeat, readyFrame } from "./stream-frames.ts";

/** Maximum buffer for a slow client. Beyond that it is disconnected, and resumes where it was. */
const bufferBytesMax = 524_288;
const heartbeatMs = 15_000;
/** Deletions kept for clients that resume. */
const deletionsMax = 1_000;
/** Maximum size of messages held back while a client catches up. */
const heldBytesMax = 8_388_608;
/**
 * Each flush costs a write for each stream. So the more streams there are, the longer events wait after a flush, to be
 * sent together: not at all for a few streams, 25 milliseconds for a thousand.
 */
const flushDelayMsPerStream = 0.025;
const flushDelayMsMin = 1;

/**
 * How long a disconnected client may take to read its buffer. Then the connection is destroyed and its memory freed.
 */
const drainSeconds = 3;

/**
 * Live streams as Server-Sent Events (https://html.spec.whatwg.org/multipage/server-sent-events.html). Each event's
 * `id:` is its arrival, so that a client resumes without gaps or duplicates.
 */
export class LiveStreams {
  readonly #events: EventReader;
  readonly #onError: (error: unknown) => void;
  readonly #clients = new Map<number, Set<StreamClient>>();
  readonly #heartbeat: Timer;
  /** Arrival of the last committed event. Commits keep the order of arrival. */
  #committed: ArrivalStamp;
  #published: Arrival[] = [];
  #flushedAtMs = 0;
  /** The newest deletions. */
  readonly #deletions: Deletion[] = [];

  /** @param onError - called if catching up fails; the client only sees its stream end */
  constructor(events: EventReader, clock: ArrivalClock, onError: (error: unknown) => void) {
    this.#events = events;
    this.#onError = onError;
    this.#committed = clock.last;
    this.#heartbeat = setInterval(() => this.#each((client) => client.send(heartbeat)), heartbeatMs);
    this.#heartbeat.unref();
  }

  /** Publishes a committed event. Events of one commit are sent together. */
  publish(event: Arrival): void {
    this.#committed = event.arrival;
    const streams = this.#clients.get(event.projectId)?.size;
    if (streams === undefined) return;
    if (this.#published.length === 0) this.#scheduleFlush(streams * flushDelayMsPerStream);
    this.#published.push(event);
  }

  /** Projects with open streams. */
  projects(): Iterable<number> {
    return this.#clients.keys();
  }

  /** Notes that everything up to this arrival was published to open streams. */
  reached(stamp: ArrivalStamp): void {
    this.#committed = stamp;
  }

  /** Notes that more was committed than can be published: all clients are told to read the listing again. */
  skipped(stamp: ArrivalStamp): void {
    this.#committed = stamp;
    this.#each((client) => {
      // A client that is catching up reconnects and resumes from where it was.
      if (client.held) client.close();
      client.caughtUpTo = stamp;
      client.send(frameOf("reset", "{}", stamp));
    });
  }

  /** Reports deleted events, after everything published before. */
  deleted(projectId: number, deleted: DeletedEvents): void {
    const frame = frameOf("deleted", JSON.stringify(deleted));
    if (this.#deletions.push({ projectId, after: this.#committed, frame }) > deletionsMax)
      this.#deletions.shift();
    this.#flush();
    for (const client of this.#clients.get(projectId) ?? []) {
      if (client.held) this.#hold(client, { arrival: null, frame });
      else client.send(frame);
    }
  }

  #hold(client: StreamClient, message: { arrival: ArrivalStamp | null; frame: Uint8Array }): void {
    client.held?.push(message);
    client.heldBytes += message.frame.length;
    if (client.heldBytes > heldBytesMax) client.close();
  }

  #scheduleFlush(delayMs: number): void {
    const waitMs = delayMs < flushDelayMsMin ? 0 : this.#flushedAtMs + delayMs - performance.now();
    if (waitMs <= 0) queueMicrotask(() => this.#flush());
    else setTimeout(() => this.#flush(), waitMs);
  }

  /** Sends a message to all streams of an account, whatever their project. */
  sendToAccount(accountId: string, type: string, message: unknown): void {
    const frame = frameOf(type, JSON.stringify(message));
    this.#each((client) => {
      if (client.accountId === accountId) client.send(frame);
    });
  }

  /** How many streams are open. */
  get count(): number {
    let count = 0;
    for (const clients of this.#clients.values()) count += clients.size;
    return count;
  }

  /** Accounts with open streams. */
  accounts(): Set<string> {
    const accounts = new Set<string>();
    this.#each(({ accountId }) => {
      if (accountId !== undefined) accounts.add(accountId);
    });
    return accounts;
  }

  /** Ends the streams of a revoked key. */
  disconnectKey(keyId: string): void {
    this.disconnect((listener) => listener.keyId === keyId);
  }

  /** Ends the streams of listeners that are no longer authorized. */
  disconnect(isOver: (listener: Listener) => boolean): void {
    this.#each((client) => {
      if (isOver(client)) client.close();
    });
  }

  /** The listeners of all open streams. */
  listeners(): Listener[] {
    const listeners: Listener[] = [];
    this.#each((client) => listeners.push(client));
    return listeners;
  }

  /** Ends the streams of a deleted project. */
  disconnectProject(projectId: number): void {
    for (const client of this.#clients.get(projectId) ?? []) client.close();
  }

  closeAll(): void {
    clearInterval(this.#heartbeat);
    this.#each((client) => client.close());
  }

  /**
   * Opens a stream. It ends when the client closes it, when the listener is disconnected, or when the client reads too
   * slowly. Throws `streams-exceeded`.
   *
   * @param setIdleTimeout - closes the connection after this many idle seconds
   */
  open(listener: Listener, setIdleTimeout: (seconds: number) => void): ReadableStream<Uint8Array> {
    this.#rejectTooMany(listener);
    let client: StreamClient;
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const close = () => {
            if (!this.#remove(client)) return;
            // The stream ends only after the client has read everything, which a client that reads nothing never does.
            controller.close();
            setIdleTimeout(drainSeconds);
          };
          client = {
            ...listener,
            isUnfiltered: Object.values(listener.filter).every((value) => value === undefined),
            held: listener.after ? [] : null,
            heldBytes: 0,
            // Earlier events are not sent, even if they have yet to be sent to others.
            caughtUpTo: listener.after ? null : this.#committed,
            isConnected: () => this.#clients.get(client.projectId)?.has(client) ?? false,
            isBehind: () => (controller.desiredSize ?? 0) < bufferBytesMax / 2,
            send: (frame) => {
              if (!client.isConnected()) return;
              controller.enqueue(frame);
              if ((controller.desiredSize ?? 0) < 0) close();
            },
            close,
          };
          this.#add(client);
          if (client.after) void this.#resume(client, client.after);
          else client.send(readyFrame(this.#committed));
        },
        cancel: () => void this.#remove(client),
      },
      { highWaterMark: bufferBytesMax, size: (chunk) => chunk?.byteLength ?? 0 },
    );
  }

  #rejectTooMany({ keyId, accountId }: Listener): void {
    const [who, max] = keyId ? ["key", limits.streamsPerKey] : ["account", limits.streamsPerAccount];
    const open = this.listeners().filter((other) =>
      keyId ? other.keyId === keyId : other.accountId === accountId,
    ).length;
    if (open < max) return;
    throw problem("streams-exceeded", {
      detail: `This ${who} already has ${max.toLocaleString("en")} live streams open, the maximum. Close some, or share one between readers.`,
      retryAfterSeconds: 30,
    });
  }

  async #resume(client: StreamClient, after: ArrivalStamp): Promise<void> {
    try {
      await catchUp(client, after, {
        events: this.#events,
        deletions: this.#deletions,
        committed: () => this.#committed,
      });
    } catch (error) {
      this.#onError(error);
      // The store failed. The client reconnects with the same id and gets everything then.
      client.close();
    }
  }

  #flush(): void {
    const published = this.#published;
    this.#published = [];
    this.#flushedAtMs = performance.now();
    const byProject = Map.groupBy(published, (event) => event.projectId);
    for (const [projectId, events] of byProject) {
      const frames = events.map((event) => frameOf("event", event.json, event.arrival));
      // Built once and shared by all clients without a filter, however slow they are.
      const all = Buffer.concat(frames);
      for (const client of this.#clients.get(projectId) ?? []) {
        const isNew = ({ arrival }: Arrival) =>
          client.caughtUpTo === null || compareStamps(arrival, client.caughtUpTo) > 0;
        const isWanted = (arrival: Arrival) =>
          isNew(arrival) && (client.isUnfiltered || matches(client.filter, arrival.event));
        if (client.held) {
          events.forEach((event, index) => {
            if (isWanted(event)) this.#hold(client, { arrival: event.arrival, frame: frames[index]! });
          });
        } else if (client.isUnfiltered && isNew(events[0]!)) client.send(all);
        else {
          const wanted = frames.filter((_, index) => isWanted(events[index]!));
          if (wanted.length > 0) client.send(wanted.length === 1 ? wanted[0]! : Buffer.concat(wanted));
        }
      }
    }
  }

  #add(client: StreamClient): void {
    const clients = this.#clients.get(client.projectId) ?? new Set();
    this.#clients.set(client.projectId, clients.add(client));
  }

  #remove(client: StreamClient): boolean {
    const clients = this.#clients.get(client.projectId);
    const existed = clients?.delete(client) ?? false;
    if (clients?.size === 0) this.#clients.delete(client.projectId);
    return existed;
  }

  #each(visit: (client: StreamClient) => void): void {
    for (const clients of this.#clients.values()) for (const client of clients) visit(client);
  }
}
