/** What all drop-in endpoints have in common: compressed bodies, limits, and what becomes of content they can't map. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { limits } from "../core/limits.ts";
import { rawRequest } from "../testing/raw-request.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
let cookie: string;
beforeAll(async () => {
  app = await testApp();
  cookie = await app.signIn();
});
afterAll(() => app[Symbol.asyncDispose]());

type Endpoint = {
  /** Its name in the details of problems. */
  wire: string;
  path: (key: string) => string;
  /** A body with one event of this name and user. */
  body: (name: string, userId: string) => object;
  /** Whether a user can't be named. */
  isWithoutUsers?: true;
};

const log = (name: string, userId: string) => ({
  body: { stringValue: name },
  attributes: [{ key: "user.id", value: { stringValue: userId } }],
});
const endpoints: Endpoint[] = [
  {
    wire: "Segment",
    path: () => "/v1/batch",
    body: (event, userId) => ({ batch: [{ type: "track", event, userId }] }),
  },
  { wire: "Segment", path: () => "/v1/track", body: (event, userId) => ({ event, userId }) },
  { wire: "PostHog", path: () => "/batch/", body: (event, id) => ({ batch: [{ event, distinct_id: id }] }) },
  { wire: "PostHog", path: () => "/e/", body: (event, id) => ({ event, distinct_id: id }) },
  {
    wire: "OpenTelemetry",
    path: () => "/v1/logs",
    body: (name, userId) => ({ resourceLogs: [{ scopeLogs: [{ logRecords: [log(name, userId)] }] }] }),
  },
  {
    wire: "CloudEvents",
    path: () => "/cloudevents",
    body: (type, userid) => ({ specversion: "1.0", id: crypto.randomUUID(), source: "/s", type, userid }),
  },
  {
    wire: "LogSnag",
    path: () => "/v1/log",
    body: (event, user_id) => ({ channel: "logsnag", event, user_id }),
  },
  { wire: "Slack", path: (key) => `/slack/${key}`, body: (text) => ({ text }), isWithoutUsers: true },
];

function send(
  { path }: Endpoint,
  body: string | Uint8Array<ArrayBuffer>,
  { key = app.key, ...headers }: Record<string, string> = {},
): Promise<Response> {
  const init = { method: "POST", headers: { "content-type": "application/json", ...headers }, body };
  return app.request(path(key), init, key);
}

test("an event with 200,000 properties is refused before it is parsed, and kept", async () => {
  const data = Object.fromEntries(
    Array.from({ length: 200_000 }, (_, index) => [`property ${index}`, index]),
  );
  const body = JSON.stringify({ specversion: "1.0", id: "wide", source: "/s", type: "wide", data });
  const response = await app.request("/cloudevents", { method: "POST", body });
  expect([response.status, await response.json()]).toMatchObject([
    422,
    { detail: "CloudEvents: The JSON has an object with more than 2,000 members." },
  ]);
  expect((await rejectedEvents())[0]).toMatchObject({ body: expect.stringContaining('"wide"') });
});

test("slow uploads without a key keep nobody out who has one", async () => {
  const large = "x".repeat(2 * limits.requestBytes);
  /** Sends the beginning of a body, and nothing more. */
  const stall = async (path: string, bytes: number, start: string, headers = "") => {
    const upload = await rawRequest(
      app.address,
      `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\n${headers}\r\n`,
      start,
    );
    return uploads.use(upload);
  };
  using uploads = new DisposableStack();
  const first = await stall("/v1/batch", limits.foreignBatchBytes, `{"batch":["${large}`);
  for (let n = 0; n < 7; n++) await stall("/v1/batch", limits.foreignBatchBytes, `{"batch":["${large}`);
  await stall("/api/events", limits.batchBytes, `["${large}`, `x-api-key: ${app.key}\r\n`);
  const event = (name: string) => ({ type: "track", event: name, userId: "u1", properties: { large } });
  // With the key in a header, and in the body before the events.
  const inHeader = { method: "POST", body: JSON.stringify({ batch: [event("beside strangers")] }) };
  expect((await app.request("/v1/batch", inHeader)).status).toBe(200);
  const inBody = JSON.stringify({ writeKey: app.key, batch: [event("beside strangers")] });
  expect((await app.request("/v1/batch", { method: "POST", body: inBody }, null)).status).toBe(200);
  // These didn't wait until the server gave up on the others.
  expect(first.isClosed).toBe(false);
  expect(await app.list("?name=beside%20strangers")).toHaveLength(2);
});

type Rejected = { body: string; problem: { detail: string } }[];
const rejectedEvents = async () =>
  ((await (await app.request("/api/events/rejected")).json()) as { rejected: Rejected }).rejected;

async function newKey(body: object): Promise<string> {
  const response = await app.request("/api/keys?project=default", {
    method: "POST",
    headers: { cookie, origin: app.address, "content-type": "application/json" },
    body: JSON.stringify({ name: "limited", ...body }),
  });
  return ((await response.json()) as { secret: string }).secret;
}

for (const endpoint of endpoints) {
  const { wire, path, body, isWithoutUsers } = endpoint;
  describe(path("KEY"), () => {
    test("takes gzip, with and without a header that says so", async () => {
      for (const headers of [{ "content-encoding": "gzip" }, {}] as Record<string, string>[]) {
        const name = `gzip ${path("KEY")} ${headers["content-encoding"]}`;
        const { status } = await send(endpoint, gzipSync(JSON.stringify(body(name, "u1"))), headers);
        expect([name, status < 300]).toEqual([name, true]);
        expect(await app.list(`?name=${encodeURIComponent(name)}`)).toHaveLength(1);
      }
    });

    test("refuses a body that is too large when it is decompressed, and other encodings", async () => {
      const large = gzipSync(Buffer.alloc(limits.foreignBatchBytes + 1, "x"));
      expect((await send(endpoint, large, { "content-encoding": "gzip" })).status).toBe(413);
      expect((await send(endpoint, "x", { "content-encoding": "br" })).status).toBe(415);
    });

    test("keeps what it can't read or map as a rejected event", async () => {
      const text = `{"broken": "${path("KEY")}"`;
      expect((await send(endpoint, text)).status).toBe(400);
      const broken = (await rejectedEvents()).find((rejected) => rejected.body === text)!;
      expect(broken.problem.detail).toStartWith(`${wire}: `);
      if (isWithoutUsers) return;
      const name = `unmapped ${path("KEY")}`;
      expect((await send(endpoint, JSON.stringify(body(name, "x".repeat(201))))).status).toBe(422);
      const unmapped = (await rejectedEvents()).find((rejected) => rejected.body.includes(name))!;
      expect(unmapped.problem.detail).toStartWith(`${wire}: "userId" must have at most 200 characters`);
    });

    test("has the rate limit of the key", async () => {
      const key = await newKey({ eventsPerSecond: 1 });
      // A window takes ten events, and the requests can fall into two.
      const sent = Array.from({ length: 25 }, () =>
        send(endpoint, JSON.stringify(body("limited", "u1")), { key }),
      );
      const limited = (await Promise.all(sent)).filter(({ status }) => status === 429);
      expect(limited.length).toBeGreaterThanOrEqual(5);
      expect(limited[0]!.headers.get("retry-after")).toMatch(/^\d+$/);
    });

    test("refuses a key that only reads", async () => {
      const key = await newKey({ scopes: ["read"] });
      expect((await send(endpoint, JSON.stringify(body("refused", "u1")), { key })).status).toBe(403);
    });
  });
}
