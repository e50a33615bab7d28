import { parseForeignJson } from "../../http/json.ts";
import { eventOf, timeOf } from "../event.ts";
import type { Item } from "../item.ts";
import { cleanLine, filledText, isObject, type JsonObject, textOf } from "../text.ts";

/** Attributes that become something else than a tag. */
const otherAttributes = new Set([
  "specversion",
  "id",
  "type",
  "time",
  "datacontenttype",
  "data",
  "data_base64",
  "channel",
  "userid",
  "icon",
  "notify",
]);

/** An event in structured form, whatever form it was sent in. `data_base64` stands for any bytes. */
export type CloudEvent = JsonObject;

/** @param channel - for events that don't name one */
export function itemOf(sent: unknown, channel: string, nowMs: number): Item {
  if (!isObject(sent)) return { fault: "An event must be an object.", sent };
  const fault = faultOf(sent);
  if (fault !== null) return { fault, sent };
  const { source, id, type, data } = sent;
  const createdAtMs = timeOf(sent.time);
  const messageId = filledText(id);
  const own = isObject(data) ? data : {};
  return {
    event: eventOf(
      {
        channel: filledText(sent.channel) ?? channel,
        name: type,
        userId: filledText(sent.userid) ?? filledText(own.userId),
        icon: sent.icon,
        notify: notifyOf(sent.notify),
        properties: propertiesOf(sent, own),
        description: typeof data === "string" ? data : undefined,
        createdAtMs,
        messageId:
          messageId === undefined
            ? undefined
            : { wire: `cloudevents ${textOf(source) ?? ""}`, id: messageId },
      },
      nowMs,
    ),
    sent,
  };
}

const specVersion = "1.0";
/** Attributes that an event must have (CloudEvents 1.0, "Required Attributes"). */
const requiredAttributes = ["specversion", "id", "source", "type"] as const;

/** Why an event is none, as a sentence. */
function faultOf(event: CloudEvent): string | null {
  const missing = requiredAttributes.find((name) => typeof event[name] !== "string" || event[name] === "");
  if (missing !== undefined) return `"${missing}" is missing. It must be a text.`;
  if (event.specversion === specVersion) return null;
  return `"specversion" must be "${specVersion}".`;
}

function propertiesOf(event: CloudEvent, data: JsonObject): JsonObject {
  const { source, subject } = event;
  const properties = new Map<string, unknown>([
    ["source", source],
    ["subject", subject],
  ]);
  for (const [name, value] of Object.entries(event)) {
    if (!otherAttributes.has(name)) properties.set(name, value);
  }
  if (event.data_base64 !== undefined) properties.set("datacontenttype", event.datacontenttype);
  for (const [name, value] of Object.entries(data)) {
    if (name === "userId" && filledText(event.userid) === undefined && filledText(value)) continue;
    properties.set(properties.get(name) === undefined ? name : `data.${name}`, value);
  }
  const isOther = event.data !== undefined && event.data !== null && !isObject(event.data);
  if (isOther && typeof event.data !== "string") {
    properties.set(properties.has("data") ? "data.data" : "data", event.data);
  }
  return Object.fromEntries(properties);
}

function notifyOf(notify: unknown): unknown {
  if (notify === "true") return true;
  return notify === "false" ? false : notify;
}

/**
 * An event in binary form: its attributes are headers, and the body is its data. Throws nothing: data that isn't what
 * its type says is kept as bytes.
 */
export async function binaryEvent(headers: Headers, bytes: Uint8Array): Promise<CloudEvent> {
  const attributes = [...headers]
    .filter(([name]) => name.startsWith("ce-"))
    .map(([name, value]) => [name.slice(3), decoded(value)] as const);
  const type = headers.get("content-type");
  return {
    ...Object.fromEntries(attributes),
    ...(type !== null && { datacontenttype: cleanLine(type) }),
    ...(await dataOf(type ?? "application/json", bytes)),
  };
}

async function dataOf(type: string, bytes: Uint8Array): Promise<{ data?: unknown; data_base64?: true }> {
  if (bytes.length === 0) return {};
  const isJson = /^[\w.-]+\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type);
  const isText = /^(?:text\/|application\/(?:[\w.+-]+\+)?xml)/i.test(type);
  try {
    if (isJson) return { data: await parseForeignJson(bytes) };
    if (isText) return { data: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    // Kept as bytes below.
  }
  return { data_base64: true };
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
