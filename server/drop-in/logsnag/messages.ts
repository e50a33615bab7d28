import { limits } from "../../core/limits.ts";
import { eventOf } from "../event.ts";
import { groupOf, onlyGroupType } from "../groups.ts";
import type { Item } from "../item.ts";
import { sha256 } from "../sha256.ts";
import { filledText, isObject, type JsonObject, lineOf, objectOf } from "../text.ts";
import { propertiesOf } from "../user-properties.ts";

/** Unix times from here on are milliseconds. */
const millisecondsFrom = 1e11;

/** Maps a body of `/v1/log`. */
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

/** Maps a body of `/v1/insight`: the event, and the value if it is a number. */
export function insightItemOf(body: JsonObject, nowMs: number): Item {
  const { title, icon, value } = body;
  const increment = isObject(value) ? value.$inc : undefined;
  const properties = increment === undefined ? { value } : { increment };
  const change = increment === undefined ? { value: numberOf(value) } : { add: numberOf(increment) };
  const event = eventOf({ channel: "insights", name: title, icon, properties }, nowMs);
  const isNumber = Object.values(change).every((number) => Math.abs(number) <= limits.insightValue);
  const text = lineOf(title, limits.insightTitleCharacters);
  if (!isNumber || !text?.trim()) return { event, sent: body };
  const own = typeof event.icon === "string" && { icon: event.icon };
  return { event, value: { key: insightKeyOf(text), title: text, ...own, ...change }, sent: body };
}

/** LogSnag's client sends numbers as texts too. NaN for what isn't one. */
function numberOf(value: unknown): number {
  return filledText(value)?.trim() ? Number(value) : Number.NaN;
}

/** The key of a value that LogSnag knows by its title: "User Count" becomes "user-count". */
function insightKeyOf(title: string): string {
  const words = title.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const key = words.join("-").slice(0, limits.insightKeyCharacters);
  // Two titles in another script must not share a key.
  return /\P{ASCII}/u.test(title) || key === "" ? `insight-${sha256(title).slice(0, 16)}` : key;
}

/** Maps a body of `/v1/identify` or `/v1/group`. */
export function userItemOf(body: JsonObject, type: "identify" | "group"): Item {
  const userId = filledText(body.user_id);
  const properties = objectOf(body.properties);
  if (userId === undefined) return { fault: '"user_id" must be a filled text.', sent: body };
  const set =
    type === "identify"
      ? propertiesOf(properties)
      : propertiesOf({ id: body.group_id, ...properties }, "group.");
  const group = type === "group" ? groupOf(onlyGroupType, body.group_id, properties, { userId }) : undefined;
  return {
    user: { userId, set, ...(type === "identify" && { identifies: true }) },
    ...(group && { group }),
    sent: body,
  };
}
