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
  /** Up to `limit` events that arrived after a moment, in the order of arrival; fewer where they are long, none at the end. */
  arrivedAfter(projectId: number, moment: Moment, limit: number): Promise<ArrivedEvent[]>;
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
