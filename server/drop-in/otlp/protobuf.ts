import protobuf from "protobufjs/light.js";
import { limits } from "../../core/limits.ts";
import { ProblemError, problem } from "../../core/problems.ts";
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
const requestType = root.lookupType("Request");
const resourceType = root.lookupType("Resource");
const scopeType = root.lookupType("Scope");
const recordType = root.lookupType("LogRecord");
const field = { resourceLogs: 1, resource: 1, scopeLogs: 2, scope: 1, logRecords: 2 };
/** Levels of messages in a request. The decoder allows as many in a record. */
const levelsMax = 100;

/**
 * Reads a request. Its records have their JSON form, with trace and span ids in hexadecimal. Each is decoded when it is
 * asked for: two bytes can become an object of a kilobyte. Throws `body-malformed`, and `body-too-large` if the request
 * has too many records or one of them too many values.
 */
export function decodeRequest(bytes: Uint8Array): Iterable<RecordGroup> {
  return orMalformed(() => {
    new Counter().count(bytes);
    return groupsOf(bytes);
  });
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
    yield { record, values: new Counter().countRecord(bytes) };
  }
}

/** The last one counts, as for each field that isn't repeated. */
function lastOf(type: protobuf.Type, messages: Iterable<Uint8Array>): JsonObject {
  const last = [...messages].at(-1);
  return last ? objectFrom(type, last) : {};
}

function objectFrom(type: protobuf.Type, bytes: Uint8Array): JsonObject {
  return orMalformed(() => type.toObject(type.decode(bytes), { longs: String, bytes: String }));
}

/** The bytes of a field's messages. */
function* messagesIn(bytes: Uint8Array, id: number): Generator<Uint8Array> {
  const reader = protobuf.Reader.create(bytes);
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag >>> 3 === id && (tag & 7) === 2) yield reader.bytes();
    else reader.skipType(tag & 7);
  }
}

function orMalformed<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (error instanceof ProblemError) throw error;
    throw problem("body-malformed", {
      detail: `The body is not a valid ExportLogsServiceRequest in Protocol Buffers: ${(error as Error).message}.`,
    });
  }
}

/** Counts records and their values before they are decoded, and finds where messages are cut off. */
class Counter {
  #values = 0;
  #records = 0;

  /** Throws `body-too-large`, and `RangeError` for what isn't Protocol Buffers. */
  count(request: Uint8Array): void {
    this.#count(protobuf.Reader.create(request), requestType, request.length, 0);
  }

  /** How many values a record has. */
  countRecord(record: Uint8Array): number {
    this.#count(protobuf.Reader.create(record), recordType, record.length, 0);
    return this.#values;
  }

  #count(reader: protobuf.Reader, type: protobuf.Type, end: number, level: number): void {
    while (reader.pos < end) {
      const tag = reader.uint32();
      const inner = type.fieldsById[tag >>> 3]?.resolvedType;
      if (inner === recordType || type === requestType) this.#values = 0;
      if (inner === recordType) {
        if (++this.#records > limits.foreignItems)
          throw tooLarge("A request", limits.foreignItems, "records");
      } else if (++this.#values > limits.foreignPieceValues)
        throw tooLarge("A log record", limits.foreignPieceValues, "values");
      if (inner instanceof protobuf.Type && (tag & 7) === 2) {
        if (level >= levelsMax) throw new RangeError(`it has more than ${levelsMax} levels`);
        const length = reader.uint32();
        if (reader.pos + length > end) throw new RangeError("a field is longer than its message");
        this.#count(reader, inner, reader.pos + length, level + 1);
      } else reader.skipType(tag & 7);
    }
  }
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
