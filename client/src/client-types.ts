/// <reference lib="esnext.disposable" preserve="true" />
import type { DropReason, QueueStorage } from "./queue.ts";
import type { Fetch } from "./request.ts";
import type { TrackResult } from "./track-many.ts";
import type { AnyEvents, TagValue, TrackedEvent } from "./tracked-event.ts";
import type { Event, User } from "./wire.gen.ts";

export type ClientOptions<Events extends object = AnyEvents> = {
  /** Address of Tidings, such as `https://tidings.example.com`. */
  baseUrl: string;
  /** The project's API key: `tdg_sk_…`, or in web pages `tdg_pk_…`. */
  apiKey: string;
  /** Attempts after the first one fails. Default: 4. */
  retries?: number;
  /** Time limit for each attempt in milliseconds; for many events, for each megabyte. Default: 10,000. */
  timeoutMs?: number;
  /** Aborts every call of this client, for example when the process shuts down. */
  signal?: AbortSignal;
  /** Used instead of the global `fetch`. */
  fetch?: Fetch;
  /** How captured events are batched. */
  batching?: BatchingOptions;
  /**
   * Called with captured events that will not be sent, with their `id`s. By default, a warning is logged. To send them
   * again, pass them to `trackMany`.
   */
  onDrop?: (events: TrackedEvent[], reason: DropReason, error?: Error) => void;
  /** Changes an event before it is sent, for example to remove personal data. Null drops a captured event. */
  beforeSend?(event: TrackedEvent<Events>): TrackedEvent<Events> | null;
  /** Keeps captured events across restarts: `offlineStorage()` of `@tidings/client/offline`. */
  storage?: QueueStorage;
  /** Sends and reads nothing, for tests and development. Events are checked and returned as if they were stored. */
  disabled?: boolean;
};

export type BatchingOptions = {
  /** Sends when this many events are waiting. Default: 20. */
  maxEvents?: number;
  /** Sends at the latest after this time, in milliseconds. Default: 3,000. */
  maxWaitMs?: number;
  /** Events that can wait, for example while the server is down. Others are dropped. Default: 10,000. */
  queueMax?: number;
};

export type CallOptions = {
  /** Aborts this call, which then rejects with the signal's reason. */
  signal?: AbortSignal;
};

/** Which events to list. An event must match all filters. */
export type ListFilters = {
  /** Events per page, 1 to 1,000. Without it, all events are returned at once. */
  limit?: number;
  /** The `nextCursor` of the previous page. */
  cursor?: string | null;
  /** Newest first (`desc`) by default. */
  order?: "asc" | "desc";
  channel?: string;
  userId?: string;
  name?: string;
  notify?: boolean;
  /** Start of the range, inclusive: a date, ISO 8601, or milliseconds since 1970. */
  from?: Date | string | number;
  /** End of the range, exclusive. */
  to?: Date | string | number;
  /** A search, such as `pay* -plan=free` (docs/search.md). */
  q?: string;
  /** Tags that an event must have. */
  tags?: Record<string, TagValue>;
};

export type EventPage = {
  events: Event[];
  /** The cursor of the next page; null on the last page and without `limit`. */
  nextCursor: string | null;
};

/** Which events to stream. */
export type LiveFilters = Pick<ListFilters, "channel" | "userId" | "name" | "notify" | "q" | "tags">;

export type LiveOptions = CallOptions & {
  /** Starts after this event: the `lastEventId` of an earlier stream. */
  lastEventId?: string;
  /** Called if events were missed, because the stream was disconnected for too long: read the listing again. */
  onReset?: () => void;
  /** Called when events were deleted, whether or not they match the filters. */
  onDeleted?: (deleted: DeletedEvents) => void;
  /** Reconnects after this much silence, in milliseconds. The server sends a heartbeat every 15 seconds. Default: 40,000. */
  idleTimeoutMs?: number;
};

/** Events that were deleted: by ID, or all of these channels, or those with a `createdAt` before a time. */
export type DeletedEvents = { ids: string[] } | { channels: string[]; before?: string };

/** A live stream. It starts when it is iterated. */
export type LiveEvents = AsyncIterable<Event> & {
  /** Where the stream is. To go on there later, for example after a restart, pass it to `live`. */
  readonly lastEventId: string | undefined;
};

/** A user after `identify`: with a key that may not read users, only the ID and the properties that were sent. */
export type IdentifiedUser = Pick<User, "userId" | "properties"> & Partial<User>;

/** Properties of a user. Dates and bigints are sent as strings; undefined ones are omitted. */
export type IdentifiedProperties = Record<string, TagValue>;

/** `signature`: of the user ID, which publishable keys need (docs/people.md). */
export type AliasOptions = CallOptions & { signature?: string };

/** `anonymousId`: the ID that the user's events had before. Both become one person, for past events too. */
export type IdentifyOptions = AliasOptions & { anonymousId?: string };

/** `userId`: becomes a member of the group. With a publishable key, `signature` is of that ID. */
export type GroupOptions = AliasOptions & { userId?: string };

export type TidingsClient<Events extends object = AnyEvents> = {
  /**
   * Sends an event and resolves to the stored event once it is on the server's disk. The client creates the event's
   * `id`, so a retry never stores it twice.
   *
   * Rejects with `TidingsError` if the server rejects the event, `TidingsNetworkError` if no attempt gets a response,
   * or the reason of an aborted signal.
   *
   * @example
   * const event = await tidings.track({ channel: "payments", name: "Payment received", tags: { amount: 42 } });
   */
  track(event: TrackedEvent<Events>, options?: CallOptions): Promise<Event>;

  /**
   * Sends many events in as few requests as possible (10,000 events or 16 MB each). Resolves to a result for each, in
   * order: stored on the server's disk, or the error that says why not. Events that fail temporarily are retried. With
   * the `id` of its result, an event can safely be sent again later.
   *
   * Rejects only with a `TypeError`, before anything is sent, or the reason of an aborted signal.
   *
   * @example
   * const events = orders.map(({ id }) => ({ channel: "orders", name: "Imported", tags: { id } }));
   * const results = await tidings.trackMany(events);
   * for (const result of results) if (!result.ok) console.error(result.id, result.error.message);
   */
  trackMany(events: Iterable<TrackedEvent<Events>>, options?: CallOptions): Promise<TrackResult[]>;

  /**
   * Queues an event, to be sent in the background with others. Never throws and never waits. The event is stored once,
   * with the time of this call, or passed to `onDrop`.
   *
   * @example
   * tidings.capture({ channel: "web", name: "Report exported", tags: { format: "pdf" } });
   */
  capture(event: TrackedEvent<Events>): void;

  /** Sends what was captured before. Resolves to false if the server can't be reached; the events then stay queued. */
  flush(): Promise<boolean>;

  /**
   * Flushes, and passes what can't be sent within `timeoutMs` (default: 10,000) to `onDrop`. Events captured later are
   * dropped. Also called by `await using`.
   *
   * @example
   * process.once("SIGTERM", async () => {
   *   await tidings.shutdown();
   *   process.exit();
   * });
   */
  shutdown(options?: { timeoutMs?: number }): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;

  /**
   * Sets properties of a user and leaves its others as they are; null removes one. Needs a secret key with the scope
   * `ingest`. Resolves to the user; with a key that may not read users, only to what was sent. With a publishable key,
   * which everybody can read in a web page, it sends no properties: set them on your server.
   *
   * With `anonymousId`, that ID becomes one of the user, for past events too. Rejects with `TidingsError` and the code
   * `user-known` or `id-taken` if it belongs to another known user.
   *
   * @example
   * await tidings.identify("u1", { name: "Ada Lovelace", plan: "pro" }, { anonymousId: visitorId });
   */
  identify(
    userId: string,
    properties: IdentifiedProperties,
    options?: IdentifyOptions,
  ): Promise<IdentifiedUser>;

  /**
   * Makes an anonymous ID one of a user, for past events too. Rejects with `TidingsError` and the code `user-known` if
   * something identified the previous ID before.
   *
   * @example
   * await tidings.alias("u1", visitorId);
   */
  alias(userId: string, previousId: string, options?: AliasOptions): Promise<void>;

  /**
   * Sets properties of a group, such as a company, and leaves its others as they are; null removes one. Creates the group
   * if it is new. With `userId`, that user becomes a member: the search `company:acme` finds their events then, past
   * ones too.
   *
   * Needs a secret key with the scope `ingest`. With a publishable key, it only adds the user, with a signature, to a
   * group that exists. Rejects with `TidingsError`.
   *
   * @example
   * await tidings.group("company", "acme", { name: "ACME", plan: "team" }, { userId: "u1" });
   */
  group(type: string, id: string, properties?: IdentifiedProperties, options?: GroupOptions): Promise<void>;

  /**
   * Lists events, newest first.
   *
   * @example
   * const { events, nextCursor } = await tidings.list({ channel: "payments", tags: { plan: "pro" }, limit: 100 });
   */
  list(filters?: ListFilters, options?: CallOptions): Promise<EventPage>;

  /**
   * Iterates over all matching events, page by page.
   *
   * @example
   * for await (const event of tidings.events({ q: "plan=pro" })) console.log(event.createdAt, event.name);
   */
  events(filters?: ListFilters, options?: CallOptions): AsyncGenerator<Event, void, undefined>;

  /**
   * Iterates over new events as they arrive, without end, and reconnects where it was. Throws `TidingsError` if the
   * server rejects the request, or the reason of an aborted signal.
   *
   * @example
   * for await (const event of tidings.live({ q: "amount>100" })) console.log(event.name);
   */
  live(filters?: LiveFilters, options?: LiveOptions): LiveEvents;
};
