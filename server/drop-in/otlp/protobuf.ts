import protobuf from "protobufjs/light.js";
import { limits } from "../../core/limits.ts";
import { ProblemError, problem } from "../../core/problems.ts";
import { Turns } from "../../scheduling/turns.ts";
import type { JsonObject } from "../text.ts";
import type { RecordGroup, SentRecord } from "./logs.ts";

/**
 * The parts that we read of opentelemetry/proto/logs/v1/logs.proto and common/v1/common.proto, and
 * google/rpc/status.proto, with their field numbers. Unknown fields are skipped, as Protocol Buffers intend.
 */
const root = protobuf.Root.fromJSON({
  nested: {
    Request: { fields: { resourceLogs: { rule: "repeated", type: "ResourceLogs", id: 1 } } },
    ResourceLogs: {
      fields: {
        resource: { type: "Resource", id: 1 },
        scopeLogs: { rule: "repeated", type: "ScopeLogs", id: 2 },
      },
    },
    Resource: { fields: { attributes: { rule: "repeated", type: "KeyValue", id: 1 } } },
    ScopeLogs: {
      fields: {
        scope: { type: "Scope", id: 1 },
        logRecords: { rule: "repeated", type: "LogRecord", id: 2 },
      },
    },
    Scope: { fields: { name: { type: "string", id: 1 } } },
    LogRecord: {
      fields: {
        timeUnixNano: { type: "fixed64", id: 1 },
        severityNumber: { type: "int32", id: 2 },
        severityText: { type: "string", id: 3 },
        body: { type: "AnyValue", id: 5 },
        attributes: { rule: "repeated", type: "KeyValue", id: 6 },
        traceId: { type: "bytes", id: 9 },
        spanId: { type: "bytes", id: 10 },
        observedTimeUnixNano: { type: "fixed64", id: 11 },
        eventName: { type: "string", id: 12 },
      },
    },
    KeyValue: { fields: { key: { type: "string", id: 1 }, value: { type: "AnyValue", id: 2 } } },
    AnyValue: {
      oneofs: {
        value: {
          oneof: [
            "stringValue",
            "boolValue",
            "intValue",
            "doubleValue",
            "arrayValue",
            "kvlistValue",
            "bytesValue",
          ],
        },
      },
      fields: {
        stringValue: { type: "string", id: 1 },
        boolValue: { type: "bool", id: 2 },
        intValue: { type: "int64", id: 3 },
        doubleValue: { type: "double", id: 4 },
        arrayValue: { type: "ArrayValue", id: 5 },
        kvlistValue: { type: "KeyValueList", id: 6 },
        bytesValue: { type: "bytes", id: 7 },
      },
    },
    ArrayValue: { fields: { values: { rule: "repeated", type: "AnyValue", id: 1 } } },
    KeyValueList: { fields: { values: { rule: "repeated", type: "KeyValue", id: 1 } } },
    Response: { fields: { partialSuccess: { type: "PartialSuccess", id: 1 } } },
    PartialSuccess: {
      fields: { rejectedLogRecords: { type: "int64", id: 1 }, errorMessage: { type: "string", id: 2 } },
    },
    Status: { fields: { code: { type: "int32", id: 1 }, message: { type: "string", id: 2 } } },
  },
});
root.resolveAll();
const resourceType = root.lookupType("Resource");
const scopeType = root.lookupType("Scope");
const recordType = root.lookupType("LogRecord");
const field = { resourceLogs: 1, resource: 1, scopeLogs: 2, scope: 1, logRecords: 2 };
/** Levels of messages in a record. The decoder allows one more. */
const levelsMax = 99;

/**
 * Reads a request. Its records have their JSON form, with trace and span ids in hexadecimal. Each is decoded when it is
 * asked for: two bytes can become an object of a kilobyte. Throws `body-malformed`, and `body-too-large` if the request
 * has too many records, or one of them or all else too many values.
 */
export async function decodeRequest(bytes: Uint8Array): Promise<Iterable<RecordGroup>> {
  try {
    await check(bytes);
  } catch (error) {
    throw asProblem(error);
  }
  return groupsOf(bytes);
}

/** Counts records and values before they are decoded, and finds where messages are cut off; in turns. */
async function check(request: Uint8Array): Promise<void> {
  const turns = new Turns("strangers");
  let records = 0;
  /** Resources, scopes and unknown fields, which are read at a stretch. */
  let others = 0;
  const countOther = (values: number) => {
    others += values;
    if (others > limits.foreignPieceValues)
      throw tooLarge("A request", limits.foreignPieceValues, "values besides its records");
  };
  for (const logs of fieldsOf(request)) {
    countOther(1);
    if (logs.id !== field.resourceLogs || logs.message === null) continue;
    for (const inLogs of fieldsOf(logs.message)) {
      countOther(1);
      if (inLogs.message === null) continue;
      if (inLogs.id === field.resource) countOther(valuesIn(resourceType, inLogs.message));
      if (inLogs.id !== field.scopeLogs) continue;
      for (const { id, message } of fieldsOf(inLogs.message)) {
        if (id === field.logRecords && message !== null) {
          if (++records > limits.foreignItems) throw tooLarge("A request", limits.foreignItems, "records");
          valuesIn(recordType, message);
        } else countOther(id === field.scope && message !== null ? 1 + valuesIn(scopeType, message) : 1);
        if (turns.isOver) await turns.next();
      }
    }
  }
}

function* groupsOf(bytes: Uint8Array): Generator<RecordGroup> {
  for (const logs of messagesIn(bytes, field.resourceLogs)) {
    const resource = lastOf(resourceType, messagesIn(logs, field.resource));
    for (const scopeLogs of messagesIn(logs, field.scopeLogs)) {
      const scope = lastOf(scopeType, messagesIn(scopeLogs, field.scope));
      yield { resource, scope, records: recordsOf(scopeLogs) };
    }
  }
}

function* recordsOf(scopeLogs: Uint8Array): Generator<SentRecord> {
  for (const bytes of messagesIn(scopeLogs, field.logRecords)) {
    const record = objectFrom(recordType, bytes);
    for (const id of ["traceId", "spanId"]) {
      if (typeof record[id] === "string") record[id] = Buffer.from(record[id], "base64").toString("hex");
    }
    yield { record, values: valuesIn(recordType, bytes) };
  }
}

/** The last one counts, as for each field that isn't repeated. */
function lastOf(type: protobuf.Type, messages: Iterable<Uint8Array>): JsonObject {
  let last: Uint8Array | null = null;
  for (const message of messages) last = message;
  return last ? objectFrom(type, last) : {};
}

function objectFrom(type: protobuf.Type, bytes: Uint8Array): JsonObject {
  try {
    return type.toObject(type.decode(bytes), { longs: String, bytes: String });
  } catch (error) {
    throw asProblem(error);
  }
}

/** The messages of a field. */
function* messagesIn(bytes: Uint8Array, id: number): Generator<Uint8Array> {
  for (const each of fieldsOf(bytes)) if (each.id === id && each.message !== null) yield each.message;
}

/** The fields of a message, and the bytes of those that are messages, texts or bytes. Throws `RangeError`. */
function* fieldsOf(bytes: Uint8Array): Generator<{ id: number; message: Uint8Array | null }> {
  const reader = protobuf.Reader.create(bytes);
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    const hasBytes = (tag & 7) === 2;
    const message = hasBytes ? reader.bytes() : null;
    if (!hasBytes) reader.skipType(tag & 7);
    yield { id: tag >>> 3, message };
  }
}

/** Counts the values of a message. Throws `body-too-large`, and `RangeError` for what isn't Protocol Buffers. */
function valuesIn(type: protobuf.Type, bytes: Uint8Array): number {
  const reader = protobuf.Reader.create(bytes);
  let values = 0;
  count(type, bytes.length, 0);
  return values;

  function count(type: protobuf.Type, end: number, level: number): void {
    if (level > levelsMax) throw new RangeError(`a record has more than ${levelsMax} levels`);
    while (reader.pos < end) {
      const tag = reader.uint32();
      const inner = type.fieldsById[tag >>> 3]?.resolvedType;
      if (++values > limits.foreignPieceValues)
        throw tooLarge("A log record", limits.foreignPieceValues, "values");
      if (inner instanceof protobuf.Type && (tag & 7) === 2) {
        const length = reader.uint32();
        if (reader.pos + length > end) throw new RangeError("a field is longer than its message");
        count(inner, reader.pos + length, level + 1);
      } else reader.skipType(tag & 7);
    }
  }
}

/** A fault of the decoder as a problem. */
function asProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  return problem("body-malformed", {
    detail: `The body is not a valid ExportLogsServiceRequest in Protocol Buffers: ${(error as Error).message}.`,
  });
}

function tooLarge(what: string, max: number, of: string): ProblemError {
  return problem("body-too-large", {
    detail: `${what} can have at most ${max.toLocaleString("en")} ${of}.`,
  });
}

/** Encodes a message from its JSON form. */
export function encode(type: "Request" | "Response" | "Status", message: object): Uint8Array<ArrayBuffer> {
  const ofType = root.lookupType(type);
  return new Uint8Array(ofType.encode(ofType.fromObject(message)).finish());
}
