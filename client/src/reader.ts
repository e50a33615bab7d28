import type {
  AliasOptions,
  CallOptions,
  EventPage,
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
  if (disabled) return { events: [], nextCursor: null };
  const url = withQuery(`${baseUrl}/api/events`, filters);
  const { events, nextCursor = null } = await request<EventList>(url, { headers }, policyOf(call.signal));
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
  const { headers, disabled } = connection;
  const json = JSON.stringify(properties, (_, value) => (typeof value === "bigint" ? String(value) : value));
  const sent = JSON.parse(json);
  const { anonymousId, signature } = call;
  if (anonymousId) await send(connection, "identify", { userId, anonymousId, signature }, call);
  // Everybody can read a web page's key, so the server would refuse properties.
  const isPublishable = headers["x-api-key"]!.startsWith("tdg_pk_");
  if (disabled || isPublishable) return { userId, properties: sent };
  // URLs lose the segments "." and "..", so the server takes them with a tilde.
  const segment = encodeURIComponent(userId.replace(/^(?=~*\.\.?$)/, "~"));
  return (await send(connection, `users/${segment}`, sent, call, "PATCH")).user;
}

export async function alias(
  connection: Connection,
  userId: string,
  previousId: string,
  call: AliasOptions = {},
): Promise<void> {
  await send(connection, "alias", { userId, previousId, signature: call.signature }, call);
}

/** Changes a user. A disabled client sends nothing. */
async function send(
  { baseUrl, post, disabled, policyOf }: Connection,
  path: string,
  body: object,
  call: CallOptions,
  method = "POST",
): Promise<{ user: IdentifiedUser }> {
  const init = { ...post, method, body: JSON.stringify(body) };
  return disabled ? ({} as never) : request(`${baseUrl}/api/${path}`, init, policyOf(call.signal));
}

/** The event as the server would return it. */
export function unsentEvent({ id, json }: PreparedEvent): Event {
  const { channel, name, userId, tags, notify, createdAt, icon, event, description } = JSON.parse(json);
  return {
    id,
    name,
    channelId: channel,
    userId: userId ?? "",
    notify: notify ?? false,
    tags: tags ?? {},
    createdAt: toIsoString(createdAt ?? Date.now(), "createdAt"),
    ...(icon && { icon }),
    ...(event && { event }),
    ...(description && { description }),
  };
}

function withQuery(url: string, { from, to, tags = {}, ...filters }: ListFilters & LiveFilters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) {
    if (value !== undefined && value !== null) query.set(name, String(value));
  }
  for (const [name, time] of Object.entries({ from, to }))
    if (time !== undefined) query.set(name, typeof time === "string" ? time : toIsoString(time, name));
  for (const [key, value] of tagStrings(tags)) query.set(`tag.${key}`, value);
  const text = query.toString();
  return text ? `${url}?${text}` : url;
}
