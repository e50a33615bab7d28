import { eventOf } from "../event.ts";
import type { Item } from "../item.ts";
import { filledText, type JsonObject, objectOf } from "../text.ts";
import { propertiesOf } from "../user-properties.ts";

/** Unix times from here on are milliseconds. */
const millisecondsFrom = 1e11;

/** What a body of `/v1/log` makes. */
export function logItemOf(body: JsonObject, nowMs: number): Item {
  const { channel, event, user_id, icon, notify, description, tags, timestamp } = body;
  const seconds = typeof timestamp === "number" ? timestamp : Number.NaN;
  const createdAtMs = Math.floor(seconds >= millisecondsFrom ? seconds : seconds * 1_000);
  return {
    event: eventOf(
      {
        channel,
        name: event,
        userId: user_id,
        icon,
        notify,
        description,
        properties: objectOf(tags),
        createdAtMs: isDate(createdAtMs) ? createdAtMs : undefined,
      },
      nowMs,
    ),
    sent: body,
  };
}

const isDate = (ms: number) => !Number.isNaN(new Date(ms).getTime());

/** What a body of `/v1/insight` makes. */
export function insightItemOf(body: JsonObject, nowMs: number, properties: JsonObject): Item {
  const { title, icon } = body;
  return { event: eventOf({ channel: "insights", name: title, icon, properties }, nowMs), sent: body };
}

/** What a body of `/v1/identify` or `/v1/group` makes. */
export function userItemOf(body: JsonObject, type: "identify" | "group"): Item {
  const userId = filledText(body.user_id);
  const properties = objectOf(body.properties);
  if (userId === undefined) return { fault: '"user_id" must be a filled text.', sent: body };
  const set =
    type === "identify"
      ? propertiesOf(properties)
      : propertiesOf({ id: body.group_id, ...properties }, "group.");
  return { user: { userId, set }, sent: body };
}
