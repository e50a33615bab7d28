import { eventOf, timeOf } from "../event.ts";
import type { Item } from "../item.ts";
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
]);

/** Events about users only. */
const userEvents = new Set(["$identify", "$create_alias", "$groupidentify"]);

/** The API key in a body, or in its first event. */
export function keyIn(body: unknown): string | undefined {
  const first = objectOf(Array.isArray(body) ? body[0] : body);
  return filledText(first.api_key) ?? filledText(first.token) ?? filledText(objectOf(first.properties).token);
}

/** What an event makes: an event, a change to its user's properties, or both. */
export function itemOf(sent: unknown, nowMs: number): Item {
  if (!isObject(sent)) return { fault: "An event must be an object.", sent };
  const all = objectOf(sent.properties);
  const distinctId = filledText(sent.distinct_id) ?? filledText(all.distinct_id);
  const name = filledText(sent.event);
  const properties: JsonObject = {};
  for (const key of Object.keys(all)) if (!otherProperties.has(key)) define(properties, key, all[key]);
  const user = distinctId === undefined ? undefined : userOf(sent, all, distinctId);
  if (name !== undefined && userEvents.has(name)) return { ...(user && { user }), sent };

  // The client makes up an id for each of these events.
  const isPersonless = all.$process_person_profile === false;
  if (isPersonless && distinctId !== undefined) define(properties, "distinct_id", distinctId);
  const createdAtMs = timeOf(sent.timestamp) ?? timeOf(all.timestamp);
  const uuid = filledText(sent.uuid);
  return {
    event: eventOf(
      {
        channel: "posthog",
        name: sent.event,
        userId: isPersonless ? undefined : distinctId,
        properties,
        createdAtMs,
        messageId: uuid === undefined ? undefined : { wire: "posthog", id: uuid },
      },
      nowMs,
    ),
    ...(user && !isPersonless && { user }),
    sent,
  };
}

/** A property named `__proto__` would otherwise set the prototype. */
function define(properties: JsonObject, key: string, value: unknown): void {
  Object.defineProperty(properties, key, { value, enumerable: true, configurable: true, writable: true });
}

function userOf(event: JsonObject, properties: JsonObject, userId: string) {
  if (event.event === "$groupidentify") return undefined;
  if (event.event === "$create_alias") return { userId, set: propertiesOf({ previousId: properties.alias }) };
  const set = propertiesOf(objectOf(event.$set ?? properties.$set));
  const setOnce = propertiesOf(objectOf(event.$set_once ?? properties.$set_once));
  const isEmpty = Object.keys(set).length + Object.keys(setOnce).length === 0;
  return isEmpty ? undefined : { userId, set, setOnce };
}
