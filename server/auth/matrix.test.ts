// @engines sqlite, postgres
// @long postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { describedApp } from "../app.ts";
import {
  keyMay,
  type PermissionName,
  permissions,
  type Role,
  roleMay,
  roles,
  type Scope,
} from "../core/permissions.ts";
import type { AllowedCallers } from "../http/routes.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { createSecret } from "./key-secret.ts";

/**
 * Every route, called by everyone. Each request has an unknown query parameter, which is looked at after the caller: so
 * 400 means that the caller may make the request, and nothing is changed.
 */
const { declared: allDeclared, handlers } = describedApp();
// These have their key in the path and answer in plain text: see drop-in/slack/slack.test.ts and
// heartbeats/heartbeats.test.ts. What pages send has it in the body: see website/website.test.ts.
const elsewhere = ["/slack/{key}", "/t", "/s/{name}"];
const declared = allDeclared.filter(({ path }) => !elsewhere.includes(path) && !path.startsWith("/ping/"));

type Caller = {
  headers: Record<string, string>;
  /** For sessions: the slug to ask for. */
  project?: string;
};
type Verdict =
  | "allowed"
  | "key-missing"
  | "sign-in-needed"
  | "key-invalid"
  | "key-insufficient"
  | "role-insufficient"
  | "project-unknown";
type Who = {
  kind: "nobody" | "invalid session" | "session" | "invalid key" | "key";
  /** Of a session: the account's role in the project; null if it is not a member. */
  role?: Role | null;
  key?: { kind: "secret" | "publishable"; scopes: ReadonlySet<Scope> };
};

const secretWith = (...scopes: Scope[]): Who => ({
  kind: "key",
  key: { kind: "secret", scopes: new Set(scopes) },
});

const everyone: Record<string, Who> = {
  "no credentials": { kind: "nobody" },
  "a garbled cookie": { kind: "invalid session" },
  "a session that was signed out": { kind: "invalid session" },
  "a garbled key": { kind: "invalid key" },
  "an unknown key": { kind: "invalid key" },
  "an expired key": { kind: "invalid key" },
  "a revoked key": { kind: "invalid key" },
  "a key with the scope ingest": secretWith("ingest"),
  "a key with the scope read": secretWith("read"),
  "a key with the scope manage": secretWith("manage"),
  "a key with all scopes": secretWith("ingest", "read", "manage"),
  "a publishable key": { kind: "key", key: { kind: "publishable", scopes: new Set(["ingest"]) } },
  // It may do this in its own project: isolation.test.ts shows that it sees nothing of others.
  "another project's key": secretWith("ingest", "read", "manage"),
  ...Object.fromEntries(roles.map((role) => [`the ${role}`, { kind: "session", role } satisfies Who])),
  ...Object.fromEntries(
    roles.map((role) => [`another project's ${role}`, { kind: "session", role: null } satisfies Who]),
  ),
};

/** What the declaration of a route says of a caller. */
function verdictOf(by: AllowedCallers, { kind, role, key }: Who): Verdict {
  if (by === "anyone") return "allowed";
  if (by === "sender") {
    if (kind === "invalid key") return "key-invalid";
    if (kind !== "key") return "key-missing";
    return keyMay(key!, "events:send") ? "allowed" : "key-insufficient";
  }
  const isForKeys = by === "caller" || (by !== "account" && permissions[by].scope !== null);
  if (kind === "invalid session") return "sign-in-needed";
  if (kind === "nobody") return isForKeys ? "key-missing" : "sign-in-needed";
  if (kind === "invalid key") return "key-invalid";
  const permission: PermissionName | null = by === "caller" ? "events:read" : by === "account" ? null : by;
  if (kind === "key") return permission && keyMay(key!, permission) ? "allowed" : "key-insufficient";
  if (by === "account" || by === "caller") return "allowed";
  if (role === null) return "project-unknown";
  return roleMay(role!, by) ? "allowed" : "role-insufficient";
}

let app: TestApp;
const callers: Record<string, Caller> = {};

beforeAll(async () => {
  app = await testApp();
  const owner = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
  const newKey = async (body: object) => {
    const response = await app.request("/api/keys", {
      method: "POST",
      headers: owner,
      body: JSON.stringify({ name: "k", ...body }),
    });
    return (await response.json()) as { key: { id: string }; secret: string };
  };
  const withKey = (secret: string): Caller => ({ headers: { "x-api-key": secret } });
  const session = async (email: string, project?: string): Promise<Caller> => ({
    headers: { cookie: await app.signIn(email), origin: app.address },
    ...(project && { project }),
  });

  callers["no credentials"] = { headers: {} };
  callers["a garbled cookie"] = { headers: { cookie: "tidings.session_token=x.y", origin: app.address } };
  const signedOut = await session(app.owner);
  callers["a session that was signed out"] = signedOut;
  const signOut = {
    method: "POST",
    headers: { ...signedOut.headers, "content-type": "application/json" },
    body: "{}",
  };
  expect((await app.request("/api/auth/sign-out", signOut)).status).toBe(200);
  callers["a garbled key"] = withKey("tdg_sk_garbled");
  callers["an unknown key"] = withKey(createSecret("secret"));
  const expired = await newKey({});
  callers["an expired key"] = withKey(expired.secret);
  const rotation = { method: "POST", headers: owner, body: '{"overlapHours":0}' };
  expect((await app.request(`/api/keys/${expired.key.id}/rotate`, rotation)).status).toBe(200);
  const revoked = await newKey({});
  callers["a revoked key"] = withKey(revoked.secret);
  await app.request(`/api/keys/${revoked.key.id}`, { method: "DELETE", headers: owner });
  for (const scope of ["ingest", "read", "manage"] as const) {
    callers[`a key with the scope ${scope}`] = withKey((await newKey({ scopes: [scope] })).secret);
  }
  callers["a key with all scopes"] = withKey(app.key);
  callers["a publishable key"] = withKey((await newKey({ kind: "publishable" })).secret);
  const other = await app.another("Other", "other-owner@example.com");
  callers["another project's key"] = withKey(other.secret);
  callers["the owner"] = await session(app.owner, "default");
  callers["another project's owner"] = await session("other-owner@example.com", "default");
  for (const role of ["admin", "member", "viewer"] as const) {
    await app.addMember(`${role}@example.com`, role);
    callers[`the ${role}`] = await session(`${role}@example.com`, "default");
    await app.addMember(`other-${role}@example.com`, role, other.slug);
    callers[`another project's ${role}`] = await session(`other-${role}@example.com`, "default");
  }
});
afterAll(() => app[Symbol.asyncDispose]());

describe(`${declared.length} routes × ${Object.keys(everyone).length} callers = ${declared.length * Object.keys(everyone).length} combinations`, () => {
  for (const { method, path, by } of declared) {
    test(`${method} ${path} needs ${by}`, async () => {
      const verdicts = await Promise.all(
        Object.entries(everyone).map(async ([name, who]) => [
          name,
          await callAs(callers[name]!),
          verdictOf(by, who),
        ]),
      );
      async function callAs({ headers, project }: Caller): Promise<string> {
        const url = path.replace("{slug}", "default").replace(/\{\w+\}/g, "x");
        const slug = project && !path.includes("{slug}") ? `&project=${project}` : "";
        const response = await app.request(`${url}?unknown=1${slug}`, { method, headers }, null);
        const text = await response.text();
        // Discord needs a 401 for requests that it has not signed. No credentials of Tidings change that.
        if (text.includes("/problems/interaction-signature-invalid")) return "allowed";
        if (by === "anyone") return [401, 403].includes(response.status) ? text : "allowed";
        // These accept any query. The request has no body, which is looked at after the key.
        if (by === "sender" && /\/problems\/body-/.test(text)) return "allowed";
        if (response.status === 400 && text.includes("/problems/query-invalid")) return "allowed";
        return /\/problems\/([\w-]+)/.exec(text)?.[1] ?? `${response.status} ${text}`;
      }
      for (const [name, verdict, expected] of verdicts) {
        expect(`${method} ${path} with ${name}: ${verdict}`).toBe(
          `${method} ${path} with ${name}: ${expected}`,
        );
      }
    });
  }
});

test("viewers and keys with the scope read change nothing", () => {
  const changes = declared.filter(({ method, by }) => method !== "GET" && by in permissions);
  const open = changes.filter(({ by }) => {
    const permission = by as PermissionName;
    return roleMay("viewer", permission) || keyMay({ kind: "secret", scopes: new Set(["read"]) }, permission);
  });
  // Whoever is a member may stop being one, and has views, marks and reports of their own. Reports to destinations need
  // more (reports.test.ts). The MCP server's tools need the permissions of the routes that they call (mcp.test.ts).
  const own: AllowedCallers[] = ["project:leave", "views:own", "reports:own"];
  const others = open.filter(({ by, path }) => !own.includes(by) && path !== "/mcp");
  expect(others).toEqual([]);
});

test("every handler belongs to a declared route", () => {
  const known = new Set(
    allDeclared.map(({ method, path }) => `${method} ${path.replace(/\{(\w+)\}/g, ":$1")}`),
  );
  const undeclared = handlers
    .map(({ method, path }) => `${method} ${path}`)
    .filter((handler) => !handler.startsWith("ALL ") && !known.has(handler));
  // Accounts and sessions are better-auth's (account-routes.ts); metrics have a token of their own (status.ts); the
  // pages and files of the dashboard are for everyone.
  const others = undeclared.filter((handler) => !/^(GET|POST) \/api\/auth\//.test(handler));
  expect([...new Set(others)]).toEqual(["GET /metrics", "GET /openapi.json", "GET /*"]);
});
