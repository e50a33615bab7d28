import type { DeletedEvents, Event } from "../event/event.ts";
import { type EventFilter, matches } from "../event/filter.ts";
import { type ArrivalClock, type ArrivalStamp, compareStamps, stampToken } from "../event/id.ts";
import { limits } from "../limits.ts";
import { problem } from "../problems.ts";
import type { Arrival, EventReader } from "../storage/store.ts";

/** Bytes that wait for a slow client before it is dropped; it resumes where it was. */
const clientBytesMax = 524_288;
const heartbeatMs = 15_000;
const retryMs = 1_000;
/** Most events that a resuming client is sent; beyond that it is told to read the listing again. */
const catchUpEventsMax = 5_000;
const catchUpPage = 500;
/** Deletions that are kept for clients that come back. */
const deletionsMax = 1_000;
/** A client that catches up is waited for; what arrives meanwhile is held, up to so many bytes. */
const heldBytesMax = 8_388_608;
const catchUpPauseMs = 20;
/** A client that catches up and takes nothing for so long is dropped. */
const catchUpPatienceMs = 10_000;
/**
 * Each piece costs a write for each stream. So the more streams there are, the longer events wait after the last piece, to go
 * out in one: not at all for a few, 25 milliseconds for a thousand.
 */
const restMsPerStream = 0.025;
const restMsMin = 1;

/** A client that is dropped has so long to take what waits for it: then its connection is destroyed, and the memory is free. */
const drainSeconds = 3;

const encoder = new TextEncoder();
/** A message rather than a comment, which browsers do not show to a page: it tells a quiet stream from a dead connection. */
const heartbeat = encoder.encode("event: heartbeat\ndata: {}\n\n");

/** Who is listening: used to cut off a revoked key and to tell an account of its notifications. */
export type Listener = {
  projectId: number;
  filter: EventFilter;
  keyId?: string;
  accountId?: string;
  sessionId?: string;
  /** Where to go on, exclusive; without it, from now on. */
  after?: ArrivalStamp;
};

type Client = Listener & {
  /** It takes every event of its project. */
  isOpen: boolean;
  send: (frame: Uint8Array) => void;
  close: () => void;
  /** It was not closed, and has not gone away. */
  isThere: () => boolean;
  /** More than half of what may wait for it is waiting. */
  isBehind: () => boolean;
  /** What arrived up to here was sent from the store, where an event can be seen before it is announced. */
  caughtUpTo: ArrivalStamp | null;
  /** What is told while the client catches up, to be sent after that. What is no event has no arrival. */
  held: { arrival: ArrivalStamp | null; frame: Uint8Array }[] | null;
  heldBytes: number;
};

/**
 * The live streams: Server-Sent Events (https://html.spec.whatwg.org/multipage/server-sent-events.html), an `id:` line with
 * the event's arrival on each, so that a client resumes without a gap or a double.
 */
export class LiveStreams {
  readonly #events: EventReader;
  readonly #onError: (error: unknown) => void;
  readonly #clients = new Map<number, Set<Client>>();
  readonly #heartbeat: Timer;
  /** The arrival of the last event that was committed; commits keep the order of arrival. */
  #committed: ArrivalStamp;
  #published: Arrival[] = [];
  #flushedAtMs = 0;
  /** The newest, with the last arrival before each: who resumes behind it knows of it. */
  readonly #deletions: { projectId: number; after: ArrivalStamp; frame: Uint8Array }[] = [];

  /** @param onError - told of a failure that no client can be told of: its stream just ends */
  constructor(events: EventReader, clock: ArrivalClock, onError: (error: unknown) => void) {
    this.#events = events;
    this.#onError = onError;
    this.#committed = clock.last;
    this.#heartbeat = setInterval(() => this.#each((client) => client.send(heartbeat)), heartbeatMs);
    this.#heartbeat.unref();
  }

  /** Announces an event that was committed; those of one commit go out together. */
  publish(event: Arrival): void {
    this.#committed = event.arrival;
    const streams = this.#clients.get(event.projectId)?.size;
    if (streams === undefined) return;
    if (this.#published.length === 0) this.#scheduleFlush(streams * restMsPerStream);
    this.#published.push(event);
  }

  /** The projects that somebody listens to. */
  projects(): Iterable<number> {
    return this.#clients.keys();
  }

  /** What was committed up to here was published, as far as somebody listens to it. */
  reached(moment: ArrivalStamp): void {
    this.#committed = moment;
  }

  /** More was committed up to here than can be published: all are told to read the listing again. */
  skipped(moment: ArrivalStamp): void {
    this.#committed = moment;
    this.#each((client) => {
      // One that is catching up comes again, and is told from where it was.
      if (client.held) client.close();
      client.caughtUpTo = moment;
      client.send(frameOf("reset", "{}", moment));
    });
  }

  /** Tells that events were deleted, after all that was published before. */
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

  #hold(client: Client, message: { arrival: ArrivalStamp | null; frame: Uint8Array }): void {
    client.held?.push(message);
    client.heldBytes += message.frame.length;
    if (client.heldBytes > heldBytesMax) client.close();
  }

  #scheduleFlush(restMs: number): void {
    const waitMs = restMs < restMsMin ? 0 : this.#flushedAtMs + restMs - performance.now();
    if (waitMs <= 0) queueMicrotask(() => this.#flush());
    else setTimeout(() => this.#flush(), waitMs);
  }

  /** Sends an account's own message to each of its streams, whatever project they show. */
  tellAccount(accountId: string, type: string, message: unknown): void {
    const frame = frameOf(type, JSON.stringify(message));
    this.#each((client) => {
      if (client.accountId === accountId) client.send(frame);
    });
  }

  /** The accounts that have a stream open. */
  accounts(): Set<string> {
    const accounts = new Set<string>();
    this.#each(({ accountId }) => {
      if (accountId !== undefined) accounts.add(accountId);
    });
    return accounts;
  }

  /** Ends the streams of a key that was revoked. */
  disconnectKey(keyId: string): void {
    this.disconnect((listener) => listener.keyId === keyId);
  }

  /** Ends the streams of listeners that may hear nothing more. */
  disconnect(isOver: (listener: Listener) => boolean): void {
    this.#each((client) => {
      if (isOver(client)) client.close();
    });
  }

  /** Who has a stream open. */
  listeners(): Listener[] {
    const listeners: Listener[] = [];
    this.#each((client) => listeners.push(client));
    return listeners;
  }

  /** Ends the streams of a project that was deleted. */
  disconnectProject(projectId: number): void {
    for (const client of this.#clients.get(projectId) ?? []) client.close();
  }

  closeAll(): void {
    clearInterval(this.#heartbeat);
    this.#each((client) => client.close());
  }

  /**
   * A stream's body. It ends with the client, with `cutKey`, or when the client reads too slowly. Throws `streams-exceeded`.
   *
   * @param setTimeout - ends the connection where nothing moves on it for so many seconds
   */
  open(listener: Listener, setTimeout: (seconds: number) => void): ReadableStream<Uint8Array> {
    this.#rejectTooMany(listener);
    let client: Client;
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const close = () => {
            if (!this.#remove(client)) return;
            // It ends only when the client has taken everything, which one that reads nothing never does.
            controller.close();
            setTimeout(drainSeconds);
          };
          client = {
            ...listener,
            isOpen: Object.values(listener.filter).every((value) => value === undefined),
            held: listener.after ? [] : null,
            heldBytes: 0,
            // What was committed before is not news, also where it is still to be sent to others.
            caughtUpTo: listener.after ? null : this.#committed,
            isThere: () => this.#clients.get(client.projectId)?.has(client) ?? false,
            isBehind: () => (controller.desiredSize ?? 0) < clientBytesMax / 2,
            send: (frame) => {
              if (!client.isThere()) return;
              controller.enqueue(frame);
              if ((controller.desiredSize ?? 0) < 0) close();
            },
            close,
          };
          this.#add(client);
          if (client.after) void this.#catchUp(client, client.after);
          else client.send(readyFrame(this.#committed));
        },
        cancel: () => void this.#remove(client),
      },
      { highWaterMark: clientBytesMax, size: (chunk) => chunk?.byteLength ?? 0 },
    );
  }

  #rejectTooMany({ keyId, accountId }: Listener): void {
    const [who, most] = keyId ? ["key", limits.streamsPerKey] : ["account", limits.streamsPerAccount];
    const open = this.listeners().filter((other) =>
      keyId ? other.keyId === keyId : other.accountId === accountId,
    ).length;
    if (open < most) return;
    throw problem("streams-exceeded", {
      detail: `This ${who} already has ${most.toLocaleString("en")} live streams open, the maximum. Close some, or share one between readers.`,
      retryAfterSeconds: 30,
    });
  }

  /** Whether nothing has arrived yet that is as late, on any node: the moment is another installation's, or of data that was put back. */
  async #isAhead(moment: ArrivalStamp): Promise<boolean> {
    if (compareStamps(moment, this.#committed) <= 0) return false;
    const last = await this.#events.lastArrival();
    return last === null || compareStamps(moment, last) > 0;
  }

  async #catchUp(client: Client, after: ArrivalStamp): Promise<void> {
    let last = after;
    // What is announced from here on is held.
    const goal = this.#committed;
    try {
      const isAhead = await this.#isAhead(after);
      if (isAhead) last = goal;
      client.send(readyFrame(last));
      if (isAhead) client.send(frameOf("reset", "{}", last));
      // Before the events: those of a channel that were sent after its deletion are others.
      for (const { projectId, after: moment, frame } of this.#deletions) {
        if (projectId === client.projectId && compareStamps(moment, after) >= 0) client.send(frame);
      }
      for (let sent = 0; ; ) {
        const page = await this.#events.arrivedAfter(client.projectId, last, catchUpPage);
        for (const { arrival, json } of page) {
          const untilMs = performance.now() + catchUpPatienceMs;
          while (client.isBehind() && client.isThere()) {
            if (performance.now() > untilMs) client.close();
            else await Bun.sleep(catchUpPauseMs);
          }
          if (matches(client.filter, JSON.parse(json) as Event)) client.send(frameOf("event", json, arrival));
          last = arrival;
        }
        if (page.length === 0 || compareStamps(last, goal) >= 0) break;
        sent += page.length;
        if (sent >= catchUpEventsMax) {
          client.send(frameOf("reset", "{}", this.#committed));
          last = this.#committed;
          break;
        }
      }
    } catch (error) {
      this.#onError(error);
      // The store did not answer: the client comes again with the same id, and is told everything then.
      client.close();
      return;
    }
    const held = client.held ?? [];
    client.held = null;
    client.caughtUpTo = last;
    for (const { arrival, frame } of held)
      if (arrival === null || compareStamps(arrival, last) > 0) client.send(frame);
  }

  #flush(): void {
    const published = this.#published;
    this.#published = [];
    this.#flushedAtMs = performance.now();
    const byProject = Map.groupBy(published, (event) => event.projectId);
    for (const [projectId, events] of byProject) {
      const frames = events.map((event) => frameOf("event", event.json, event.arrival));
      // Made once and shared by all who take everything, however many they are and however far behind.
      const all = Buffer.concat(frames);
      for (const client of this.#clients.get(projectId) ?? []) {
        const isNews = ({ arrival }: Arrival) =>
          client.caughtUpTo === null || compareStamps(arrival, client.caughtUpTo) > 0;
        const wanted = (arrival: Arrival) =>
          isNews(arrival) && (client.isOpen || matches(client.filter, arrival.event));
        if (client.held) {
          events.forEach((event, index) => {
            if (wanted(event)) this.#hold(client, { arrival: event.arrival, frame: frames[index]! });
          });
        } else if (client.isOpen && isNews(events[0]!)) client.send(all);
        else {
          const some = frames.filter((_, index) => wanted(events[index]!));
          if (some.length > 0) client.send(some.length === 1 ? some[0]! : Buffer.concat(some));
        }
      }
    }
  }

  #add(client: Client): void {
    const clients = this.#clients.get(client.projectId) ?? new Set();
    this.#clients.set(client.projectId, clients.add(client));
  }

  #remove(client: Client): boolean {
    const clients = this.#clients.get(client.projectId);
    const was = clients?.delete(client) ?? false;
    if (clients?.size === 0) this.#clients.delete(client.projectId);
    return was;
  }

  #each(visit: (client: Client) => void): void {
    for (const clients of this.#clients.values()) for (const client of clients) visit(client);
  }
}

/** The first message; a browser that is cut off comes again after `retry` milliseconds, rather than after three seconds. */
function readyFrame(id: ArrivalStamp): Uint8Array {
  return Buffer.concat([encoder.encode(`retry: ${retryMs}\n`), frameOf("ready", "{}", id)]);
}

function frameOf(type: string, data: string, id?: ArrivalStamp): Uint8Array {
  return encoder.encode(`event: ${type}\n${id ? `id: ${stampToken(id)}\n` : ""}data: ${data}\n\n`);
}
