import type { Kysely, Selectable } from "kysely";
import type { DeletedEvents, Event } from "../event/event.ts";
import type { EventForm } from "../event/event-form.ts";
import type { Cursor, EventFilter } from "../event/filter.ts";
import type { ArrivalStamp } from "../event/id.ts";
import type { ControlTables } from "./control-tables.ts";

/** An event that was checked and is ready to be stored. */
export type AcceptedEvent = {
  projectId: number;
  /** The event as the API shows it, and the same as JSON, from `{"id":…` to `…,"createdAt":"…"}`. */
  event: Event;
  json: string;
  /** Its tokens in the index, where they are made already (`tokensFor`). */
  tokens?: string;
  /** The client made the id: it may be here already. */
  hasClientId: boolean;
  /** Milliseconds since 1970. */
  createdAtMs: number;
  /** `createdAtMs` is not the arrival's: the client said when it happened, or the clock was ahead once and arrivals still are. */
  hasClientTimestamp: boolean;
  /** Its place in the order in which events came. */
  arrival: ArrivalStamp;
  /** When it came, as the clock showed it; milliseconds since 1970, never later than the arrival. */
  receivedMs: number;
  /** Deliveries are to be made for it. */
  notifies: boolean;
  /** Its deliveries were made elsewhere, and are moved together with it. */
  wasNotified?: true;
};

/** What became of an event. Of a duplicate, the JSON of the event that was there before. */
export type AppendResult =
  | { kind: "created"; notified: boolean }
  | { kind: "duplicate"; json: string }
  /** A million events carry the same `createdAt` to the millisecond; there is no place for another. */
  | { kind: "timestampFull" };

/** What is committed in one transaction with events. */
export type AppendCompanion =
  /** A request's `Idempotency-Key`, with what its answer is made from beside the verdicts. */
  | { kind: "idempotency"; key: string; bodyHash: string; draft: string }
  /** A rejected event that is recorded after all, and leaves the list of those. */
  | { kind: "replay"; rejectedId: number };

/** An event that was rejected, and its problem as JSON. */
export type RejectedEvent = {
  projectId: number;
  /** Null where a signed-in member sent it. */
  keyId: string | null;
  body: string;
  /** The body was longer; this is its beginning. */
  cut: boolean;
  problem: string;
  /** Milliseconds since 1970. */
  rejectedAt: number;
};

/** How many rejected events are kept in each project, the newest, and how old they get. */
export type RejectedRetention = { events: number; ms: number };

export type EventQuery = {
  projectId: number;
  filter: EventFilter;
  order: "asc" | "desc";
  after?: Cursor;
  /** JSON texts by default. */
  form?: EventForm;
};

/** What a count tells events apart by. */
export type Split = { by: "channel" } | { by: "name" } | { by: "tag"; key: string };

export type CountQuery = {
  projectId: number;
  /** Without `fromMs` and `toMs`: the bounds say them. */
  filter: EventFilter;
  /** Where each bucket begins, and at last where the last one ends; milliseconds since 1970, rising. */
  bounds: number[];
  split?: Split;
  /** Most series that a split gives: the largest. */
  series: number;
  /** Whether users are to be counted. */
  users: boolean;
};

/** Users whose id begins with a prefix; those after one of them, in the engine's order. */
export type UserQuery = { projectId: number; prefix: string; after?: string };

/** Counts for each bucket: of all events, and of the largest series. */
export type Counts = {
  all: number[];
  series: { value: string; counts: number[] }[];
  /** How many users had an event; null where nobody asked. */
  users: number | null;
};

/** Events that are to be removed: all that what is given holds for. */
export type Removal = {
  projectId: number;
  /** Those of any of them. */
  channels?: string[];
  userId?: string;
  /** Milliseconds since 1970, inclusive. */
  fromMs?: number;
  /** Milliseconds since 1970, exclusive. */
  toMs?: number;
};

export type OneEvent = { projectId: number; id: string };

/** What one step of a removal took away. */
export type Removed = {
  ids: string[];
  /** `createdAt` of the last of them, where the next step goes on; null where there were none. */
  lastMs: number | null;
  /** Nothing is left that the removal held for. */
  isLast: boolean;
};

/** Awaited between small steps of long work, so that what waits meanwhile goes first; throws to end the work. */
export type Pause = () => Promise<void>;

/** Events in the form that was asked for, and where to go on, or null at the end. */
export type Page = { events: string[]; next: Cursor | null };

/** Texts that a project's events have: names, users, keys of tags, or the values of one key. */
export type KnownTexts = { kind: "name" | "user" | "key" } | { kind: "value"; key: string };

export type ArrivedEvent = { arrival: ArrivalStamp; json: string };

/** An event that arrived, on this node or on another. */
export type Arrival = Pick<AcceptedEvent, "projectId" | "event" | "json" | "arrival">;

/** Who is told of what arrives. */
export type Follower = {
  /** The projects whose events are to be told; of others, those alone that were notified. */
  projects: () => Iterable<number>;
  /** An event is durable; they come in the order of arrival, on whichever node. */
  arrived: (event: Arrival, notified: boolean) => void;
  /** All that arrived up to here was told. */
  reached: (moment: ArrivalStamp) => void;
  /** So much arrived up to here that it is not told. */
  skipped: (moment: ArrivalStamp) => void;
  /** Events of a project were deleted, on whichever node. */
  deleted: (projectId: number, deleted: DeletedEvents) => void;
};

/** Where events are kept. Every implementation passes `store.test.ts`. */
export interface EventStore {
  /**
   * Stores an event, with its channel, counters, index and deliveries, and resolves once it is durable: after the
   * commit's fsync, never before. Events that wait together share one commit.
   *
   * Throws the problems `overloaded`, `storage-full` and `storage-unavailable`.
   */
  append(event: AcceptedEvent): Promise<AppendResult>;
  /**
   * The same for events that came together. They may be in several commits: those of one that failed have its error for a
   * verdict. Verdicts are in the events' order. Throws `overloaded`.
   */
  appendAll(events: readonly AcceptedEvent[]): Promise<(AppendResult | Error)[]>;
  /**
   * Stores events of one project and what is tied to them in one transaction. Events that are all crowded out leave the tie
   * undone. Gives null, and stores nothing, where the rejected event to be replayed is not there any more, or the key has been stored
   * within its time.
   */
  appendWith(events: readonly AcceptedEvent[], tie: AppendCompanion): Promise<AppendResult[] | null>;
  /**
   * Keeps events that were rejected, and drops those that are too many or too old. Under a flood of them some are not kept:
   * those who sent them are told of the rejection all the same.
   */
  keepRejected(rejected: readonly RejectedEvent[], keeping: RejectedRetention): Promise<void>;
  /** Up to `limit` events in the order of `createdAt`, then id. With a signal, a long search ends where nobody waits for it any longer. */
  page(query: EventQuery, limit: number, signal?: AbortSignal): Promise<Page>;
  /**
   * The whole listing in UTF-8, in chunks, some of which may be empty, in constant memory. Between JSON texts of one chunk are commas; lines and rows
   * have their ends.
   */
  stream(query: EventQuery): AsyncIterable<Uint8Array<ArrayBuffer>>;
  /** The JSON of one event, or null. */
  find(projectId: number, id: string): Promise<string | null>;
  /** Up to `limit` events that arrived after a moment, in the order of arrival; fewer where they are long, none at the end. */
  arrivedAfter(projectId: number, moment: ArrivalStamp, limit: number): Promise<ArrivedEvent[]>;
  /** Tells of what arrives from now on, until the store is closed. There is one follower. */
  follow(follower: Follower): Promise<void>;
  /** Tells the followers of all nodes that events were deleted. It does not fail: a node that can't be reached is not told. */
  announceDeleted(projectId: number, deleted: DeletedEvents): Promise<void>;
  /** Counts events; null where a split has more than `limits.statsSplitValues` values. */
  count(query: CountQuery): Promise<Counts | null>;
  /**
   * Resolves once the rows of `channels` count every event that was stored before. To be awaited by whoever reads or writes these
   * counts.
   */
  flushCounters(): Promise<void>;
  /** Removes the row of a channel that has no events. */
  removeEmptyChannel(projectId: number, name: string): Promise<void>;
  /** Up to `limit` users that have events, with the number of these. */
  users(query: UserQuery, limit: number): Promise<{ userId: string; events: number }[]>;
  /**
   * Up to `limit` different texts that begin so, in the order of their characters' codes. Quick however many events there are;
   * for that, very long texts may be missing, and values of a key that has tens of thousands.
   */
  startingWith(projectId: number, texts: KnownTexts, prefix: string, limit: number): Promise<string[]>;
  /** How many events a removal holds for. */
  countRemovable(removal: Removal): Promise<number>;
  /**
   * Removes up to `limit` events, oldest first, or the one with an id, with all that belongs to them: their place in the index, counters,
   * channels' counts and deliveries. Resolves once that is durable.
   *
   * @param jobId - the job whose `done` counts them, in the same commit
   */
  remove(removal: Removal | OneEvent, limit: number, jobId?: string): Promise<Removed>;
  /**
   * Removes of the events that are older than their channel, or else their project, keeps them what the engine can remove many at a time,
   * and gives how many went; the others are for `remove`.
   *
   * @param onRemoved - told of their ids, some at a time
   */
  removeExpired(nowMs: number, pause: Pause, onRemoved: (ids: string[]) => void): Promise<number>;
  /** Brings what makes searches quick beside the index up to date, in small steps; the newest events first. */
  indexBlocks(pause: Pause, nowMs: number): Promise<void>;
  /** Gives the space of what was removed back to the disk, in small steps. */
  shrink(pause: Pause): Promise<void>;
  /**
   * Makes what was removed vanish from every file, in small steps: the index, free space, logs and copies that were made
   * before a migration. Gives how many such copies were deleted.
   *
   * @param userIds - whose events were removed: what is left of the ids by chance is looked for
   */
  purge(pause: Pause, userIds?: string[]): Promise<{ copies: number }>;
  /**
   * Answers while events can be read and stored; throws what the engine says where they can't, and `storage-damaged` once damage was
   * found.
   */
  ping(): Promise<void>;
  /** The moment of the newest arrival, or null in an empty store. */
  lastArrival(): Promise<ArrivalStamp | null>;
}

/**
 * Claims up to `limit` deliveries that are due, for one process to send: nobody else has them until `untilMs`, when they are due again.
 * Their `attempts` counts this one, and tells a claim from those after it.
 */
export type ClaimDeliveries = (
  nowMs: number,
  untilMs: number,
  limit: number,
) => Promise<Selectable<ControlTables["deliveries"]>[]>;

/** All that is kept: events, and everything else in the control tables. */
export interface Store {
  events: EventStore;
  control: Kysely<ControlTables>;
  claimDeliveries: ClaimDeliveries;
  /** Finishes what was accepted and closes. */
  close(): Promise<void>;
}

/** Who is told of a store's troubles, and how long it may take to be there. */
export type StoreWatch = {
  /** The storage can't go on: the process is to end, and to acknowledge nothing more. */
  onFatal: (error: Error) => void;
  /** What is stored was found to be damaged: told once. What can be read still is. */
  onDamage: (error: Error) => void;
  /** Something failed that nobody asked for, such as a connection in reserve. */
  onError: (error: unknown) => void;
  /** The storage does less than it should, as this sentence says. */
  onWarning: (text: string) => void;
  /** The storage is not there yet, for this reason, and is waited for. */
  onWaiting: (why: string) => void;
  /** What takes a while at the start, such as a migration, when it begins and when it is done. */
  onInfo: (message: string, fields: Record<string, unknown>) => void;
  /** How long it is waited for. */
  connectTimeoutMs: number;
};
