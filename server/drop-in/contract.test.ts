/** Calls the drop-in endpoints, and compares each response with the API description. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createSecret } from "../auth/key-secret.ts";
import { type Call, type Contract, readContract } from "../testing/contract.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
let contract: Contract;
beforeAll(async () => {
  app = await testApp();
  contract = await readContract(app);
});
afterAll(() => app[Symbol.asyncDispose]());

const call = (operation: string, expected: number, values: Call) =>
  contract.call(app, {}, operation, expected, values);
const key = { as: "key" } as const;

test("Segment", async () => {
  const track = { type: "track", userId: "u1", event: "Order Completed", properties: { total: 49 } };
  for (const path of ["/v1/batch", "/v1/b", "/beacon/v1/batch"])
    await call(`POST ${path}`, 200, { ...key, body: { batch: [track] } });
  for (const path of ["track", "t"]) await call(`POST /v1/${path}`, 200, { ...key, body: track });
  for (const path of ["page", "p", "screen"])
    await call(`POST /v1/${path}`, 200, { ...key, body: { userId: "u1", name: "Home" } });
  for (const path of ["identify", "i", "group", "g", "alias", "a"])
    await call(`POST /v1/${path}`, 200, { ...key, body: { userId: "u1", groupId: "g1", previousId: "a1" } });
  await call("POST /v1/track", 401, { as: "nobody", body: track });
  await call("POST /v1/track", 422, { ...key, body: { userId: "u1" } });
  await call("POST /v1/identify", 422, { ...key, body: { user_id: {} } });
});

test("PostHog", async () => {
  const capture = { event: "signed up", distinct_id: "u1", properties: { plan: "pro" } };
  for (const path of ["/batch/", "/batch"])
    await call(`POST ${path}`, 200, { as: "nobody", body: { api_key: app.key, batch: [capture] } });
  for (const path of ["/e/", "/i/v0/e/", "/capture/"])
    await call(`POST ${path}`, 200, { as: "nobody", body: { api_key: app.key, ...capture } });
  for (const path of ["/flags/", "/flags", "/decide/", "/decide"])
    await call(`POST ${path}`, 200, { as: "nobody", body: { api_key: app.key } });
  const params = { key: createSecret("publishable") };
  for (const path of ["config", "config.js"]) {
    await call(`GET /array/{key}/${path}`, 200, { as: "nobody", params });
    await call(`GET /array/{key}/${path}`, 404, { as: "nobody", params: { key: "phc_old" } });
  }
});

test("OpenTelemetry", async () => {
  const record = (value: string, userId = "u1") => ({
    body: { stringValue: value },
    attributes: [{ key: "user.id", value: { stringValue: userId } }],
  });
  const logs = (...logRecords: object[]) => ({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
  await call("POST /v1/logs", 200, { ...key, body: logs(record("a")) });
  await call("POST /v1/logs", 200, { ...key, body: logs(record("a"), record("b", "x".repeat(201))) });
  await call("POST /v1/logs", 422, { ...key, body: logs(record("b", "x".repeat(201))) });
});

test("Slack", async () => {
  const slack = { as: "nobody", params: { key: app.key } } as const;
  await call("POST /slack/{key}", 200, { ...slack, body: { text: "Deployed" } });
  await call("POST /slack/{key}", 400, { ...slack, body: {} });
  await call("POST /slack/{key}", 401, { ...slack, params: { key: "wrong" }, body: { text: "Deployed" } });
});

test("CloudEvents", async () => {
  const event = { specversion: "1.0", id: "1", source: "/shop", type: "order.completed" };
  await call("POST /cloudevents", 201, { ...key, body: event });
  const batch = { "content-type": "application/cloudevents-batch+json" };
  await call("POST /cloudevents", 201, { ...key, headers: batch, body: [event] });
  await call("POST /cloudevents", 207, { ...key, headers: batch, body: [event, {}] });
  await call("POST /cloudevents", 422, { ...key, headers: batch, body: [{}] });
});

test("LogSnag", async () => {
  await call("POST /v1/log", 200, { ...key, body: { channel: "payments", event: "Paid" } });
  await call("POST /v1/log", 422, { ...key, body: { channel: "payments" } });
  await call("POST /v1/insight", 200, { ...key, body: { title: "Users", value: 5 } });
  await call("PATCH /v1/insight", 200, { ...key, body: { title: "Users", value: { $inc: 1 } } });
});

test("every operation has succeeded once", () => {
  expect(contract.withoutSuccess().filter(({ tag }) => tag === "Drop-in endpoints")).toEqual([]);
});
