import type { DeletedEvents, Event } from "../event/event.ts";
import type { ArrivalStamp } from "../event/id.ts";
import type { Activity, ActivityQuery } from "./analysis/activity-queries.ts";
import type { Paths, PathsQuery } from "./analysis/path-queries.ts";
import type {
  Cohort,
  CountedUsersPage,
  CountedUsersQuery,
  FunnelQuery,
  FunnelResult,
  MeasureQuery,
  Measures,
  RetentionQuery,
  UsersWith,
  UsersWithQuery,
  Watch,
} from "./analysis/queries.ts";
import type { SessionsQuery, SessionsResult } from "./analysis/sessions.ts";
import type {
  ArrivedLaterQuery,
  CountQuery,
  Counts,
  EventQuery,
  KnownTexts,
  LateQuery,
  NewerQuery,
  OneEvent,
  Page,
  Removal,
  Removed,
  UserQuery,
  UserTermsQuery,
} from "./event-queries.ts";

/** A valid event that is ready to be stored. */
export type AcceptedEvent = {
  projectId: number;
  /** The event as the API returns it, and as JSON, from `{"id":…` to `…,"createdAt":"…"}`. */
  event: Event;
  json: string;
  /** Its index tokens, if they exist already (`tokensFor`). */
  tokens?: string;
  /** The client made the id: the event can be a duplicate. */
  hasClientId: boolean;
  /** Milliseconds since 1970. */
  createdAtMs: number;
  /** True if `createdAtMs` differs from the arrival: the client sent it, or the clock was set back. */
  hasClientTimestamp: boolean;
  /** Its position in the order of arrival. */
  arrival: ArrivalStamp;
  /** The clock when it arrived; milliseconds since 1970, never later than the arrival stamp. */
  receivedMs: number;
  /** An entry in the outbox is stored with it. Its deliveries are made from that. */
  notifies: boolean;
  /** Its deliveries exist already: it is being moved from another database, with them. */
  wasNotified?: true;
};

/**
 * The result of storing an event. For a duplicate, the JSON of the stored event.
 *
 * Invariant: a project has one event for each `id`. Checked by `server/storage/store.test.ts`.
 */
export type AppendResult =
  | { kind: "created" }
  | { kind: "duplicate"; json: string }
  /** A million events, the maximum, already have this `createdAt` to the millisecond. */
  | { kind: "timestampFull" };

/** A record that is committed in the same transaction as events. */
export type AppendCompanion =
  /** A request's `Idempotency-Key`; `responseTemplate` and the results make up its response. */
  | { kind: "idempotency"; key: string; bodyHash: string; responseTemplate: string }
  /** A rejected event that is resent and leaves the list of rejected events. */
  | { kind: "replay"; rejectedId: number };

/** A rejected event, and its problem as JSON. */
export type RejectedEvent = {
  projectId: number;
  /** Null if a signed-in member sent it. */
  keyId: string | null;
  body: string;
  /** The body was longer and was truncated. */
  cut: boolean;
  problem: string;
  /** The reason, the same for all events that were rejected for it. */
  reason: string;
  /** Milliseconds since 1970. */
  rejectedAt: number;
};

/** Limits on the number and age of a project's rejected events. */
export type RejectedRetention = { events: number; ms: number };

/** Awaited between the small steps of long work, so that waiting requests run first. Throws to end the work. */
export type Pause = () => Promise<void>;

export type ArrivedEvent = { arrival: ArrivalStamp; json: string };

/** An event that arrived, on this node or on another. */
export type Arrival = Pick<AcceptedEvent, "projectId" | "event" | "json" | "arrival">;

/** Receives arriving events and messages. */
export type Follower = {
  /** The projects whose events to report. Of other projects, only events with an outbox entry are reported. */
  projects: () => Iterable<number>;
  /** An event is durable. Events of all nodes come in the order of arrival. */
  arrived: (event: Arrival, notifies: boolean) => void;
  /** Everything up to this arrival was reported. */
  reached: (stamp: ArrivalStamp) => void;
  /** Too many events arrived up to here. They are not reported. */
  skipped: (stamp: ArrivalStamp) => void;
  /** Events of a project were deleted, on any node. */
  deleted: (projectId: number, deleted: DeletedEvents) => void;
  /** A message for an account, from any node. */
  told: (message: AccountMessage) => void;
};

/** A message for the live streams of an account. */
export type AccountMessage = {
  accountId: string;
  /** Only for its streams of this project. */
  projectId?: number;
  type: "seen" | "notifications-read";
  /** At most 6,000 bytes as JSON. */
  data: unknown;
};

/**
 * A commit of this many events succeeded, after so many milliseconds. On SQLite, `syncMs` of these were the COMMIT
 * itself, which writes the log and waits for its fsync.
 */
export type OnCommit = (events: number, ms: number, syncMs: number | null) => void;

/**
 * Stores events.
 *
 * Invariant: an event, its index tokens, its counter changes and its outbox entry are committed together or not at all.
 * Checked by `server/ingest/crash.test.ts` and `server/storage/store.test.ts`.
 */
export interface EventAppender {
  observeCommits(observer: OnCommit): void;
  /** The number of events that wait for a commit. */
  readonly waiting: number;
  /**
   * Stores an event with its channel, counters, index entries and, if a rule may match it, an entry in the outbox.
   * Resolves once it is durable: after the commit's fsync, never before. Events that wait at the same time share a
   * commit.
   *
   * Throws the problems `overloaded`, `storage-full` and `storage-unavailable`.
   */
  append(event: AcceptedEvent): Promise<AppendResult>;
  /**
   * Stores several events, perhaps in several commits. The results are in the events' order. For an event of a failed
   * commit, the result is the error. Throws `overloaded`.
   */
  appendAll(events: readonly AcceptedEvent[]): Promise<(AppendResult | Error)[]>;
  /**
   * Stores events of one project and their companion in one transaction. If every event is rejected, the companion is
   * not recorded. Returns null and stores nothing if the rejected event to resend no longer exists, or the key is
   * already in use.
   */
  appendWith(events: readonly AcceptedEvent[], companion: AppendCompanion): Promise<AppendResult[] | null>;
  /**
   * Keeps rejected events and trims them by count and age. During a flood, some are dropped; their senders still get
   * the rejection.
   */
  keepRejected(rejected: readonly RejectedEvent[], retention: RejectedRetention): Promise<void>;
}

/** Finds events. */
export interface EventReader {
  /** Returns up to `limit` events in the order of `createdAt`, then id. An aborted signal ends a long search. */
  page(query: EventQuery, limit: number, signal?: AbortSignal): Promise<Page>;
  /**
   * Returns the complete listing in UTF-8, in chunks, some of which can be empty. Commas separate the JSON texts of a
   * chunk; lines and rows end themselves.
   *
   * Invariant: a chunk of a listing is bounded, however long the events are. Checked by `server/events/list.test.ts`.
   */
  stream(query: EventQuery): AsyncIterable<Uint8Array<ArrayBuffer>>;
  /** Returns the JSON of one event, or null. */
  find(projectId: number, id: string): Promise<string | null>;
  /**
   * Returns up to `limit` events that arrived after a stamp, in the order of arrival. Long events make it return fewer;
   * it returns none only at the end.
   */
  arrivedAfter(projectId: number, stamp: ArrivalStamp, limit: number): Promise<ArrivedEvent[]>;
  /** Returns the newest arrival, or null for an empty store. */
  lastArrival(): Promise<ArrivalStamp | null>;
  /** Reports arriving events until the store is closed. There is one follower. */
  follow(follower: Follower): Promise<void>;
  /**
   * Returns up to `limit` different texts with a prefix, in the order of their characters' codes. It is fast at any
   * number of events. In return, it can miss very long texts, and values of a key that has tens of thousands.
   */
  startingWith(projectId: number, texts: KnownTexts, prefix: string, limit: number): Promise<string[]>;
}

/** Counts events. */
export interface EventCounter {
  /** Counts events; null if a split has more than `limits.statsSplitValues` values. An aborted signal ends it. */
  count(query: CountQuery, signal?: AbortSignal): Promise<Counts | null>;
  /**
   * Counts events of channels that arrived after a time and are dated after it, each up to a maximum, in the channels'
   * order. Fast at any number of events.
   */
  countNewer(query: NewerQuery): Promise<number[]>;
  /**
   * Returns for each time the JSON of events that arrived after it but are dated up to it, without backdated ones
   * (`isBackdated`).
   */
  lateEvents(query: LateQuery): Promise<string[][]>;
  /** Tells for each event whether it arrived after a time, whatever its `createdAt` is. */
  arrivedLater(query: ArrivedLaterQuery): Promise<boolean[]>;
  /** Resolves once `channels` counts every event stored before. Await it before reading or writing these counts. */
  flushCounters(): Promise<void>;
  /** Returns up to `limit` users with events, each with the number of events. An aborted signal ends it. */
  users(query: UserQuery, limit: number, signal?: AbortSignal): Promise<{ userId: string; events: number }[]>;
  /**
   * Returns the IDs of up to `limit` users who match a search, in any order. Some may have no events. No index covers
   * this search: if fewer users match, it reads all users and their properties.
   */
  usersMatching(query: UserTermsQuery, limit: number, signal?: AbortSignal): Promise<string[]>;
}

/**
 * Computes numbers that counters don't have. Each computation reads all matching events of its range, from columns of
 * blocks where they exist. It throws the signal's reason if it is aborted, and the problems `query-too-expensive` (too
 * much memory or time) and `overloaded`.
 */
export interface EventAnalyzer {
  /** Counts different users, or aggregates a tag's numbers, by bucket. */
  measure(query: MeasureQuery, watch: Watch): Promise<Measures>;
  /** Counts the users who take steps one after the other. */
  funnel(query: FunnelQuery, watch: Watch): Promise<FunnelResult>;
  /** Counts the users who return in later periods. */
  retention(query: RetentionQuery, watch: Watch): Promise<Cohort[]>;
  /** Counts what users do after or before an event. */
  paths(query: PathsQuery, watch: Watch): Promise<Paths>;
  /** Counts users by the periods in which they are active. */
  activity(query: ActivityQuery, watch: Watch): Promise<Activity>;
  /** Returns the users that a number counts, a page at a time. */
  countedUsers(query: CountedUsersQuery, watch: Watch): Promise<CountedUsersPage>;
  /** Divides the events of users into sessions, and counts these. */
  sessions(query: SessionsQuery, watch: Watch): Promise<SessionsResult>;
  /** Returns the people who have enough events that match. */
  usersWith(query: UsersWithQuery, watch: Watch): Promise<UsersWith>;
}

/** Removes events. */
interface EventRemover {
  /** Counts the events that a removal applies to. */
  countRemovable(removal: Removal): Promise<number>;
  /** How many events a job removes at a time: few where new events wait meanwhile, many where each removal takes long. */
  readonly removalStep: number;
  /**
   * Removes up to `limit` events, oldest first, or the one with an id. Resolves once that is durable.
   *
   * Invariant: a removal also takes rows, index, counters, channels, outbox, deliveries and user counts in one commit.
   * For a month that is removed at once, deliveries, ids and users follow. Checked by `server/storage/expired.test.ts` and
   * `server/storage/store.test.ts`.
   *
   * @param jobId - the job whose `done` counts them, in the same commit
   */
  remove(removal: Removal | OneEvent, limit: number, jobId?: string): Promise<Removed>;
  /**
   * Removes the expired events that the engine can remove in bulk, and returns their number. `remove` removes the rest.
   *
   * @param onRemoved - called with some of their ids at a time
   */
  removeExpired(nowMs: number, pause: Pause, onRemoved: (ids: string[]) => void): Promise<number>;
  /** Removes the row of a channel without events. */
  removeEmptyChannel(projectId: number, name: string): Promise<void>;
  /** Tells the followers of all nodes about deleted events. It never fails: it skips nodes that it can't reach. */
  announceDeleted(projectId: number, deleted: DeletedEvents): Promise<void>;
  /** Sends the followers of all nodes a message for an account. It never fails: it skips nodes that it can't reach. */
  tellAccount(message: AccountMessage): Promise<void>;
  /**
   * Deletes all traces of removed events from every file, in small steps: index, free space, logs, and copies made
   * before a migration. Returns the number of deleted copies.
   *
   * @param hasEvents - false if no events were removed since the last call, only rows of other tables
   */
  purge(pause: Pause, hasEvents?: boolean): Promise<{ copies: number }>;
}

/** Maintains the store in small steps between other work. */
export interface EventMaintenance {
  /** Brings the blocks (README.md) up to date, newest events first. */
  indexBlocks(pause: Pause, nowMs: number): Promise<void>;
  /** Returns the space of removed events to the file system. */
  shrink(pause: Pause): Promise<void>;
  /**
   * Resolves if events can be read and stored; throws the engine's error if not, and `storage-damaged` once damage was
   * found.
   */
  ping(): Promise<void>;
}

/** A store of events. Every implementation passes `store.test.ts`. */
export interface EventStore
  extends EventAppender,
    EventReader,
    EventCounter,
    EventAnalyzer,
    EventRemover,
    EventMaintenance {}
