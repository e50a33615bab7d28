// @engines sqlite, postgres, clickhouse
// @long postgres
import { afterAll, beforeAll, expect, test } from "bun:test";
import { sql } from "kysely";
import type { AuditEntry } from "../schemas/audit.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
let owner: Record<string, string>;

beforeAll(async () => {
  // A test makes requests fail, which the server would log.
  app = await testApp({ logLevel: "silent" });
  owner = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
});
afterAll(() => app[Symbol.asyncDispose]());

async function call(method: string, path: string, body?: unknown, headers = owner): Promise<Response> {
  return app.request(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
}

async function audit(query = ""): Promise<AuditEntry[]> {
  const response = await call("GET", `/api/audit${query}`);
  expect(response.status).toBe(200);
  return ((await response.json()) as { entries: AuditEntry[] }).entries;
}

test("changes are listed newest first, with who made them and from where", async () => {
  const agent = { ...owner, "user-agent": "Audit/1.0" };
  const { key } = (await (await call("POST", "/api/keys", { name: "Shop" }, agent)).json()) as {
    key: { id: string };
  };
  await call("DELETE", `/api/keys/${key.id}`, undefined, agent);
  await call("POST", "/api/channels", { name: "payments" });
  await call("PATCH", "/api/channels/payments", { icon: "💰" });
  await call("PATCH", "/api/projects/default", { retentionDays: 30 });
  await app.post({ channel: "logins", name: "Signed in", id: "01900000-0000-7000-8000-000000000001" });
  await app.request("/api/events/01900000-0000-7000-8000-000000000001", { method: "DELETE" });
  await call("DELETE", "/api/channels/payments");
  await call("DELETE", "/api/users/ada%40example.com");
  await (await call("GET", "/api/events?format=csv")).text();

  const actor = { kind: "account", id: expect.any(String), name: app.owner } as const;
  const from = { actor, address: "127.0.0.1", userAgent: expect.any(String) } as const;
  const entries = (await audit()).filter(({ action }) => !action.startsWith("session."));
  expect(entries).toMatchObject([
    { action: "events.exported", detail: { format: "csv" }, ...from },
    { action: "user.erased", target: null, detail: { job: expect.any(String) }, ...from },
    { action: "channel.deleted", target: "payments", ...from },
    {
      action: "event.deleted",
      target: "01900000-0000-7000-8000-000000000001",
      actor: { kind: "key", id: expect.any(String), name: "test" },
    },
    { action: "project.changed", detail: { retentionDays: 30 }, ...from },
    { action: "channel.changed", target: "payments", detail: { icon: "💰" }, ...from },
    { action: "channel.created", target: "payments", ...from },
    { action: "key.revoked", target: "Shop", detail: { id: key.id }, ...from },
    {
      action: "key.created",
      target: "Shop",
      detail: { id: key.id, kind: "secret", scopes: ["ingest", "read"] },
      actor,
      address: "127.0.0.1",
      userAgent: "Audit/1.0",
    },
    { action: "project.created", target: "default", actor: { kind: "command" } },
    { action: "account.created", target: app.owner, actor: { kind: "command" } },
  ]);
  // The last two are as old as the template that the test's data is a copy of.
  for (const { createdAt } of entries.slice(0, -2))
    expect(Date.now() - Date.parse(createdAt)).toBeWithin(0, 60_000);
  // Whoever is erased must not live on in the log of it.
  expect(JSON.stringify(entries)).not.toMatch(/ada(@|%40)/);
});

test("sign-ins of members are listed, and failed ones as them", async () => {
  const { slug } = await app.another("Signed in", "signed-in@example.com");
  const headers = { cookie: await app.signIn("signed-in@example.com"), origin: app.address };
  await expect(app.signIn("signed-in@example.com", "a wrong password")).rejects.toThrow("401");
  await expect(app.signIn("stranger@example.com", "a wrong password")).rejects.toThrow("401");
  const response = await app.request(`/api/audit?action=session&project=${slug}`, { headers });
  expect(((await response.json()) as { entries: AuditEntry[] }).entries).toMatchObject([
    { action: "session.failed", actor: { kind: "nobody" }, target: "signed-in@example.com" },
    { action: "session.created", actor: { kind: "account", name: "signed-in@example.com" } },
  ]);
});

test("what was rejected is not in the log", async () => {
  const before = await audit();
  expect((await call("POST", "/api/channels", { name: "" })).status).toBe(422);
  expect((await call("PATCH", "/api/channels/unknown", { icon: "x" })).status).toBe(404);
  expect((await call("DELETE", "/api/keys/unknown")).status).toBe(404);
  expect((await call("DELETE", "/api/events/01900000-0000-7000-8000-00000000000f")).status).toBe(404);
  expect(await audit()).toEqual(before);
});

test("filters by action, actor and time", async () => {
  await call("POST", "/api/channels", { name: "filtered" });
  const all = await audit();
  expect((await audit("?action=channel.created")).map(({ action }) => action)).toContain("channel.created");
  for (const { action } of await audit("?action=channel")) expect(action).toStartWith("channel.");
  expect((await audit("?actor=TES")).map(({ actor }) => actor.kind)).toEqual(["key"]);
  expect(await audit("?actor=%25")).toEqual([]);
  expect(await audit(`?from=${all[0]!.createdAt}`)).toEqual(
    all.filter(({ createdAt }) => createdAt >= all[0]!.createdAt),
  );
  expect(await audit(`?to=${all.at(-1)!.createdAt}`)).toEqual([]);
  for (const query of ["action=nothing", "limit=0", "limit=1001", "cursor=x", "format=xml", "who=me"]) {
    expect((await call("GET", `/api/audit?${query}`)).status).toBe(400);
  }
});

test("pages, lines and CSV hold the same entries", async () => {
  for (let n = 0; n < 5; n++) await call("POST", "/api/channels", { name: `=page ${n}` });
  const all = await audit("?action=channel.created");
  const paged: AuditEntry[] = [];
  let cursor: string | null = null;
  do {
    const query: string = `?action=channel.created&limit=2${cursor === null ? "" : `&cursor=${cursor}`}`;
    const page = (await (await call("GET", `/api/audit${query}`)).json()) as {
      entries: AuditEntry[];
      nextCursor: string | null;
    };
    paged.push(...page.entries);
    cursor = page.nextCursor;
  } while (cursor !== null);
  expect(paged).toEqual(all);
  const lines = await (await call("GET", "/api/audit?action=channel.created&format=ndjson")).text();
  expect(
    lines
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as AuditEntry),
  ).toEqual(all);
  const response = await call("GET", "/api/audit?action=channel.created&format=csv&limit=2");
  expect(response.headers.get("content-disposition")).toContain("audit.csv");
  expect(response.headers.get("x-next-cursor")).toBe(all[1]!.id);
  const [header, first] = (await response.text()).split("\r\n");
  expect(header).toBe("id,createdAt,action,actorKind,actor,target,detail,address,userAgent");
  expect(first).toStartWith(
    `${all[0]!.id},${all[0]!.createdAt},channel.created,account,${app.owner},'=page 4,{}`,
  );
});

test("a change whose entry can't be written is undone", async () => {
  const { control } = app.running.store;
  await sql`ALTER TABLE audit_log RENAME TO audit_log_away`.execute(control);
  try {
    expect((await call("POST", "/api/channels", { name: "unrecorded" })).status).toBe(500);
    expect((await call("PATCH", "/api/projects/default", { name: "Unrecorded" })).status).toBe(500);
    expect((await call("POST", "/api/keys", { name: "unrecorded" })).status).toBe(500);
  } finally {
    await sql`ALTER TABLE audit_log_away RENAME TO audit_log`.execute(control);
  }
  for (const path of ["channels", "projects", "keys"]) {
    expect((await (await call("GET", `/api/${path}`)).text()).toLowerCase()).not.toContain("unrecorded");
  }
});

test("another project's members and keys see nothing of it", async () => {
  const other = await app.another("Other", "other@example.com");
  const headers = { cookie: await app.signIn("other@example.com"), origin: app.address };
  const response = await app.request("/api/audit", { headers });
  const { entries } = (await response.json()) as { entries: AuditEntry[] };
  for (const { actor } of entries) expect(actor.name).toBe("other@example.com");
  const byKey = await app.request("/api/audit", {}, other.secret);
  expect(await byKey.json()).toMatchObject({ ok: true });
  expect((await app.request("/api/audit", {})).status).toBe(200);
});
