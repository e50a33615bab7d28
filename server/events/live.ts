import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { DeletedEvents } from "../event/event.ts";
import type { EventFilter } from "../event/filter.ts";
import type { ArrivalClock, ArrivalStamp } from "../event/id.ts";
import type { Arrival, EventReader } from "../storage/event-store.ts";
import { catchUp, type Deletion } from "./catch-up.ts";
import { ProjectStream } from "./project-stream.ts";
import type { Listener, StreamClient } from "./stream-client.ts";
import { frameOf, heartbeat, readyFrame } from "./stream-frames.ts";

/** Maximum buffer for a slow client. Beyond that it is disconnected, and resumes where it was. */
const bufferBytesMax = 524_288;
const heartbeatMs = 15_000;
/** How often filters that name users take up who was joined to them. */
const peopleMs = 1_000;
/** Deletions kept for clients that resume. */
const deletionsMax = 1_000;
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
  readonly #projects = new Map<number, ProjectStream>();
  readonly #heartbeat: Timer;
  readonly #people: Timer;
  /** Arrival of the last committed event. Commits keep the order of arrival. */
  #committed: ArrivalStamp;
  /** The newest deletions. */
  readonly #deletions: Deletion[] = [];

  /**
   * @param onError - called if catching up fails; the client only sees its stream end
   * @param expand - returns a filter that finds the events of all IDs of the people whom a filter names
   */
  constructor(
    events: EventReader,
    clock: ArrivalClock,
    onError: (error: unknown) => void,
    expand: (projectId: number, filter: EventFilter) => Promise<EventFilter> = async (_, filter) => filter,
  ) {
    this.#events = events;
    this.#onError = onError;
    this.#committed = clock.last;
    this.#heartbeat = setInterval(() => this.#each((client) => client.send(heartbeat)), heartbeatMs);
    this.#heartbeat.unref();
    this.#people = setInterval(() => {
      for (const project of this.#projects.values()) project.updatePeople(expand).catch(onError);
    }, peopleMs);
    this.#people.unref();
  }

  /**
   * Publishes a committed event. If a project's streams are too far behind, because matching takes longer than events
   * take to arrive, their clients are told to read the listing again.
   *
   * Invariant: a project's queue of live events is bounded. Checked by `server/events/project-stream.test.ts`.
   */
  publish(event: Arrival): void {
    this.#committed = event.arrival;
    const project = this.#projects.get(event.projectId);
    if (!project) return;
    project.publish(event);
    if (project.queuedCharacters > limits.streamQueueCharacters) project.reset(this.#committed);
  }

  /** Projects with open streams. */
  projects(): Iterable<number> {
    return this.#projects.keys();
  }

  /** Notes that everything up to this arrival was published to open streams. */
  reached(stamp: ArrivalStamp): void {
    this.#committed = stamp;
  }

  /** Notes that more was committed than can be published: all clients are told to read the listing again. */
  skipped(stamp: ArrivalStamp): void {
    this.#committed = stamp;
    for (const project of this.#projects.values()) project.reset(stamp);
  }

  /** Reports deleted events, after everything published before. */
  deleted(projectId: number, deleted: DeletedEvents): void {
    const frame = frameOf("deleted", JSON.stringify(deleted));
    if (this.#deletions.push({ projectId, after: this.#committed, frame }) > deletionsMax)
      this.#deletions.shift();
    this.#projects.get(projectId)?.deleted(frame);
  }

  /** Sends a message to all streams of an account: to those of one project, or whatever their project. */
  sendToAccount(accountId: string, type: string, message: unknown, projectId?: number): void {
    const frame = frameOf(type, JSON.stringify(message));
    this.#each((client) => {
      const isMeant = projectId === undefined || client.projectId === projectId;
      if (isMeant && client.accountId === accountId) client.send(frame);
    });
  }

  /** How many streams are open. */
  get count(): number {
    let count = 0;
    for (const { size } of this.#projects.values()) count += size;
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
    for (const client of [...(this.#projects.get(projectId)?.clients ?? [])]) client.close();
  }

  closeAll(): void {
    clearInterval(this.#heartbeat);
    clearInterval(this.#people);
    this.#each((client) => client.close());
  }

  /**
   * Opens a stream. It ends when the client closes it, when the listener is disconnected, or when the client reads too
   * slowly. Throws `streams-exceeded`.
   *
   * Invariant: a live stream's buffer is bounded. Checked by `server/events/live.test.ts`.
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
            held: listener.after ? [] : null,
            heldBytes: 0,
            joinedAfter: 0,
            // Earlier events are not sent, even if they have yet to be sent to others.
            caughtUpTo: listener.after ? null : this.#committed,
            isConnected: () => this.#projects.get(client.projectId)?.has(client) ?? false,
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

  #add(client: StreamClient): void {
    const project = this.#projects.get(client.projectId) ?? new ProjectStream(client.projectId);
    this.#projects.set(client.projectId, project);
    project.add(client);
  }

  #remove(client: StreamClient): boolean {
    const project = this.#projects.get(client.projectId);
    const existed = project?.remove(client) ?? false;
    if (project?.size === 0) this.#projects.delete(client.projectId);
    return existed;
  }

  #each(visit: (client: StreamClient) => void): void {
    for (const { clients } of this.#projects.values()) for (const client of clients) visit(client);
  }
}
