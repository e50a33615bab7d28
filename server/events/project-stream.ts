import { compileFilter } from "../event/compile-filter.ts";
import type { EventTest } from "../event/compile-search.ts";
import type { EventFilter } from "../event/filter.ts";
import { type ArrivalStamp, compareStamps } from "../event/id.ts";
import { nextTurn, Turns } from "../scheduling/turns.ts";
import type { Arrival } from "../storage/event-store.ts";
import type { HeldMessage, StreamClient } from "./stream-client.ts";
import { frameOf } from "./stream-frames.ts";

/** Maximum size of messages held back while a client catches up. */
const heldBytesMax = 8_388_608;
/** Events that are matched before what was found is sent. */
const chunkEvents = 500;
/**
 * Each flush costs a write for each stream. So the more streams there are, the longer events wait after a flush, to be
 * sent together: not at all for a few streams, 25 milliseconds for a thousand.
 */
const flushDelayMsPerStream = 0.025;
const flushDelayMsMin = 1;

/** Bytes that are written to sockets in a millisecond, after the turn in which they were queued. */
const bytesPerMs = 131_072;

/** Clients with the same filter: an event is matched once for all of them. */
type FilterGroup = {
  key: string;
  /** The filter as it was sent, if it names users. */
  sentFilter: EventFilter | undefined;
  isWanted: EventTest;
  clients: Set<StreamClient>;
};

type Wanted = { arrival: ArrivalStamp; frame: Uint8Array };
/** What waits to be sent. A deletion has a number: clients that joined later don't get it. */
type Queued = { event: Arrival } | { deletion: Uint8Array; number: number };

/** Projects whose events are being matched or sent. */
let projectsAtWork = 0;

/**
 * The live streams of a project, and what waits to be sent to them, in order. Matching and sending take turns with the
 * work of other projects.
 */
export class ProjectStream {
  readonly #projectId: number;
  readonly #groups = new Map<string, FilterGroup>();
  readonly #groupOf = new Map<StreamClient, FilterGroup>();
  #queue: Queued[] = [];
  /** Index of the first message in the queue that is still to be sent. */
  #first = 0;
  #queuedCharacters = 0;
  #lastNumber = 0;
  #isScheduled = false;
  #flushedAtMs = 0;

  constructor(projectId: number) {
    this.#projectId = projectId;
  }

  get size(): number {
    return this.#groupOf.size;
  }

  /** Length of the JSON of events that wait. */
  get queuedCharacters(): number {
    return this.#queuedCharacters;
  }

  get clients(): Iterable<StreamClient> {
    return this.#groupOf.keys();
  }

  add(client: StreamClient): void {
    client.joinedAfter = this.#lastNumber;
    const key = JSON.stringify(client.sentFilter ?? client.filter);
    const group = this.#groups.get(key) ?? {
      key,
      sentFilter: client.sentFilter,
      isWanted: compileFilter(client.filter),
      clients: new Set(),
    };
    this.#groups.set(key, group);
    this.#groupOf.set(client, group);
    group.clients.add(client);
  }

  /** Takes up who was joined to the users that filters name. */
  async updatePeople(
    expand: (projectId: number, filter: EventFilter) => Promise<EventFilter>,
  ): Promise<void> {
    for (const group of this.#groups.values())
      if (group.sentFilter) group.isWanted = compileFilter(await expand(this.#projectId, group.sentFilter));
  }

  has(client: StreamClient): boolean {
    return this.#groupOf.has(client);
  }

  /** Returns whether the client was there. */
  remove(client: StreamClient): boolean {
    const group = this.#groupOf.get(client);
    if (!group) return false;
    this.#groupOf.delete(client);
    group.clients.delete(client);
    if (group.clients.size === 0) this.#groups.delete(group.key);
    if (this.size === 0) this.#clear();
    return true;
  }

  publish(event: Arrival): void {
    this.#queuedCharacters += event.json.length;
    this.#enqueue({ event });
  }

  /** Sends a deletion after everything that was published before. */
  deleted(frame: Uint8Array): void {
    this.#enqueue({ deletion: frame, number: ++this.#lastNumber });
  }

  /** Drops what waits, and tells all clients to read the listing again. */
  reset(stamp: ArrivalStamp): void {
    this.#clear();
    const frame = frameOf("reset", "{}", stamp);
    for (const client of [...this.clients]) {
      // A client that is catching up reconnects and resumes from where it was.
      if (client.held) client.close();
      client.caughtUpTo = stamp;
      client.send(frame);
    }
  }

  #clear(): void {
    this.#queue = [];
    this.#first = 0;
    this.#queuedCharacters = 0;
  }

  #enqueue(message: Queued): void {
    this.#queue.push(message);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const delayMs = this.size * flushDelayMsPerStream;
    const waitMs = delayMs < flushDelayMsMin ? 0 : this.#flushedAtMs + delayMs - performance.now();
    if (waitMs > 0) setTimeout(() => this.#flush(), waitMs);
    // Events of one commit are sent together.
    else queueMicrotask(() => this.#flush());
  }

  async #flush(): Promise<void> {
    projectsAtWork++;
    try {
      // Of many projects, the first begins at once.
      if (projectsAtWork > 1) await nextTurn(this.#projectId);
      await this.#sendQueued(new Turns(this.#projectId));
    } finally {
      projectsAtWork--;
      this.#flushedAtMs = performance.now();
      this.#isScheduled = false;
      if (this.#queue.length > 0) this.#schedule();
    }
  }

  /** Sends what is in the queue. What comes meanwhile waits for the next flush. */
  async #sendQueued(turns: Turns): Promise<void> {
    for (let left = this.#queue.length - this.#first; left > 0 && this.#first < this.#queue.length; ) {
      const next = this.#queue[this.#first]!;
      if ("deletion" in next) {
        this.#take();
        left--;
        await this.#sendDeletion(next.deletion, next.number, turns);
      } else left -= await this.#sendEvents(left, turns);
      if (turns.isOver) await turns.next();
    }
  }

  /** Matches and sends the events at the beginning of the queue. Returns how many these were. */
  async #sendEvents(eventsMax: number, turns: Turns): Promise<number> {
    const found = new Map<FilterGroup, Wanted[]>();
    let events = 0;
    while (events < Math.min(eventsMax, chunkEvents)) {
      const next = this.#queue[this.#first];
      if (!next || "deletion" in next) break;
      this.#take();
      events++;
      await this.#match(next.event, found, turns);
      if (turns.isOver) break;
    }
    for (const [group, wanted] of found) await this.#sendTo(group, wanted, turns);
    return events;
  }

  async #match({ event, json, arrival }: Arrival, found: Map<FilterGroup, Wanted[]>, turns: Turns) {
    let wanted: Wanted | undefined;
    for (const group of this.#groups.values()) {
      if (group.isWanted(event)) {
        wanted ??= { arrival, frame: frameOf("event", json, arrival) };
        const own = found.get(group);
        if (own) own.push(wanted);
        else found.set(group, [wanted]);
      }
      if (turns.isOver) await turns.next();
    }
  }

  async #sendTo({ clients }: FilterGroup, wanted: Wanted[], turns: Turns): Promise<void> {
    // Built once and shared by all clients, however slow they are.
    const all = joined(wanted);
    for (const client of clients) {
      const { caughtUpTo } = client;
      const isNew = ({ arrival }: Wanted) => caughtUpTo === null || compareStamps(arrival, caughtUpTo) > 0;
      if (client.held) for (const message of wanted) hold(client, message);
      else if (isNew(wanted[0]!)) {
        client.send(all);
        turns.charge(all.length / bytesPerMs);
      } else if (isNew(wanted.at(-1)!)) client.send(joined(wanted.filter(isNew)));
      if (turns.isOver) await turns.next();
    }
  }

  async #sendDeletion(frame: Uint8Array, number: number, turns: Turns): Promise<void> {
    for (const client of this.clients) {
      if (client.joinedAfter >= number) continue;
      if (client.held) hold(client, { arrival: null, frame });
      else client.send(frame);
      if (turns.isOver) await turns.next();
    }
  }

  /** Takes the first message out of the queue. */
  #take(): void {
    const taken = this.#queue[this.#first++]!;
    if ("event" in taken) this.#queuedCharacters -= taken.event.json.length;
    // Frees what was sent: an array's events are many.
    if (this.#first >= chunkEvents || this.#first === this.#queue.length) {
      this.#queue.splice(0, this.#first);
      this.#first = 0;
    }
  }
}

function hold(client: StreamClient, message: HeldMessage): void {
  client.held?.push(message);
  client.heldBytes += message.frame.length;
  if (client.heldBytes > heldBytesMax) client.close();
}

function joined(wanted: readonly Wanted[]): Uint8Array {
  return wanted.length === 1 ? wanted[0]!.frame : Buffer.concat(wanted.map(({ frame }) => frame));
}
