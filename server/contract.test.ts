/** Calls every operation of the API description on a real server, and compares each response with its schema. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import Ajv from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { ownerEmail } from "./testing/dashboard.ts";
import { type TestApp, testApp, testPassword } from "./testing/test-app.ts";

type Operation = { responses: Record<string, { content?: Record<string, unknown> }> };
type Description = { paths: Record<string, Record<string, Operation>> };
type Fields = Record<string, string>;
// biome-ignore lint/suspicious/noExplicitAny: responses are checked against the description, not against types
type Json = any;

let app: TestApp;
let description: Description;
let session: Fields;
const ajv = new Ajv({ strict: false, allErrors: true });
addFormats(ajv);
/** An id that nothing has. */
const missing = "01900000-0000-7000-8000-000000000000";
const called = new Set<string>();

beforeAll(async () => {
  app = await testApp();
  description = (await (await app.request("/openapi.json")).json()) as Description;
  ajv.addSchema(description, "api");
  session = { cookie: await app.signIn(), origin: app.address };
});
afterAll(() => app[Symbol.asyncDispose]());

type Call = { params?: Fields; query?: string; body?: unknown; as?: "session" | "key" | "nobody" };

/** Calls an operation, expects the status (null: any that is described) and a body as described; returns the body. */
async function call(
  operation: string,
  expected: number | null,
  { params = {}, query = "", body, as = "session" }: Call = {},
): Promise<Json> {
  const [method, path] = operation.split(" ") as [string, string];
  const declared = description.paths[path]?.[method.toLowerCase()];
  if (!declared) throw new Error(`${operation} is not described.`);
  called.add(operation);
  const url = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name]!)) + query;
  const response = await fetch(app.address + url, {
    method,
    headers: {
      ...(as === "session" && session),
      ...(as === "nobody" && { origin: app.address }),
      ...(as === "key" && { "x-api-key": app.key }),
      accept: "application/json, text/event-stream",
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const type = response.headers.get("content-type")!.split(";")[0]!;
  const isText = !type.endsWith("json");
  if (isText) await response.body?.cancel();
  const answer: Json = isText ? null : await response.json();
  const status = expected ?? response.status;
  expect([operation, response.status, answer?.detail]).toEqual([operation, status, answer?.detail]);
  expect([operation, status, type, Object.keys(declared.responses[status]?.content ?? {})]).toEqual([
    operation,
    status,
    type,
    expect.arrayContaining([type]),
  ]);
  if (!isText) {
    const place = ["paths", path, method.toLowerCase(), "responses", status, "content", type, "schema"]
      .map((part) => encodeURIComponent(String(part).replaceAll("~", "~0").replaceAll("/", "~1")))
      .join("/");
    const validate = ajv.getSchema(`api#/${place}`)!;
    validate(answer);
    expect({ operation, errors: validate.errors ?? [] }).toEqual({ operation, errors: [] });
  }
  return answer;
}

const project = "?project=default";

test("events, channels, users and numbers", async () => {
  const event = { channel: "payments", name: "Payment received", userId: "u1", tags: { amount: "49" } };
  const recorded = await call("POST /api/events", 201, { as: "key", body: event });
  await call("POST /api/events", 201, { as: "key", body: [event, { ...event, name: "Refund" }] });
  await call("POST /api/events", 422, { as: "key", body: { ...event, tags: { amount: 49 } } });
  await call("GET /api/events", 200, { as: "key", query: "?limit=2&q=payment" });
  await call("GET /api/events", 400, { as: "key", query: "?limit=x" });
  await call("GET /api/events", 401, { as: "nobody" });
  await call("GET /api/events/count", 200, { as: "key" });
  await call("GET /api/events/stream", 200, { as: "key" });
  const id = { id: recorded.event.id };
  await call("GET /api/events/{id}", 200, { as: "key", params: id });
  await call("GET /api/events/{id}/deliveries", 200, { params: id, query: project });
  await call("GET /api/search/complete", 200, { as: "key", query: "?q=pay" });
  await call("GET /api/stats", 200, { as: "key", query: "?split=channel&users=true" });
  await call("GET /api/stats", 200, { as: "key", query: "?metric=sum&tag=amount" });
  await call("GET /api/funnel", 200, { as: "key", query: "?step=payment&step=refund" });
  await call("GET /api/retention", 200, { as: "key" });
  await call("POST /api/channels", 201, { as: "key", body: { name: "orders", icon: "📦" } });
  await call("POST /api/channels", 409, { as: "key", body: { name: "orders" } });
  await call("GET /api/channels", 200, { as: "key" });
  await call("PATCH /api/channels/{name}", 200, {
    as: "key",
    params: { name: "orders" },
    body: { archived: true },
  });
  await call("GET /api/users", 200, { as: "key" });
  await call("PUT /api/users/{userId}", 200, {
    as: "key",
    params: { userId: "u1" },
    body: { name: "Ada", seats: 5 },
  });
  await call("GET /api/users/{userId}", 200, { as: "key", params: { userId: "u1" } });
  await call("GET /api/users/{userId}", 404, { as: "key", params: { userId: "nobody" } });
  const list = await call("GET /api/events/rejected", 200, { query: project });
  const rejected = { id: list.rejected[0].id };
  await call("POST /api/events/rejected/{id}/replay", 201, { params: rejected, query: project, body: event });
  await call("DELETE /api/events/rejected/{id}", 404, { params: rejected, query: project });
  await call("DELETE /api/events/{id}", 200, { as: "key", params: id });
  const { job } = await call("DELETE /api/channels/{name}", 202, { as: "key", params: { name: "orders" } });
  await call("GET /api/jobs/{id}", 200, { as: "key", params: { id: job.id } });
  await call("DELETE /api/users/{userId}", 202, { as: "key", params: { userId: "u1" } });
});

test("views, rules and destinations", async () => {
  await call("GET /api/sidebar", 200, { query: project });
  await call("POST /api/sidebar/seen", 200, { query: project, body: { channels: [{ name: "payments" }] } });
  await call("PUT /api/sidebar/pins", 200, { query: project, body: { channels: ["payments"] } });
  const { view } = await call("POST /api/views", 201, { query: project, body: { name: "Paid", q: "pay*" } });
  await call("GET /api/views", 200, { query: project });
  await call("PATCH /api/views/{id}", 200, {
    params: { id: view.id },
    query: project,
    body: { name: "Payments" },
  });
  await call("DELETE /api/views/{id}", 200, { params: { id: view.id }, query: project });

  await call("GET /api/destination-kinds", 200, { as: "key" });
  const { destination } = await call("POST /api/project-destinations", 201, {
    as: "key",
    body: { kind: "webhook", name: "Hook", settings: { url: `${app.address}/healthz` } },
  });
  const hook = { as: "key", params: { id: destination.id } } as const;
  await call("GET /api/project-destinations", 200, { as: "key" });
  await call("GET /api/project-destinations/{id}", 200, hook);
  await call("PATCH /api/project-destinations/{id}", 200, { ...hook, body: { name: "Renamed" } });
  await call("POST /api/project-destinations/{id}/test", 200, hook);
  await call("POST /api/project-destinations/{id}/rotate-secret", 200, hook);

  const rule = { name: "Refunds", q: "name:Refund", when: { type: "each" } };
  const to = { everyone: true, members: [], destinations: [destination.id] };
  const created = await call("POST /api/rules", 201, { as: "key", body: { ...rule, to } });
  const params = { id: created.rule.id };
  await call("POST /api/rules/preview", 200, { as: "key", body: { q: rule.q, when: rule.when } });
  await call("GET /api/rules", 200, { as: "key" });
  await call("GET /api/rules/{id}", 200, { as: "key", params });
  await call("PATCH /api/rules/{id}", 200, { as: "key", params, body: { enabled: false } });
  await call("DELETE /api/rules/{id}", 200, { as: "key", params });
  await call("DELETE /api/project-destinations/{id}", 200, hook);
});

test("notifications", async () => {
  await call("POST /api/events", 201, {
    as: "key",
    body: { channel: "payments", name: "Urgent", notify: true },
  });
  await call("GET /api/notifications", 200);
  await call("POST /api/notifications/read", 200, { body: { ids: [missing] } });
  const { destinations } = await call("GET /api/destinations", 200);
  const inApp = destinations[0].id;
  await call("POST /api/destinations", 422, { body: { kind: "browser" } });
  await call("PATCH /api/destinations/{id}", 404, { params: { id: missing }, body: { enabled: true } });
  await call("POST /api/destinations/{id}/test", 409, { params: { id: inApp } });
  await call("DELETE /api/destinations/{id}", 404, { params: { id: missing } });
  await call("GET /api/preferences", 200);
  await call("PATCH /api/preferences", 200, { body: { timeZone: "Europe/Berlin" } });
  await call("PUT /api/preferences/levels", 200, {
    body: { project: "default", destination: inApp, level: "all" },
  });
  const { mute } = await call("POST /api/preferences/mutes", 201, {
    body: { project: "default", channel: "payments", minutes: 60 },
  });
  await call("DELETE /api/preferences/mutes/{id}", 200, { params: { id: mute.id } });
  await call("DELETE /api/preferences/unsubscribed/{project}", 200, { params: { project: "default" } });
  await call("GET /api/unsubscribe/{token}", 404, { params: { token: "a.b" } });
  await call("POST /unsubscribe/{token}", 404, { params: { token: "a.b" } });
  await call("GET /api/deliveries", 200, { as: "key" });
  await call("POST /api/deliveries/{id}/retry", 404, { as: "key", params: { id: missing } });
  await call("POST /api/deliveries/retry", 200, { as: "key", body: {} });
});

test("keys, projects and members", async () => {
  const { key } = await call("POST /api/keys", 201, { query: project, body: { name: "Website" } });
  const id = { params: { id: key.id }, query: project };
  await call("GET /api/keys", 200, { query: project });
  await call("PATCH /api/keys/{id}", 200, { ...id, body: { name: "Shop" } });
  await call("POST /api/keys/{id}/rotate", 201, { ...id, body: { overlapHours: 1 } });
  await call("DELETE /api/keys/{id}", 200, id);
  await call("GET /api/projects", 200);
  const created = await call("POST /api/projects", 201, { body: { name: "Second" } });
  const slug = { slug: created.project.slug };
  await call("PATCH /api/projects/{slug}", 200, { params: slug, body: { retentionDays: 90 } });

  await app.addMember("viewer@example.com", "viewer");
  const { members } = await call("GET /api/members", 200, { query: project });
  const viewer = members.find(({ email }: Fields) => email === "viewer@example.com");
  const member = { params: { id: viewer.accountId ?? viewer.id }, query: project };
  await call("PATCH /api/members/{id}", 200, { ...member, body: { role: "member" } });
  await call("DELETE /api/members/{id}", 200, member);
  await call("POST /api/projects/{slug}/leave", 409, { params: slug });
  await call("POST /api/projects/{slug}/transfer", 404, { params: slug, body: { accountId: missing } });
  await call("DELETE /api/projects/{slug}", 202, { params: slug, query: `?confirm=${slug.slug}` });

  const invited = await call("POST /api/invitations", 201, { query: project, body: { role: "viewer" } });
  await call("GET /api/invitations", 200, { query: project });
  const invitation = { params: { id: invited.invitation.id }, query: project };
  const renewed = await call("POST /api/invitations/{id}/renew", 200, invitation);
  const token = { params: { token: new URL(renewed.link).pathname.split("/").at(-1)! } };
  await call("GET /api/invitations/token/{token}", 200, { ...token, as: "nobody" });
  await call("POST /api/invitations/token/{token}/accept", 409, token);
  const newcomer = { email: "new@example.com", password: testPassword };
  await call("POST /api/invitations/token/{token}/sign-up", 201, { ...token, as: "nobody", body: newcomer });
  await call("DELETE /api/invitations/{id}", 404, invitation);
  await call("GET /api/audit", 200, { query: project });
});

test("accounts and status", async () => {
  for (const path of ["/api/me", "/api/account", "/api/sessions"]) await call(`GET ${path}`, 200);
  await call("PATCH /api/account", 200, { body: { name: "Ada" } });
  await call("POST /api/account/email", 403, { body: { email: "x@example.com", password: "wrong" } });
  await call("POST /api/account/email/confirm", 403, { body: { token: "t" } });
  await call("PATCH /api/account/passkeys/{id}", 404, { params: { id: "x" }, body: { name: "Phone" } });
  await call("DELETE /api/account/passkeys/{id}", 404, { params: { id: "x" } });
  await call("POST /api/account/delete", 403, { body: { password: "wrong" } });
  await call("DELETE /api/sessions/{id}", 404, { params: { id: "x" } });
  await call("DELETE /api/sessions", 200);
  await call("GET /api/setup", 200, { as: "nobody" });
  const owner = { email: ownerEmail, password: testPassword };
  await call("POST /api/setup", 409, { as: "nobody", body: { ...owner, token: "t" } });
  await call("GET /api/sign-in", 200, { as: "nobody" });
  await call("POST /api/sign-in/provider", 404, { as: "nobody", body: {} });
  await call("POST /api/password-reset", 409, { as: "nobody", body: { email: ownerEmail } });
  await call("POST /api/sign-up", 403, { as: "nobody", body: { ...owner, email: "y@example.com" } });
  await call("POST /api/sign-up/confirm", 403, {
    as: "nobody",
    body: { token: "t", password: testPassword },
  });
  const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  await call("POST /mcp", 200, { as: "key", body: message });
  await call("GET /healthz", 200, { as: "nobody" });
  await call("GET /readyz", 200, { as: "nobody" });
});

test("all other operations respond as described to a request without content", async () => {
  const faults: string[] = [];
  for (const [path, methods] of Object.entries(description.paths))
    for (const method of Object.keys(methods)) {
      const operation = `${method.toUpperCase()} ${path}`;
      // Its errors are plain text, as clients of Slack expect.
      if (called.has(operation) || operation === "POST /slack/{key}") continue;
      const params = Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name!, missing]));
      const body = method === "get" || method === "delete" ? {} : { body: {} };
      const query = /^\/api\/(?!public|status)/.test(path) ? project : "";
      try {
        await call(operation, null, { params, query, ...body });
      } catch (error) {
        faults.push(`${operation}: ${error}`);
      }
    }
  expect(faults).toEqual([]);
});
