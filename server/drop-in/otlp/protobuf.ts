import protobuf from "protobufjs/light.js";
import { limits } from "../../limits.ts";
import { ProblemError, problem } from "../../problems.ts";

/**
 * What we read of opentelemetry/proto/logs/v1/logs.proto and common/v1/common.proto, and google/rpc/status.proto, with
 * their field numbers. Unknown fields are skipped, as Protocol Buffers intend.
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
const recordType = root.lookupType("LogRecord");
/** The decoder allows fewer levels. */
const levelsMax = 200;

/**
 * Decodes a request into its JSON form, with trace and span ids in hexadecimal. Throws `body-malformed`, and
 * `body-too-large` if it has too many records or values.
 */
export function decodeRequest(bytes: Uint8Array): unknown {
  try {
    new Counter(bytes).count(requestType, bytes.length, 0);
    const request = requestType.toObject(requestType.decode(bytes), { longs: String, bytes: String });
    for (const { scopeLogs = [] } of request.resourceLogs ?? []) {
      for (const { logRecords = [] } of scopeLogs) for (const record of logRecords) idsToHex(record);
    }
    return request;
  } catch (error) {
    if (error instanceof ProblemError) throw error;
    throw problem("body-malformed", {
      detail: `The body is not a valid ExportLogsServiceRequest in Protocol Buffers: ${(error as Error).message}.`,
    });
  }
}

/** Counts what a message holds before it is decoded: two bytes can become an object of a kilobyte. */
class Counter {
  readonly #reader: protobuf.Reader;
  #values = 0;
  #records = 0;

  constructor(bytes: Uint8Array) {
    this.#reader = protobuf.Reader.create(bytes);
  }

  /** Throws `body-too-large`, and `RangeError` for what isn't Protocol Buffers. */
  count(type: protobuf.Type, end: number, level: number): void {
    const reader = this.#reader;
    while (reader.pos < end) {
      const tag = reader.uint32();
      const inner = type.fieldsById[tag >>> 3]?.resolvedType;
      if (++this.#values > limits.foreignBatchValues) throw tooLarge(limits.foreignBatchValues, "values");
      if (inner === recordType && ++this.#records > limits.batchEvents)
        throw tooLarge(limits.batchEvents, "records");
      if (inner instanceof protobuf.Type && (tag & 7) === 2 && level < levelsMax) {
        const length = reader.uint32();
        if (reader.pos + length > end) throw new RangeError("a field is longer than its message");
        this.count(inner, reader.pos + length, level + 1);
      } else reader.skipType(tag & 7);
    }
  }
}

function tooLarge(max: number, of: string): ProblemError {
  return problem("body-too-large", {
    detail: `A request can have at most ${max.toLocaleString("en")} ${of}.`,
  });
}

function idsToHex(record: { traceId?: string; spanId?: string }): void {
  for (const id of ["traceId", "spanId"] as const) {
    if (record[id]) record[id] = Buffer.from(record[id], "base64").toString("hex");
  }
}

export function encode(type: "Response" | "Status", message: object): Uint8Array<ArrayBuffer> {
  return new Uint8Array(root.lookupType(type).encode(message).finish());
}
