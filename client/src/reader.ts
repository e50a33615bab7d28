import type {
  AliasOptions,
  CallOptions,
  EventPage,
  GroupOptions,
  IdentifiedProperties,
  IdentifiedUser,
  IdentifyOptions,
  ListFilters,
  LiveFilters,
  LiveOptions,
} from "./client-types.ts";
import { type StreamPosition, streamEvents } from "./live.ts";
import { type Policy, request } from "./request.ts";
import type { PreparedEvent } from "./track-many.ts";
import { tagStrings, toIsoString } from "./tracked-event.ts";
import type { Event, EventList } from "./wire.gen.ts";

// Loaded when a client first reads or identifies: both need a secret key, so web pages never load it.

const eventsPageMax = 1_000;

/** What a request needs to know of its client. */
export type Connection = {
  baseUrl: string;
  headers: Record<string, string>;
  /** Of a request with JSON. */
  post: { method: string; headers: Record<string, string> };
  disabled: boolean;
  policyOf: (signal?: AbortSignal) => Policy;
};

export async function list(
  { baseUrl, headers, disabled, policyOf }: Connection,
  filters: ListFilters = {},
  call: CallOptions = {},
): Promise<EventPage> {
  const url = withQuery(`${baseUrl}/api/events`, filters);
  const { events, nextCursor = null }: Pick<EventList, "events" | "nextCursor"> = disabled
    ? { events: [] }
    : await request<EventList>(url, { headers }, policyOf(call.signal));
  return { events, nextCursor };
}

export async function* events(
  connection: Connection,
  filters: ListFilters = {},
  call: CallOptions = {},
): AsyncGenerator<Event, void, undefined> {
  let cursor = filters.cursor;
  do {
    const page = await list(connection, { limit: eventsPageMax, ...filters, cursor: cursor ?? null }, call);
    yield* page.events;
    cursor = page.nextCursor;
  } while (cursor);
}

/** @param position - updated with each event, before it is yielded */
export async function* live(
  { baseUrl, headers, disabled, policyOf }: Connection,
  position: StreamPosition,
  filters: LiveFilters,
  call: LiveOptions,
): AsyncGenerator<Event> {
  if (disabled) return;
  const url = withQuery(`${baseUrl}/api/events/stream`, filters);
  yield* streamEvents({ url, headers, policy: policyOf(call.signal) }, position, call);
}

export async function identify(
  connection: Connection,
  userId: string,
  properties: IdentifiedProperties,
  call: IdentifyOptions = {},
): Promise<IdentifiedUser> {
  if (call.anonymousId || call.signature) await send(connection, "identify", { userId }, call);
  if (connection.disabled || isPublishable(connection))
    return { userId, properties: JSON.parse(asJson(properties)) };
  // URLs lose the segments "." and "..", so the server takes them with a tilde.
  const segment = encodeURIComponent(userId.replace(/^(?=~*\.\.?$)/, "~"));
  return (await send(connection, `users/${segment}`, properties, { signal: call.signal }, "PATCH")).user;
}

export async function alias(
  connection: Connection,
  userId: string,
  previousId: string,
  call: AliasOptions = {},
): Promise<void> {
  await send(connection, "alias", { userId, previousId }, call);
}

export async function group(
  connection: Connection,
  type: string,
  id: string,
  properties?: IdentifiedProperties,
  call: GroupOptions = {},
): Promise<void> {
  const sent = isPublishable(connection) ? undefined : properties;
  await send(connection, "groups", { type, id, properties: sent }, call);
}

/** Everybody can read a web page's key, so the server would refuse properties. */
function isPublishable({ headers }: Connection): boolean {
  return headers["x-api-key"]!.startsWith("tdg_pk_");
}

function asJson(body: object): string {
  return JSON.stringify(body, (_, value) => (typeof value === "bigint" ? String(value) : value));
}

/** Changes a user or a group. A disabled client sends nothing. Other options than `signal` are sent with the body. */
async function send(
  { baseUrl, post, disabled, policyOf }: Connection,
  path: string,
  body: object,
  { signal, ...options }: { signal?: AbortSignal | undefined },
  method = "POST",
): Promise<{ user: IdentifiedUser }> {
  const init = { ...post, method, body: asJson({ ...options, ...body }) };
  return disabled ? ({} as never) : request(`${baseUrl}/api/${path}`, init, policyOf(signal));
}

/** The event as the server would return it. */
export function unsentEvent({ id, json }: PreparedEvent): Event {
  const { channel, createdAt = Date.now(), ...sent } = JSON.parse(json);
  for (const name of ["icon", "event", "description"]) if (!sent[name]) delete sent[name];
  return {
    userId: "",
    notify: false,
    tags: {},
    ...sent,
    id,
    channelId: channel,
    createdAt: toIsoString(createdAt, "createdAt"),
  };
}

function withQuery(url: string, { tags = {}, ...filters }: ListFilters & LiveFilters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) {
    if (value === undefined || value === null) continue;
    const isTime = (name === "from" || name === "to") && typeof value !== "string";
    query.set(name, isTime ? toIsoString(value as Date | number, name) : String(value));
  }
  for (const [key, value] of tagStrings(tags)) query.set(`tag.${key}`, value);
  return `${url}?${query}`;
}
