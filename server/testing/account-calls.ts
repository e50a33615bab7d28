import type { Config } from "../config/config.ts";
import type { AuditAction } from "../schemas/audit.ts";
import { type SmtpInbox, smtpInbox } from "./smtp-inbox.ts";
import { type TestApp, testApp } from "./test-app.ts";

type Result<Body> = { status: number; body: Body; cookie: string };

/** Sends JSON as the dashboard's own pages do. Returns the response's cookies as the next request sends them. */
export async function callAs<Body = Record<string, unknown>>(
  app: TestApp,
  method: string,
  path: string,
  {
    cookie = "",
    body,
    headers = {},
  }: { cookie?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Result<Body>> {
  const response = await fetch(app.address + path, {
    method,
    headers: {
      origin: app.address,
      ...(cookie && { cookie }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    redirect: "manual",
  });
  const set = response.headers.getSetCookie().map((text) => text.split(";")[0]!);
  const text = await response.text();
  return {
    status: response.status,
    body: (text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : { text }) as Body,
    cookie: mergeCookies(cookie, set),
  };
}

function mergeCookies(cookie: string, set: string[]): string {
  const pairs = [...cookie.split("; ").filter(Boolean), ...set].map((pair) => {
    const at = pair.indexOf("=");
    return [pair.slice(0, at), pair.slice(at + 1)] as const;
  });
  return [...new Map(pairs)]
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}=${value}`)
    .join("; ");
}

/** Creates a member of the project "default" and signs in. Returns the session's cookie. */
export async function memberSession(app: TestApp, email: string): Promise<string> {
  await app.addMember(email, "member");
  return app.signIn(email);
}

/** A test server that sends its email to an inbox. */
export async function testAppWithEmail(
  change: Partial<Config> = {},
): Promise<{ app: TestApp; inbox: SmtpInbox } & AsyncDisposable> {
  const inbox = await smtpInbox();
  const app = await testApp({ smtpUrl: inbox.url, ...change });
  return {
    app,
    inbox,
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]();
      await inbox.close();
    },
  };
}

/** The token of the link in an email. */
export function tokenIn({ text }: { text: string }): string {
  const token = /\?token=(\S+)/.exec(text)?.[1];
  if (!token) throw new Error(`There is no link in: ${text}`);
  return token;
}

/**
 * The audit log's entries, oldest first: who did what to whom. Without `action`, the accounts and projects that tests
 * are given are left out.
 */
export async function auditOf(app: TestApp, action?: AuditAction) {
  const rows = await app.running.store.control
    .selectFrom("auditLog")
    .select(["action", "actorKind", "actor", "target", "detail", "address"])
    .$if(action !== undefined, (query) => query.where("action", "=", action!))
    .$if(action === undefined, (query) =>
      query.where((eb) =>
        eb.not(
          eb.and([
            eb("actorKind", "=", "command"),
            eb("action", "in", ["account.created", "project.created"]),
          ]),
        ),
      ),
    )
    .orderBy("id")
    .execute();
  return rows.map(({ detail, ...row }) => ({
    ...row,
    detail: JSON.parse(detail) as Record<string, unknown>,
  }));
}
