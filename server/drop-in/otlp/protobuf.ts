import protobuf from "protobufjs/light.js";
import { problem } from "../../problems.ts";

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
const requestType = root.lookupType("Request");

/** Decodes a request into its JSON form, with trace and span ids in hexadecimal. Throws `body-malformed`. */
export function decodeRequest(bytes: Uint8Array): unknown {
  try {
    const request = requestType.toObject(requestType.decode(bytes), { longs: String, bytes: String });
    for (const { scopeLogs = [] } of request.resourceLogs ?? []) {
      for (const { logRecords = [] } of scopeLogs) for (const record of logRecords) idsToHex(record);
    }
    return request;
  } catch (error) {
    throw problem("body-malformed", {
      detail: `The body is not a valid ExportLogsServiceRequest in Protocol Buffers: ${(error as Error).message}.`,
    });
  }
}

function idsToHex(record: { traceId?: string; spanId?: string }): void {
  for (const id of ["traceId", "spanId"] as const) {
    if (record[id]) record[id] = Buffer.from(record[id], "base64").toString("hex");
  }
}

export function encode(type: "Response" | "Status", message: object): Uint8Array<ArrayBuffer> {
  return new Uint8Array(root.lookupType(type).encode(message).finish());
}
