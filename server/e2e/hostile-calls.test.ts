// @engines sqlite, postgres
// @long
/** Attacks every operation of the API description: none fails inside, none hangs, none tells of another project. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { gzipBomb } from "../testing/hostile.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: Json[];
  const?: Json;
  default?: Json;
  example?: Json;
  properties?: Record<string, Schema>;
  items?: Schema;
  minItems?: number;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
};
type Operation = {
  parameters?: { name: string; in: string }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
};
type Description = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};

/** Everything in the victim's project contains this text. */
const secret = "confidential";
/** Long enough for a machine that is busy: no attack takes more than a second on an idle one. */
const hangMs = 60_000;

const pathValues = [
  "%00",
  "..%2f..%2fetc%2fpasswd",
  "%2e%2e",
  "%ff",
  "%",
  "%ed%a0%80",
  "__proto__",
  "constructor",
  "-1",
  "99999999999999999999",
  "1e3",
  "%F0%9F%92%B0",
  "x".repeat(5_000),
];
const queryValues = [
  "",
  "%00",
  "%ff",
  "%",
  "%ed%a0%80",
  "__proto__",
  "-1",
  "1e999",
  "9007199254740993",
  "0001-01-01T00:00:00Z",
  "9999-12-31T23:59:59.999Z",
  "'%20OR%201=1--",
  "%22%22%22",
  "((((((((((((((((((((((((((((((a",
  `${"(".repeat(5_000)}a`,
  "a*%20".repeat(500),
  "-".repeat(5_000),
  "%0d%0aset-cookie:%20a=b",
  `eyJ${"A".repeat(500)}`,
];
const bodyValues: Json[] = [
  null,
  true,
  0,
  -1,
  0.5,
  1e308,
  9_007_199_254_740_991,
  "",
  "\0",
  "\ud800",
  "\u202egpj.exe",
  "a\r\nSet-Cookie: b=c",
  "__proto__",
  "../../etc/passwd",
  "javascript:alert(1)",
  "{{{{{{{{",
  "99999-99-99T99:99:99Z",
  "x".repeat(60_000),
  [],
  {},
  [[[[]]]],
  Array.from({ length: 2_000 }, (_, index) => String(index)),
  { constructor: { prototype: { polluted: "yes" } } },
  Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`k${index}`, "v"])),
];
const rawBodies: [name: string, body: string | Uint8Array<ArrayBuffer>, headers?: Record<string, string>][] =
  [
    ["nothing", ""],
    ["null", "null"],
    ["a number", "1e999"],
    ["a cut object", '{"a":'],
    ["5,000 brackets", "[".repeat(5_000)],
    ["5,000 objects", '{"a":'.repeat(5_000)],
    ["5,000 brackets that are closed", "[".repeat(5_000) + "]".repeat(5_000)],
    ["a polluting object", '{"__proto__":{"polluted":"yes"},"__proto__":1}'],
    ["2.5 MB of spaces", " ".repeat(2_500_000)],
    ["2.5 MB of text", `{"a":"${"x".repeat(2_500_000)}"}`],
    ["2.5 MB of numbers", `[${"1,".repeat(1_250_000)}1]`],
    ["junk", new Uint8Array(Array.from({ length: 4_096 }, (_, index) => (index * 197 + 13) % 256))],
    ["junk that says it is gzip", new Uint8Array(64).fill(0x1f), { "content-encoding": "gzip" }],
    ["cut gzip", new Uint8Array(gzipSync("[1,2,3]").subarray(0, 12)), { "content-encoding": "gzip" }],
    ["a gzip bomb", gzipBomb(200), { "content-encoding": "gzip" }],
    ["an unknown encoding", "{}", { "content-encoding": "br" }],
    ["a form", "a=1&__proto__=2&payload=%7B", { "content-type": "application/x-www-form-urlencoded" }],
    ["a multipart form", "--a\r\n\r\n", { "content-type": "multipart/form-data; boundary=a" }],
    [
      "XML",
      "<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>",
      { "content-type": "text/xml" },
    ],
    ["no type", "{}", { "content-type": "" }],
  ];

let app: TestApp;
let description: Description;
let victim: { slug: string; secret: string };
let session: Record<string, string>;
const failures: string[] = [];
/** What the parameters of a path are, by the path up to the parameter. Others are `x`. */
const parameters: Record<string, string> = {};

beforeAll(async () => {
  app = await testApp();
  description = (await (await app.request("/openapi.json")).json()) as Description;
  victim = await app.another(`${secret} project`, "victim@example.com");
  const event = { channel: secret, name: secret, userId: secret, tags: { [secret]: secret } };
  expect((await app.post(event, victim.secret)).status).toBe(201);
  session = { cookie: await app.signIn(), origin: app.address };
  await makeTargets();
});
afterAll(() => app[Symbol.asyncDispose]());

/** Makes one of each thing that has a path of its own, so that requests reach what handles it. */
async function makeTargets(): Promise<void> {
  // biome-ignore lint/suspicious/noExplicitAny: only ids and links are read from it
  const make = async (path: string, body: object, headers: object = session): Promise<any> => {
    const response = await fetch(`${app.address}${path}`, {
      method: "POST",
      headers: { ...json, ...headers },
      body: JSON.stringify(body),
    });
    expect(`${path} ${response.status}`).toBe(`${path} 201`);
    return response.json();
  };
  const last = (url: string) => new URL(url).pathname.split("/").at(-1)!;
  const { event } = await make(
    "/api/events",
    { channel: "own", name: "own", userId: "x" },
    { "x-api-key": app.key },
  );
  const place = { x: 0, y: 0, w: 6, h: 4 };
  const tiles = [{ id: "x", type: "number", ...place }];
  const { board } = await make("/api/boards", { name: "Own", tiles });
  const { link } = await make(`/api/boards/${board.id}/link`, {});
  const webhook = {
    name: "Own",
    source: "plain",
    channel: "own",
    mapping: { name: "{{name}}", tags: { a: "{{a}}" } },
  };
  const { webhook: made, url } = await make("/api/webhooks", webhook);
  const schedule = { type: "period", minutes: 5 };
  const { heartbeat, url: pingUrl } = await make("/api/heartbeats", { name: "Own", schedule });
  const conditions = [{ type: "events", q: "channel:own" }];
  const { cohort } = await make("/api/cohorts", { name: "Own", conditions });
  const to = new Date(Date.now() + 3_600_000).toISOString();
  const { silence } = await make("/api/silences", { reason: "Own", q: "channel:own", to });
  const note = { type: "note", name: "Own", at: "2026-11-27" };
  const { annotation } = await make("/api/annotations", note);
  const { members } = (await (await app.request("/api/members", { headers: session })).json()) as {
    members: { id: string }[];
  };
  const rotation = { members: [members[0]!.id], every: 1, unit: "day", at: "09:00", startsOn: "2026-03-02" };
  const { schedule: onCall } = await make("/api/on-call", {
    name: "Own",
    timeZone: "UTC",
    rotations: [rotation],
  });
  const settings = { url: "http://127.0.0.1:9/hook" };
  const hook = { kind: "webhook", name: "Own", settings };
  const { destination } = await make("/api/project-destinations", hook);
  const weekly = { every: "week", weekday: "monday", at: "08:00", timeZone: "UTC" };
  const sent = { board: board.id, destination: destination.id, schedule: weekly };
  const { report } = await make("/api/reports", sent);
  Object.assign(parameters, {
    "/api/silences/": silence.id,
    "/api/annotations/": annotation.id,
    "/api/cohorts/": cohort.id,
    "/api/reports/": report.id,
    "/api/heartbeats/": heartbeat.id,
    "/api/on-call/": onCall.id,
    "/ping/": last(pingUrl),
    "/api/events/": event.id,
    "/api/boards/": board.id,
    "/api/public/boards/": last(link),
    "/hooks/": last(url),
    "/api/webhooks/": made.id,
    "/slack/": app.key,
  });
}

/** A path without braces. */
function filled(path: string): string {
  return path.replace(/\{\w+\}/g, (_, at: number) => parameters[path.slice(0, at)] ?? "x");
}

async function attack(method: string, path: string, init: RequestInit = {}): Promise<void> {
  const what = `${method} ${path.slice(0, 200)} ${typeof init.body === "string" ? init.body.slice(0, 300) : ""}`;
  try {
    const response = await fetch(app.address + path, {
      ...init,
      method,
      redirect: "manual",
      signal: AbortSignal.timeout(hangMs),
    });
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
    if (isStream) return await response.body!.cancel();
    const text = await response.text();
    if (response.status >= 500) failures.push(`${what}: ${response.status} ${text.slice(0, 300)}`);
    if (response.status >= 300 && response.status < 400) failures.push(`${what}: ${response.status}`);
    if (text.includes(secret) && !what.includes(secret))
      failures.push(`${what}: tells ${text.slice(0, 300)}`);
    if (response.headers.get("x-content-type-options") !== "nosniff")
      failures.push(`${what}: may be sniffed`);
    if (response.headers.get("set-cookie")?.startsWith("b=")) failures.push(`${what}: injects a header`);
  } catch (error) {
    // A server that rejects a large body unread may close the connection while the body is still sent.
    if (!/closed|reset|EPIPE/i.test(String(error))) failures.push(`${what}: ${error}`);
  }
}

/** A value that a schema allows, or nearly: enough to reach the code behind the check. */
function sample(schema: Schema, depth = 0): Json {
  if (schema.$ref) return sample(description.components.schemas[schema.$ref.split("/").at(-1)!]!, depth);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0]!;
  if (schema.example !== undefined) return schema.example;
  if (schema.default !== undefined) return schema.default;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return sample(choices[0]!, depth);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((part) => sample(part, depth)));
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === "object" || schema.properties) {
    if (depth > 4) return {};
    return Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([name, each]) => [name, sample(each, depth + 1)]),
    );
  }
  if (type === "array") return schema.items && depth <= 4 ? [sample(schema.items, depth + 1)] : [];
  if (type === "integer" || type === "number") return 1;
  if (type === "boolean") return true;
  return "abc";
}

/** Copies of a value with each of its members replaced, down to the second level. */
function* replaced(value: Json, by: Json, depth = 0): Generator<Json> {
  if (typeof value !== "object" || value === null || depth > 2) return;
  if (Array.isArray(value)) {
    for (const inner of replaced(value[0] ?? null, by, depth + 1)) yield [inner, ...value.slice(1)];
    yield [by];
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    yield { ...value, [name]: by };
    for (const inner of replaced(member, by, depth + 1)) yield { ...value, [name]: inner };
  }
}

const concurrency = 8;

async function each<Item>(items: Iterable<Item>, run: (item: Item) => Promise<void>): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const worker = async () => {
    for (let next = iterator.next(); !next.done; next = iterator.next()) await run(next.value);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

function* operations() {
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const names = (operation.parameters ?? [])
        .filter((each) => each.in === "query")
        .map(({ name }) => name);
      const isOfProject = names.includes("project");
      // The targets must stay.
      const plain = method === "delete" ? path.replace(/\{\w+\}/g, "x") : filled(path);
      yield { method: method.toUpperCase(), path, plain, operation, names, isOfProject };
    }
  }
}

const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const toolCall: Json = {
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "search_events", arguments: { q: "a", userId: "u", limit: 1, cursor: "", from: "" } },
};
/** Everything that can be sent along: with the attacker's session, and with their key. */
const callers = () => [
  { headers: session, project: "project=default" },
  { headers: { "x-api-key": app.key }, project: "" },
];

/** The time limit of an attack on all operations, which are some thousands of requests each: `hangMs` is for one. */
const attackMs = 3_600_000;

describe("every operation withstands", () => {
  test(
    "no key, unknown keys, and the victim's project",
    async () => {
      const others: Record<string, string>[] = [
        {},
        { "x-api-key": "tdg_sk_garbled" },
        { "x-api-key": "x".repeat(5_000) },
        { authorization: "Bearer " },
        { authorization: `Basic ${Buffer.from("\0:\0").toString("base64")}` },
        { cookie: "tidings.session_token=%00; tidings.session_token=a.b" },
        { "x-api-key": app.key, authorization: "Bearer tdg_sk_other" },
      ];
      await each(operations(), async ({ method, plain }) => {
        for (const headers of others) {
          await attack(method, plain, {
            headers: { ...json, ...headers },
            ...(method !== "GET" && { body: "{}" }),
          });
        }
        await attack(method, `${plain}?project=${victim.slug}`, { headers: session });
        await attack(method, plain.replace(/\/x(?=\/|$)/, `/${victim.slug}`), { headers: session });
      });
      expect(failures.splice(0)).toEqual([]);
    },
    attackMs,
  );

  test(
    "odd paths and queries",
    async () => {
      await each(operations(), async ({ method, path, plain, names, isOfProject }) => {
        for (const { headers, project } of callers()) {
          const own = isOfProject ? project : "";
          for (const name of path.match(/\{\w+\}/g) ?? []) {
            for (const value of pathValues) {
              const url = filled(path.replace(name, () => value));
              await attack(method, `${url}?${own}`, { headers });
            }
          }
          for (const name of names.filter((name) => name !== "project")) {
            for (const value of queryValues) {
              await attack(method, `${plain}?${own}&${name.replace("*", "a%00")}=${value}`, { headers });
            }
            await attack(method, `${plain}?${own}&${name}=1&${name}=2`, { headers });
          }
          if (path.startsWith("/api/public/")) {
            for (const value of queryValues)
              await attack(method, `${plain}?from=${value}&to=${value}&timeZone=${value}`);
          }
          await attack(method, `${plain}?${own}&%00=1&__proto__=1&a[b]=c&${"a=1&".repeat(2_000)}`, {
            headers,
          });
        }
      });
      expect(failures.splice(0)).toEqual([]);
    },
    attackMs,
  );

  test(
    "bodies of any bytes",
    async () => {
      const bodied = [...operations()].filter(({ method }) => method !== "GET" && method !== "DELETE");
      await each(bodied, async ({ method, plain, isOfProject }) => {
        for (const { headers, project } of callers()) {
          for (const [, body, more] of rawBodies) {
            const url = isOfProject ? `${plain}?${project}` : plain;
            await attack(method, url, { headers: { ...json, ...headers, ...more }, body });
          }
        }
      });
      expect(failures.splice(0)).toEqual([]);
    },
    attackMs,
  );

  test(
    "wrong values in bodies that are right otherwise",
    async () => {
      await each(operations(), async ({ method, path, plain, operation, isOfProject }) => {
        const schema = operation.requestBody?.content["application/json"]?.schema;
        // These end what the other calls need.
        if (!schema || path === "/api/account/delete") return;
        const right = path === "/mcp" ? toolCall : sample(schema);
        for (const { headers, project } of callers()) {
          const url = isOfProject ? `${plain}?${project}` : plain;
          for (const value of bodyValues) {
            for (const body of replaced(right, value)) {
              await attack(method, url, { headers: { ...json, ...headers }, body: JSON.stringify(body) });
            }
          }
        }
      });
      expect(failures.splice(0)).toEqual([]);
    },
    attackMs,
  );

  test("and the server is as it was", async () => {
    expect(({} as { polluted?: string }).polluted).toBeUndefined();
    await until(async () => (await app.request("/readyz")).status === 200);
    expect((await app.post({ channel: "after", name: "after" })).status).toBe(201);
    expect(await app.list("", victim.secret)).toMatchObject([{ name: secret }]);
  });
});
