import { limits } from "../../core/limits.ts";
import { eventOf } from "../event.ts";
import type { Item } from "../item.ts";
import { unfitBody } from "../receive.ts";
import { filledText, isObject, type JsonObject, objectOf, textOf } from "../text.ts";

const severities = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"];
const userAttributes = ["user.id", "enduser.id", "userId"];
const nanosecondsPerMillisecond = 1_000_000n;

/** Records of one resource and scope, in their JSON form. */
export type RecordGroup = { resource: JsonObject; scope: JsonObject; records: Iterable<SentRecord> };
export type SentRecord = {
  record: JsonObject;
  /** How many values it has, where the whole request wasn't counted. */
  values?: number;
};

/** The groups of an `ExportLogsServiceRequest` in its JSON form. Throws `body-invalid`. */
export function groupsOf(body: unknown): RecordGroup[] {
  const { resourceLogs = [] } = isObject(body) ? body : { resourceLogs: null };
  if (!Array.isArray(resourceLogs)) throw unfitBody('"resourceLogs" must be an array.');
  return resourceLogs.map(objectOf).flatMap((logs) =>
    listOf(logs.scopeLogs).map(({ scope, logRecords }) => ({
      resource: objectOf(logs.resource),
      scope: objectOf(scope),
      records: listOf(logRecords).map((record) => ({ record })),
    })),
  );
}

export function* itemsOf(
  groups: Iterable<RecordGroup>,
  channel: string | null,
  nowMs: number,
): Generator<Item> {
  for (const { resource, scope, records } of groups) {
    const attributes = attributesOf(resource.attributes);
    const name = filledText(scope.name);
    for (const { record, values } of records)
      yield {
        ...recordItem(record, attributes, name, channel, nowMs),
        ...(values !== undefined && { values }),
      };
  }
}

function recordItem(
  record: JsonObject,
  resource: JsonObject,
  scope: string | undefined,
  channel: string | null,
  nowMs: number,
): Item {
  const attributes = attributesOf(record.attributes);
  const body = plainValueOf(record.body);
  const text = textOfBody(body);
  const firstLine = text?.split(/[\r\n]/).find((line) => line.trim() !== "");
  const eventName = filledText(record.eventName);
  const severity = filledText(record.severityText) ?? severityOf(record.severityNumber);
  const name = eventName ?? filledText(attributes["event.name"]) ?? firstLine ?? severity ?? "Log";
  const userAttribute = userAttributes.find((key) => filledText(attributes[key]) !== undefined);
  const createdAtMs = millisecondsOf(record.timeUnixNano) ?? millisecondsOf(record.observedTimeUnixNano);
  const uid = filledText(attributes["log.record.uid"]);
  return {
    event: eventOf(
      {
        channel: channel ?? filledText(resource["service.name"]) ?? "otlp",
        name,
        userId: userAttribute && attributes[userAttribute],
        description: text === name ? undefined : text,
        properties: {
          severity,
          ...without(attributes, userAttribute, eventName === undefined ? "event.name" : undefined),
          ...(isObject(body) && { body }),
          traceId: filledText(record.traceId),
          spanId: filledText(record.spanId),
          scope,
          "deployment.environment.name": resource["deployment.environment.name"],
        },
        createdAtMs,
        messageId: uid === undefined ? undefined : { wire: "otlp", id: uid },
      },
      nowMs,
    ),
    sent: record,
  };
}

function without(attributes: JsonObject, ...keys: (string | undefined)[]): JsonObject {
  return Object.fromEntries(Object.entries(attributes).filter(([key]) => !keys.includes(key)));
}

function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** The first ones, more than an event has room for. */
function attributesOf(list: unknown): JsonObject {
  const attributes = listOf(list).slice(0, limits.foreignObjectMembers);
  return Object.fromEntries(attributes.map(({ key, value }) => [textOf(key) ?? "", plainValueOf(value)]));
}

/** A plain value of an `AnyValue` in its JSON form. Integers that a number can't hold exactly stay texts. */
function plainValueOf(value: unknown): unknown {
  if (!isObject(value)) return undefined;
  const { stringValue, boolValue, intValue, doubleValue, bytesValue, arrayValue, kvlistValue } = value;
  // A text or a number, as protobuf's JSON form has it.
  if (typeof intValue === "string" || typeof intValue === "number") {
    const number = Number(intValue);
    return Number.isSafeInteger(number) ? number : textOf(intValue);
  }
  if (arrayValue !== undefined) {
    const { values } = objectOf(arrayValue);
    return Array.isArray(values) ? values.map((item) => plainValueOf(item) ?? null) : [];
  }
  if (kvlistValue !== undefined) return attributesOf(objectOf(kvlistValue).values);
  return stringValue ?? boolValue ?? doubleValue ?? bytesValue ?? undefined;
}

function textOfBody(body: unknown): string | undefined {
  if (isObject(body)) return filledText(body.message) ?? filledText(body.msg);
  if (Array.isArray(body)) return JSON.stringify(body);
  return typeof body === "boolean" ? String(body) : filledText(body);
}

/** Severity numbers come in groups of four, from 1. */
function severityOf(number: unknown): string | undefined {
  return typeof number === "number" ? severities[Math.floor((number - 1) / 4)] : undefined;
}

function millisecondsOf(nanoseconds: unknown): number | undefined {
  const text = textOf(nanoseconds);
  if (text === undefined || !/^\d{1,20}$/.test(text) || /^0+$/.test(text)) return undefined;
  return Number(BigInt(text) / nanosecondsPerMillisecond);
}
