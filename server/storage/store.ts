import type { Kysely } from "kysely";
import type { Moment } from "../events/id.ts";
import type { Event } from "../wire/event.ts";
import type { ControlTables } from "./control-tables.ts";

/** An event that was checked and is ready to be stored. */
export type AcceptedEvent = {
  projectId: number;
  /** The event as the API shows it, and the same as JSON, from `{"id":…` to `…,"createdAt":"…"}`. */
  event: Event;
  json: string;
  /** The client made the id: it may be here already. */
  idSent: boolean;
  /** Milliseconds since 1970. */
  createdAtMs: number;
  /** The client said when it happened; otherwise `createdAtMs` is the arrival's. */
  dated: boolean;
  arrival: Moment;
  /** Deliveries are to be made for it. */
  notifies: boolean;
};

/** What became of an event. Of a duplicate, the JSON of the event that was there before. */
export type Verdict =
  | { kind: "created"; notified: boolean }
  | { kind: "duplicate"; json: string }
  /** A million events carry the same `createdAt` to the millisecond; there is no place for another. */
  | { kind: "crowded" };

/** What a listing is narrowed to; all of them must hold. */
export type EventFilter = {
  channel?: string;
  userId?: string;
  name?: string;
  notify?: boolean;
  /** Milliseconds since 1970, inclusive. */
  fromMs?: number;
  /** Milliseconds since 1970, exclusive. */
  toMs?: number;
  tags?: [key: string, value: string][];
};

/** Where a page ended: the last event's `createdAt` and id. */
export type Cursor = { ms: number; id: string };

export type EventQuery = {
  projectId: number;
  filter: EventFilter;
  order: "asc" | "desc";
  after?: Cursor;
};

/** Events that are to be removed: all that what is given holds for. */
export type Removal = {
  projectId: number;
  channel?: string;
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

/** Events as JSON texts, and where to go on, or null at the end. */
export type Page = { events: string[]; next: Cursor | null };

export type ArrivedEvent = { arrival: Moment; json: string };

/** Where events are kept. Every implementation passes `store.test.ts`. */
export interface EventStore {
  /**
   * Stores an event, with its channel, counters, index and deliveries, and resolves once it is durable: after the
   * commit's fsync, never before. Events that wait together share one commit.
   *
   * Throws the problems `overloaded`, `storage-full` and `storage-unavailable`.
   */
  append(event: AcceptedEvent): Promise<Verdict>;
  /** Up to `limit` events in the order of `createdAt`, then id. */
  page(query: EventQuery, limit: number): Promise<Page>;
  /** The whole listing as UTF-8 JSON texts with commas between, in chunks, in constant memory. */
  stream(query: EventQuery): AsyncIterable<Uint8Array<ArrayBuffer>>;
  /** The JSON of one event, or null. */
  find(projectId: number, id: string): Promise<string | null>;
  /** Up to `limit` events that arrived after a moment, in the order of arrival. */
  arrivedAfter(projectId: number, moment: Moment, limit: number): Promise<ArrivedEvent[]>;
  /** How many events a removal holds for. */
  count(removal: Removal): Promise<number>;
  /**
   * Removes up to `limit` events, oldest first, or the one with an id, with all that belongs to them: their place in the index, counters,
   * channels' counts and deliveries. Resolves once that is durable.
   *
   * @param jobId - the job whose `done` counts them, in the same commit
   */
  remove(removal: Removal | OneEvent, limit: number, jobId?: string): Promise<Removed>;
  /** Gives the space of what was removed back to the disk, in small steps. */
  shrink(pause: Pause): Promise<void>;
  /**
   * Makes what was removed vanish from every file, in small steps: the index, free space, logs and copies that were made
   * before a migration. Gives how many such copies were deleted.
   *
   * @param userId - whose events were removed: what is left of the id by chance is looked for
   */
  scrub(pause: Pause, userId?: string): Promise<{ copies: number }>;
  /** Answers while events can be read; throws what the engine says where they can't. */
  ping(): Promise<void>;
  /** The moment of the newest arrival, or null in an empty store. */
  lastArrival(): Promise<Moment | null>;
}

/** All that is kept: events, and everything else in the control tables. */
export interface Store {
  /** For better-auth, which writes its dates and booleans as the engine wants them. */
  engine: "sqlite" | "postgres";
  events: EventStore;
  control: Kysely<ControlTables>;
  /** Finishes what was accepted and closes. */
  close(): Promise<void>;
}
