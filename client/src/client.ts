import type { ClientOptions, TidingsClient } from "./client-types.ts";
import { createQueue, type DropReason, isPage, type Queue } from "./queue.ts";
import type { Connection } from "./reader.ts";
import { type Policy, request } from "./request.ts";
import { type PreparedEvent, sendMany } from "./track-many.ts";
import { type AnyEvents, prepareEvent, type TrackedEvent } from "./tracked-event.ts";
import type { Event } from "./wire.gen.ts";

/** An event with at most this many characters has at most the 30 kB that a request of a page may outlive it with. */
const keepaliveCharactersMax = 10_000;

/**
 * Creates a client for one project. It keeps no connection open. Only captured events need `shutdown`. Throws a
 * `TypeError` for invalid options.
 *
 * @typeParam Events - event names with their tags, to check calls against
 * @example
 * type Events = { "Payment received": { amount: number; plan?: string }; "Signed up": {} };
 * const tidings = createClient<Events>({ baseUrl: "https://tidings.example.com", apiKey: process.env.TIDINGS_API_KEY! });
 * await tidings.track({ channel: "payments", name: "Payment received", userId: "u1", tags: { amount: 42 } });
 */
export function createClient<Events extends object = AnyEvents>(
  options: ClientOptions<Events>,
): TidingsClient<Events> {
  const { apiKey, retries = 4, timeoutMs = 10_000, signal, disabled = false, batching = {} } = options;
  const baseUrl = checkedBaseUrl(options.baseUrl);
  const address = `${baseUrl}/api/events`;
  // Checked here, because `fetch` would reject such a header at each attempt and it would look like a network error.
  if (typeof apiKey !== "string" || !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new TypeError("`apiKey` must be a Tidings API key, such as tdg_sk_…, without spaces.");
  }
  if (!(retries >= 0)) throw new TypeError("`retries` must be a number, 0 or more.");
  const { maxEvents = 20, maxWaitMs = 3_000, queueMax = 10_000 } = batching;
  for (const [name, value] of Object.entries({ timeoutMs, maxEvents, maxWaitMs, queueMax })) {
    if (!(value > 0)) throw new TypeError(`\`${name}\` must be a number greater than 0.`);
  }

  const headers = { "x-api-key": apiKey };
  const post = { method: "POST", headers: { "content-type": "application/json", ...headers } };
  const policyOf = (...signals: (AbortSignal | undefined)[]): Policy => ({
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    retries,
    timeoutMs,
    signals: [signal, ...signals].filter((one) => !!one),
  });
  const connection: Connection = { baseUrl, headers, post, disabled, policyOf };

  // The types of events are checked where callers see them; here any event will do.
  const beforeSend = (event: object) =>
    (options.beforeSend ? options.beforeSend(event as TrackedEvent<Events>) : event) as TrackedEvent | null;

  /** Throws a `TypeError` if the event can't be sent. */
  function prepare(event: object): PreparedEvent {
    const kept = beforeSend(event);
    if (!kept) throw new TypeError("`beforeSend` dropped the event.");
    return prepareEvent(kept);
  }

  function drop(events: TrackedEvent[], reason: DropReason, error?: Error): void {
    try {
      if (options.onDrop) options.onDrop(events, reason, error);
      else console.warn(`Tidings: ${events.length} events dropped (${reason}).`, error ?? "");
    } catch (thrown) {
      console.error(thrown);
    }
  }

  let queue: Queue | undefined;
  const queueOf = () =>
    (queue ??= createQueue({
      maxEvents,
      maxWaitMs,
      queueMax,
      retries,
      storage: options.storage,
      onDrop: (events, reason, error) =>
        drop(
          events.map(({ json }) => JSON.parse(json)),
          reason,
          error,
        ),
      send(events, queueSignal) {
        const keepalive = isPage && (events.length > 1 || events[0]!.json.length < keepaliveCharactersMax);
        // The queue has its own retries.
        const policy = { ...policyOf(queueSignal), retries: 0 };
        return sendMany(address, { ...post, keepalive }, events, policy);
      },
    }));
  // Events of earlier sessions are sent even if none is captured.
  if (options.storage && !disabled) queueOf();

  const client: TidingsClient<Events> = {
    async track(event, call = {}) {
      const prepared = prepare(event);
      if (disabled) return (await loadReader()).unsentEvent(prepared);
      const init = { ...post, body: prepared.json };
      const { event: stored } = await request<{ event: Event }>(address, init, policyOf(call.signal));
      // Of an event that was stored before, a key that may not read gets the id only.
      return stored.name === undefined ? (await loadReader()).unsentEvent(prepared) : stored;
    },

    async trackMany(events, call = {}) {
      const prepared = Array.from(events, prepare);
      if (disabled) return prepared.map(({ id }) => ({ ok: true, id }));
      return sendMany(address, post, prepared, policyOf(call.signal));
    },

    capture(event) {
      if (disabled) return;
      try {
        const kept = beforeSend(event);
        if (!kept) return;
        const prepared = prepareEvent({ createdAt: Date.now(), ...kept });
        queueOf().add(prepared);
      } catch (error) {
        drop([event as TrackedEvent], "invalid", error as Error);
      }
    },

    flush: async () => queue?.flush() ?? true,

    shutdown: async ({ timeoutMs = 10_000 } = {}) => queueOf().close(timeoutMs),

    [Symbol.asyncDispose]: () => client.shutdown(),

    identify: async (...args) => (await loadReader()).identify(connection, ...args),

    group: async (...args) => (await loadReader()).group(connection, ...args),

    alias: async (...args) => (await loadReader()).alias(connection, ...args),

    list: async (...args) => (await loadReader()).list(connection, ...args),

    async *events(...args) {
      yield* (await loadReader()).events(connection, ...args);
    },

    live(filters = {}, call = {}) {
      const position = { lastEventId: call.lastEventId };
      return {
        get lastEventId() {
          return position.lastEventId;
        },
        async *[Symbol.asyncIterator]() {
          yield* (await loadReader()).live(connection, position, filters, call);
        },
      };
    },
  };
  return client;
}

const loadReader = () => import("./reader.ts");

function checkedBaseUrl(baseUrl: string): string {
  if (typeof baseUrl !== "string" || !/^https?:\/\/[^/?#\s]+[^?#\s]*$/i.test(baseUrl)) {
    throw new TypeError("`baseUrl` must be the address of Tidings, such as https://tidings.example.com.");
  }
  return baseUrl.replace(/\/+$/, "");
}
