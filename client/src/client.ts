import { createEventIds } from "./event-id.ts";
import { type Fetch, type Policy, request } from "./request.ts";
import { type PreparedEvent, sendMany, type TrackResult } from "./track-many.ts";
import type { Event, EventList, NewEvent } from "./wire.gen.ts";

export type ClientOptions = {
  /** Address of Tidings, such as `https://tidings.example.com`. */
  baseUrl: string;
  /** The project's API key: `tdg_sk_…`. */
  apiKey: string;
  /** Attempts after the first one fails. Default: 4. */
  retries?: number;
  /** Time limit for each attempt in milliseconds; for `trackMany`, for each megabyte. Default: 10,000. */
  timeoutMs?: number;
  /** Aborts every call of this client, for example when the process shuts down. */
  signal?: AbortSignal;
  /** Used instead of the global `fetch`. */
  fetch?: Fetch;
};

export type CallOptions = {
  /** Aborts this call, which then rejects with the signal's reason. */
  signal?: AbortSignal;
};

/** The value of a tag, sent as a string. Null and undefined tags are omitted. */
export type TagValue = string | number | boolean | bigint | Date | null | undefined;

/** An event to send. */
export type TrackedEvent = Omit<NewEvent, "name" | "user_id" | "tags" | "createdAt"> & {
  /** Event name, such as "Payment received". */
  name: string;
  /** Free-form key-value pairs. */
  tags?: Record<string, TagValue>;
  /** When the event happened, if not now: a date, ISO 8601 with an offset, or milliseconds since 1970. */
  createdAt?: Date | string | number;
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

export type TidingsClient = {
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
  track(event: TrackedEvent, options?: CallOptions): Promise<Event>;

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
  trackMany(events: Iterable<TrackedEvent>, options?: CallOptions): Promise<TrackResult[]>;

  /**
   * Lists events, newest first.
   *
   * @example
   * let cursor: string | null = null;
   * do {
   *   const page = await tidings.list({ channel: "payments", tags: { plan: "pro" }, limit: 100, cursor });
   *   for (const event of page.events) console.log(event.createdAt, event.name);
   *   cursor = page.nextCursor;
   * } while (cursor);
   */
  list(filters?: ListFilters, options?: CallOptions): Promise<EventPage>;
};

const nextEventId = createEventIds();

/**
 * Creates a client for one project. It keeps no connection open and needs no closing. Throws a `TypeError` for invalid
 * options.
 *
 * @example
 * const tidings = createClient({ baseUrl: "https://tidings.example.com", apiKey: process.env.TIDINGS_KEY });
 * await tidings.track({ channel: "payments", name: "Payment received", userId: "u1", icon: "💰", notify: true });
 */
export function createClient(options: ClientOptions): TidingsClient {
  const { apiKey, retries = 4, timeoutMs = 10_000, signal } = options;
  const address = `${checkedBaseUrl(options.baseUrl)}/api/events`;
  // Checked here, because `fetch` would reject such a header at each attempt and it would look like a network error.
  if (typeof apiKey !== "string" || !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new TypeError("`apiKey` must be a Tidings API key, such as tdg_sk_…, without spaces.");
  }
  if (!(retries >= 0)) throw new TypeError("`retries` must be a number, 0 or more.");
  if (!(timeoutMs > 0)) throw new TypeError("`timeoutMs` must be a number greater than 0.");

  const postHeaders = { "content-type": "application/json", "x-api-key": apiKey };
  const policyOf = (call: CallOptions): Policy => ({
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    retries,
    timeoutMs,
    signals: [signal, call.signal].filter((one) => one !== undefined),
  });

  return {
    async track(event, call = {}) {
      const init = { method: "POST", headers: postHeaders, body: prepare(event).json };
      return (await request<{ event: Event }>(address, init, policyOf(call))).event;
    },

    async trackMany(events, call = {}) {
      return sendMany(address, postHeaders, Array.from(events, prepare), policyOf(call));
    },

    async list(filters = {}, call = {}) {
      const query = queryOf(filters).toString();
      const init = { headers: { "x-api-key": apiKey } };
      const url = query ? `${address}?${query}` : address;
      const { events, nextCursor = null } = await request<EventList>(url, init, policyOf(call));
      return { events, nextCursor };
    },
  };
}

/** An event ready to send. Throws a `TypeError` for tags and dates that can't be converted. */
function prepare(event: TrackedEvent): PreparedEvent {
  const id = event.id ?? nextEventId();
  const body: NewEvent = {
    ...event,
    id,
    tags: event.tags && Object.fromEntries(tagStrings(event.tags)),
    createdAt: event.createdAt instanceof Date ? toIsoString(event.createdAt, "createdAt") : event.createdAt,
  };
  return { id, json: JSON.stringify(body) };
}

function queryOf({ from, to, tags = {}, ...filters }: ListFilters): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) {
    if (value !== undefined && value !== null) query.set(name, String(value));
  }
  if (from !== undefined) query.set("from", typeof from === "string" ? from : toIsoString(from, "from"));
  if (to !== undefined) query.set("to", typeof to === "string" ? to : toIsoString(to, "to"));
  for (const [key, value] of tagStrings(tags)) query.set(`tag.${key}`, value);
  return query;
}

/** The tags as strings. Throws a `TypeError` for a value that can't be converted. */
function tagStrings(tags: Record<string, TagValue>): [string, string][] {
  const strings: [string, string][] = [];
  for (const [key, value] of Object.entries(tags)) {
    if (value === null || value === undefined) continue;
    if (value instanceof Date) strings.push([key, toIsoString(value, `tags.${key}`)]);
    else if (["string", "number", "boolean", "bigint"].includes(typeof value))
      strings.push([key, String(value)]);
    else throw new TypeError(`The tag "${key}" is ${typeof value}. Send a string, number, boolean or Date.`);
  }
  return strings;
}

function toIsoString(time: Date | number, field: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) throw new TypeError(`\`${field}\` is not a valid date.`);
  return date.toISOString();
}

function checkedBaseUrl(baseUrl: string): string {
  if (typeof baseUrl !== "string" || !/^https?:\/\/[^/?#\s]+[^?#\s]*$/i.test(baseUrl)) {
    throw new TypeError("`baseUrl` must be the address of Tidings, such as https://tidings.example.com.");
  }
  return baseUrl.replace(/\/+$/, "");
}
