import { eventOf, timeOf } from "../event.ts";
import { groupOf, groupTags } from "../groups.ts";
import type { Item, ItemGroup, ItemJoining } from "../item.ts";
import { filledText, isObject, type JsonObject, objectOf } from "../text.ts";
import { propertiesOf } from "../user-properties.ts";

/** Properties that are about the client, or that become something else than a tag. */
const otherProperties = new Set([
  "$lib",
  "$lib_version",
  "$is_server",
  "$geoip_disable",
  "$process_person_profile",
  "$set",
  "$set_once",
  "token",
  "distinct_id",
  "$user_signature",
  "$groups",
]);

/** Events that are about users or the library only. They change users, and aren't events of the feed. */
const silentEvents = new Set([
  "$set",
  "$identify",
  "$create_alias",
  "$merge_dangerously",
  "$groupidentify",
  "$feature_flag_called",
]);

/** The API key in a body, or in its first event. */
export function keyIn(body: unknown): string | undefined {
  const first = objectOf(Array.isArray(body) ? body[0] : body);
  return filledText(first.api_key) ?? filledText(first.token) ?? filledText(objectOf(first.properties).token);
}

/** Maps an event to an event, a change to its user's properties, or both. */
export function itemOf(sent: unknown, nowMs: number): Item {
  if (!isObject(sent)) return { fault: "An event must be an object.", sent };
  const all = objectOf(sent.properties);
  const distinctId = filledText(sent.distinct_id) ?? filledText(all.distinct_id);
  const name = filledText(sent.event);
  const user = distinctId === undefined ? undefined : userOf(sent, all, distinctId);
  if (name === "$merge_dangerously")
    return {
      fault: 'Two known users are merged with POST /api/users/{userId}/merge and "force": true.',
      sent,
    };
  if (name !== undefined && silentEvents.has(name))
    return {
      ...(user && { user }),
      ...joiningOf(name, all, distinctId),
      ...(name === "$groupidentify" && groupIn(all)),
      sent,
    };

  // The client makes up an id for each of these events, unless it is the one that a browser keeps.
  const isOfBrowser = filledText(all.$device_id) !== undefined && all.$device_id === distinctId;
  const isPersonless = all.$process_person_profile === false && !isOfBrowser;
  const exception = name === "$exception" ? exceptionOf(all) : undefined;
  const createdAtMs = timeOf(sent.timestamp) ?? timeOf(all.timestamp);
  const uuid = filledText(sent.uuid);
  return {
    event: eventOf(
      {
        channel: "posthog",
        name: exception?.name ?? sent.event,
        userId: isPersonless ? undefined : distinctId,
        properties: tagged(all, {
          ...(isPersonless && distinctId !== undefined && { distinct_id: distinctId }),
          ...(exception?.type !== undefined && { $exception_type: exception.type }),
        }),
        createdAtMs,
        messageId: uuid === undefined ? undefined : { wire: "posthog", id: uuid },
      },
      nowMs,
    ),
    ...(user && !isPersonless && { user }),
    sent,
  };
}

/**
 * The properties that become tags: its groups, the application's own, then ours, then those of the library, which begin
 * with `$`. If an event has too many, the last ones are left out.
 */
function tagged(all: JsonObject, ours: JsonObject): JsonObject {
  const properties: JsonObject = {};
  const keys = Object.keys(all).filter((key) => !otherProperties.has(key));
  const add = (from: JsonObject, key: string) => define(properties, key, from[key]);
  const groups = groupTags(all.$groups);
  for (const key of Object.keys(groups)) add(groups, key);
  for (const key of keys) if (!key.startsWith("$") && !Object.hasOwn(groups, key)) add(all, key);
  for (const key of Object.keys(ours)) add(ours, key);
  for (const key of keys) if (key.startsWith("$") && !Object.hasOwn(ours, key)) add(all, key);
  return properties;
}

/** A thrown error's type, and a name for it such as "TypeError: x is undefined". Older libraries send no list. */
function exceptionOf(all: JsonObject): { name?: string; type?: string } {
  const [first] = Array.isArray(all.$exception_list) ? (all.$exception_list as unknown[]) : [];
  const type = filledText(objectOf(first).type) ?? filledText(all.$exception_type);
  const message = filledText(objectOf(first).value) ?? filledText(all.$exception_message);
  const name = [type, message].filter((part) => part !== undefined).join(": ");
  return { ...(name && { name }), ...(type !== undefined && { type }) };
}

/** A property named `__proto__` would otherwise set the prototype. */
function define(properties: JsonObject, key: string, value: unknown): void {
  Object.defineProperty(properties, key, { value, enumerable: true, configurable: true, writable: true });
}

function userOf(event: JsonObject, properties: JsonObject, userId: string) {
  if (event.event === "$groupidentify") return undefined;
  if (event.event === "$create_alias") return undefined;
  const set = propertiesOf(objectOf(event.$set ?? properties.$set));
  const setOnce = propertiesOf(objectOf(event.$set_once ?? properties.$set_once));
  const isEmpty = Object.keys(set).length + Object.keys(setOnce).length === 0;
  const identifies = event.event === "$identify";
  return isEmpty && !identifies ? undefined : { userId, set, setOnce, ...(identifies && { identifies }) };
}

/** A group's properties. Whoever is named as its sender is no member: events name their groups themselves. */
function groupIn({ $group_type, $group_key, $group_set }: JsonObject): { group?: ItemGroup } {
  const group = groupOf($group_type, $group_key, objectOf($group_set));
  return group ? { group } : {};
}

/** The two IDs that `identify` and `alias` give one person. */
function joiningOf(
  name: string,
  { $anon_distinct_id: anonymousId, alias, $user_signature }: JsonObject,
  distinctId: string | undefined,
): { joining?: ItemJoining } {
  const [id, by] =
    name === "$identify"
      ? ([filledText(anonymousId), "identify"] as const)
      : ([name === "$create_alias" ? filledText(alias) : undefined, "alias"] as const);
  if (id === undefined || distinctId === undefined || id === distinctId) return {};
  const signature = filledText($user_signature);
  return { joining: { id, userId: distinctId, by, ...(signature !== undefined && { signature }) } };
}
