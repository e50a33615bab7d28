import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { OTLPLogExporter as JsonExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPLogExporter as ProtobufExporter } from "@opentelemetry/exporter-logs-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import protobuf from "protobufjs/light.js";
import { limits } from "../../core/limits.ts";
import { type TestApp, testApp } from "../../testing/test-app.ts";
import { itemsOf } from "./logs.ts";
import { decodeRequest, encode } from "./protobuf.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

for (const [encoding, Exporter] of [
  ["json", JsonExporter],
  ["protobuf", ProtobufExporter],
] as const) {
  test(`the exporter for ${encoding}, with and without gzip`, async () => {
    for (const compression of ["none", "gzip"] as const) {
      const service = `shop-${encoding}-${compression}`;
      const exporter = new Exporter({
        url: `${app.address}/v1/logs`,
        headers: { authorization: `Bearer ${app.key}` },
        compression: compression as NonNullable<ConstructorParameters<typeof Exporter>[0]>["compression"] &
          string,
      });
      const provider = new LoggerProvider({
        resource: resourceFromAttributes({
          "service.name": service,
          "deployment.environment.name": "prod",
          "host.name": "h",
        }),
        processors: [new BatchLogRecordProcessor({ exporter })],
      });
      const logger = provider.getLogger("checkout", "2.0");
      logger.emit({
        eventName: "order.completed",
        severityNumber: 9,
        severityText: "INFO",
        body: "Order completed",
        timestamp: new Date("2026-01-02T03:04:05.678Z"),
        attributes: {
          "user.id": "u1",
          total: 49.5,
          count: 3,
          paid: true,
          list: ["a", "b"],
          nested: { deep: { er: 1 } },
          bytes: new Uint8Array([1, 2]),
          largest: Number.MAX_SAFE_INTEGER,
          negative: -5,
        },
      });
      logger.emit({ body: "first line\nsecond line" });
      logger.emit({ severityNumber: 17, body: { msg: "structured", n: 1 } });
      logger.emit({ severityNumber: 13 });
      logger.emit({ body: "same", attributes: { "event.name": "legacy.name" } });
      await provider.shutdown();

      const events = await app.list(`?channel=${service}`);
      const named = (name: string) => events.find((event) => event.name === name)!;
      expect(events).toHaveLength(5);
      expect(named("order.completed")).toMatchObject({
        userId: "u1",
        description: "Order completed",
        createdAt: "2026-01-02T03:04:05.678Z",
      });
      expect(named("order.completed").tags).toEqual({
        severity: "INFO",
        total: "49.5",
        count: "3",
        paid: "true",
        list: '["a","b"]',
        "nested.deep.er": "1",
        bytes: "AQI=",
        largest: "9007199254740991",
        negative: "-5",
        scope: "checkout",
        "deployment.environment.name": "prod",
      });
      expect(named("first line").description).toBe("first line\nsecond line");
      expect(named("structured").tags).toMatchObject({
        severity: "ERROR",
        "body.msg": "structured",
        "body.n": "1",
      });
      expect(named("WARN").tags.severity).toBe("WARN");
      expect(named("legacy.name").description).toBe("same");
    }
  });
}

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const requestOf = (...logRecords: object[]) => ({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
const send = (
  body: string | Uint8Array<ArrayBuffer>,
  type = "application/json",
  key: string | null = app.key,
) => app.request("/v1/logs?channel=logs", { method: "POST", headers: { "content-type": type }, body }, key);

test("a record with log.record.uid is stored once, others as often as they are sent", async () => {
  const record = { timeUnixNano: "1767323045678000000", body: { stringValue: "unique" } };
  const unique = { ...record, attributes: [text("log.record.uid", "01H")] };
  const twice = { ...record, body: { stringValue: "twice" } };
  for (let attempt = 0; attempt < 2; attempt++) {
    const response = await send(JSON.stringify(requestOf(unique, twice)));
    expect([response.status, await response.json()]).toEqual([200, {}]);
  }
  expect(await app.list("?channel=logs&name=unique")).toHaveLength(1);
  expect(await app.list("?channel=logs&name=twice")).toHaveLength(2);
});

test("a partial success says how many records were rejected, in the encoding of the request", async () => {
  const tooLong = { body: { stringValue: "rejected" }, attributes: [text("user.id", "x".repeat(201))] };
  const response = await send(JSON.stringify(requestOf(tooLong, { body: { stringValue: "fine" } })));
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({
    partialSuccess: {
      rejectedLogRecords: 1,
      errorMessage: expect.stringContaining("at most 200 characters"),
    },
  });
  expect((await send(JSON.stringify(requestOf(tooLong)))).status).toBe(422);
});

test("problems are a Status in the encoding of the request", async () => {
  const json = await send("{}", "application/json", "tdg_sk_x");
  expect([json.status, await json.json()]).toEqual([
    401,
    expect.objectContaining({ message: expect.stringContaining("not a Tidings API key") }),
  ]);
  const malformed = await send("\u0007\u0007", "application/x-protobuf");
  expect([malformed.status, malformed.headers.get("content-type")]).toEqual([400, "application/x-protobuf"]);
  expect(await malformed.text()).toContain("not a valid ExportLogsServiceRequest");
  expect((await send("{}", "application/x-protobuf", null)).status).toBe(401);
});

test("a request with more records than an array may have is recorded whole", async () => {
  const records = Array.from({ length: limits.batchEvents + 5 }, () => ({ body: { stringValue: "many" } }));
  const response = await send(JSON.stringify(requestOf(...records)));
  expect([response.status, await response.json()]).toEqual([200, {}]);
  expect(await app.list("?channel=logs&name=many")).toHaveLength(limits.batchEvents + 5);
});

test("what a key's rate limit doesn't allow of a request is kept, and the client told how many", async () => {
  const created = await app.request("/api/keys?project=default", {
    method: "POST",
    headers: { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" },
    body: JSON.stringify({ name: "limited", eventsPerSecond: 1 }),
  });
  const { secret } = (await created.json()) as { secret: string };
  const records = Array.from({ length: 25 }, (_, index) => ({ body: { stringValue: `slow ${index}` } }));
  const response = await send(JSON.stringify(requestOf(...records)), "application/json", secret);
  // The ten of a window, and ten more if the request falls into two.
  const { partialSuccess } = (await response.json()) as {
    partialSuccess: { rejectedLogRecords: number; errorMessage: string };
  };
  expect(response.status).toBe(200);
  expect(partialSuccess.errorMessage).toContain("rate limit");
  const stored = await app.list("?channel=logs&q=slow");
  expect([10, 20]).toContain(stored.length);
  expect(partialSuccess.rejectedLogRecords).toBe(25 - stored.length);
  const kept = await (await app.request("/api/events/rejected")).text();
  for (let index = stored.length; index < 25; index++) expect(kept).toContain(`slow ${index}`);
});

describe("Protocol Buffers", () => {
  test("integers of 64 bits are exact", async () => {
    const field = (id: number, bytes: number[]) => [(id << 3) | 2, bytes.length, ...bytes];
    const { Writer } = protobuf;
    const integer = [
      ...new Writer()
        .uint32((3 << 3) | 0)
        .int64("9007199254740993")
        .finish(),
    ];
    const attribute = [...field(1, [...Buffer.from("big")]), ...field(2, integer)];
    const record = field(6, attribute);
    const request = new Uint8Array(field(1, field(2, field(2, record))));
    const [item] = itemsOf(await decodeRequest(request), null, 0);
    expect(item!.event!.tags).toEqual({ big: "9007199254740993" });
  });

  test("a resource is that of its records, wherever it stands", async () => {
    const text = (value: string) => ({ stringValue: value });
    const named = (name: string) => ({ attributes: [{ key: "service.name", value: text(name) }] });
    const request = encode("Request", {
      resourceLogs: ["shop", "blog"].map((name) => ({
        resource: named(name),
        scopeLogs: [{ scope: { name: `${name} scope` }, logRecords: [{ body: text("Started") }] }],
      })),
    });
    const channels = async (bytes: Uint8Array) =>
      [...itemsOf(await decodeRequest(bytes), null, 0)].map(({ event }) => [event!.channel, event!.tags]);
    const expected = [
      ["shop", { scope: "shop scope" }],
      ["blog", { scope: "blog scope" }],
    ];
    expect(await channels(request)).toEqual(expected);
    // Each of the two with its fields the other way round, as another encoder may write them.
    const half = request.length / 2;
    const turned = [0, half].flatMap((start) => {
      const logs = request.subarray(start + 2, start + half);
      const resourceEnd = 2 + logs[1]!;
      return [
        ...request.subarray(start, start + 2),
        ...logs.subarray(resourceEnd),
        ...logs.subarray(0, resourceEnd),
      ];
    });
    expect(await channels(new Uint8Array(turned))).toEqual(expected);
  });

  test("records with more values than fit into memory at once are recorded, in pieces", async () => {
    const attributes = Array.from({ length: 40 }, (_, index) => ({
      key: `key${index}`,
      value: { stringValue: "v" },
    }));
    const request = encode("Request", {
      resourceLogs: [
        {
          scopeLogs: [{ logRecords: Array(4_000).fill({ eventName: "Wide", attributes }) }],
        },
      ],
    });
    const response = await send(request, "application/x-protobuf");
    expect([response.status, await response.text()]).toEqual([200, ""]);
    const counted = await app.request("/api/events/count?name=Wide");
    expect(await counted.json()).toMatchObject({ count: 4_000 });
  });

  test("values nested without end are refused", async () => {
    let value: number[] = [];
    const varint = (length: number) => (length < 128 ? [length] : [(length & 127) | 128, length >> 7]);
    while (value.length < 10_000) {
      value = [(1 << 3) | 2, ...varint(value.length), ...value];
      value = [(5 << 3) | 2, ...varint(value.length), ...value];
    }
    const wrapped = [(5 << 3) | 2, ...varint(value.length), ...value];
    const wrap = (id: number, bytes: number[]) => [(id << 3) | 2, ...varint(bytes.length), ...bytes];
    const request = new Uint8Array(wrap(1, wrap(2, wrap(2, wrapped))));
    await expect(decodeRequest(request)).rejects.toThrow("body-malformed");
  });
});

test("a small body that would become a large object is refused before it is decoded", async () => {
  const field = (id: number, ...bytes: number[]) => [(id << 3) | 2, bytes.length, ...bytes];
  const send = (bytes: Uint8Array<ArrayBuffer>) =>
    app.request("/v1/logs", {
      method: "POST",
      headers: { "content-type": "application/x-protobuf" },
      body: bytes,
    });
  const repeated = (count: number, bytes: number[]) => {
    const length = count * bytes.length;
    const size = (value: number) => [
      (value & 127) | 128,
      ((value >> 7) & 127) | 128,
      ((value >> 14) & 127) | 128,
      value >> 21,
    ];
    const scope = [0x12, ...size(length)];
    const head = [0x0a, ...size(length + scope.length), ...scope];
    return new Uint8Array(Buffer.concat([Buffer.from(head), Buffer.alloc(length, Buffer.from(bytes))]));
  };
  const records = await send(repeated(limits.foreignItems + 1, field(2)));
  expect([records.status, await records.text()]).toEqual([413, expect.stringContaining("100,000 records")]);
  // Each record is small, and what stands between them is not.
  const scopes = Buffer.alloc(2 * 40_000, Buffer.from(field(1)));
  const between = await send(repeated(3, [...scopes, ...field(2)]));
  expect([between.status, await between.text()]).toEqual([
    413,
    expect.stringContaining("besides its records"),
  ]);
  const value = field(6);
  const length = 2 * (limits.foreignPieceValues + 1);
  const head = [0x12, (length & 127) | 128, ((length >> 7) & 127) | 128, length >> 14];
  const record = Buffer.concat([Buffer.from(head), Buffer.alloc(length, Buffer.from(value))]);
  const values = await send(repeated(1, [...record]));
  expect([values.status, await values.text()]).toEqual([413, expect.stringContaining("100,000 values")]);
  await expect(decodeRequest(new Uint8Array([0x0a, 0x7f, 0x12]))).rejects.toThrow("body-malformed");
});
