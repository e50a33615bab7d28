import type { EventFormat } from "../event/event-format.ts";
import type { Cursor, EventFilter } from "../event/filter.ts";
import type { Split } from "./split.ts";

export type EventQuery = {
  projectId: number;
  filter: EventFilter;
  order: "asc" | "desc";
  after?: Cursor;
  /** JSON texts by default. */
  format?: ReadFormat;
  /** The tags that have a column in CSV. Without it, all tags are JSON in one column. */
  tagColumns?: readonly string[];
};

/** `tagCounts` is not a format of events: each chunk has the entries of a `TagCounts`, as JSON. */
type ReadFormat = EventFormat | "tagCounts";

export type CountQuery = {
  projectId: number;
  /** Without `fromMs` and `toMs`: `bounds` has them. */
  filter: EventFilter;
  /** The start of each bucket, and the end of the last; milliseconds since 1970, ascending. */
  bounds: number[];
  split?: Split;
  /** The number of series that a split returns, the largest ones. */
  series: number;
  /** The only values that a split looks at; all by default. */
  values?: readonly string[] | undefined;
};

/** Channels, each with the time after which its events count; milliseconds since 1970. */
export type NewerQuery = {
  projectId: number;
  channels: readonly { name: string; afterMs: number }[];
  /** The highest count: events of a channel beyond it are not counted. */
  max: number;
};

/**
 * Events of a channel that are read to count newer ones. Events are missed only if more than this many are dated ahead.
 */
export const newerReadMax = 5_000;

/** Milliseconds since 1970. */
export type LateQuery = { projectId: number; times: readonly number[] };

/** Arrivals after a time that are read to find late events. If more arrive in that hour, later ones can be missed. */
export const lateReadMax = 2_000;

/** Events, by `createdAt` and id, and a time in milliseconds since 1970. */
export type ArrivedLaterQuery = { projectId: number; afterMs: number; events: readonly Cursor[] };

/** Users whose id begins with a prefix, after one of them, in the engine's order. Or the given users. */
export type UserQuery = { projectId: number } & (
  | { prefix: string; after?: string }
  | { userIds: readonly string[] }
);

/**
 * Patterns for LIKE, on a user's ID and on the JSON of the properties, both in lower case (of ASCII letters). A user
 * matches the term if any of them does.
 */
export type UserTerm = { id: string | null; properties: string[] };

/** Users who match all terms. */
export type UserTermsQuery = { projectId: number; prefix: string; terms: readonly UserTerm[] };

/** Counts for each bucket: of all events, and of the largest series. */
export type Counts = {
  all: number[];
  series: { value: string; counts: number[] }[];
};

/** The events to remove: those that match every given field. */
export type Removal = {
  projectId: number;
  /** Events of any of these channels. */
  channels?: string[];
  /** Events of any of these users. */
  userIds?: readonly string[];
  /** Milliseconds since 1970, inclusive. */
  fromMs?: number;
  /** Milliseconds since 1970, exclusive. */
  toMs?: number;
  /** What an earlier step found and left. Only the engine that found it reads it. */
  found?: FoundEvents;
};

/** Events that SQLite's reader found for a removal, oldest first. */
export type FoundEvents = {
  rows: readonly FoundEvent[];
  /** The last one that was found, if there may be others after it. */
  last: FoundEvent | null;
};

/** The two parts of a row key (sqlite/row-key.ts). */
export type FoundEvent = { ms: number; sequence: number };

export type OneEvent = { projectId: number; id: string };

/** The result of one step of a removal. */
export type Removed = {
  ids: string[];
  /** The removal of the events that are left; null if there are none. */
  next: Removal | null;
};

/** Events in the query's format, and the start of the next page; null at the end. */
export type Page = { events: string[]; next: Cursor | null };

/** A kind of texts in a project's events: names, users, tag keys, or the values of one key. */
export type KnownTexts = { kind: "name" | "user" | "key" } | { kind: "value"; key: string };
