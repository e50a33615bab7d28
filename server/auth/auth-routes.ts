import { recordAudit } from "../audit/audit-log.ts";
import type { Config } from "../config/config.ts";
import { limits } from "../core/limits.ts";
import { type ProblemCode, type ProblemError, problem } from "../core/problems.ts";
import { readJson } from "../http/body.ts";
import { internalDetail } from "../http/failures.ts";
import type { Routes } from "../http/routes.ts";
import type { Store } from "../storage/store.ts";
import type { AccountEmails } from "./account-emails.ts";
import { type Auth, sessionOf } from "./auth.ts";
import { type AuthCall, callAuth } from "./auth-call.ts";
import { checkNewPassword } from "./password-rules.ts";
import type { Reauthentication } from "./reauthenticate.ts";
import type { SignInLimits } from "./sign-in-limits.ts";
import { withoutTokens } from "./without-tokens.ts";

type Deps = {
  config: Config;
  store: Store;
  auth: Auth;
  /** Null if email isn't configured. */
  emails: AccountEmails | null;
  addressOf: (request: Request) => string | null;
  authorizer: { checkOrigin: (request: Request) => void };
  signInLimits: SignInLimits;
  reauthentication: Reauthentication;
  /** Ends the live streams of ended sessions at once. */
  streamAuthorizer: { check: () => Promise<void> };
};

const getPaths = [
  "get-session",
  "passkey/generate-authenticate-options",
  "passkey/generate-register-options",
];
const postPaths = [
  "sign-in/email",
  "sign-out",
  "change-password",
  "two-factor/enable",
  "two-factor/verify-totp",
  "two-factor/verify-backup-code",
  "two-factor/generate-backup-codes",
  "two-factor/disable",
  "passkey/verify-authentication",
  "passkey/verify-registration",
];

/** Those that take the password of a session's account. */
const passwordPaths = new Set([
  "change-password",
  "two-factor/enable",
  "two-factor/generate-backup-codes",
  "two-factor/disable",
]);

const signInPaths = new Set([
  "/sign-in/email",
  "/two-factor/verify-totp",
  "/two-factor/verify-backup-code",
  "/passkey/verify-authentication",
  "/callback/oidc",
]);

/**
 * The routes that better-auth handles (https://www.better-auth.com/docs/basic-usage). Its other routes are not used, and
 * some accept what our limits forbid.
 */
export function addAuthRoutes(routes: Routes, deps: Deps): void {
  const { config, auth, emails, addressOf, authorizer, signInLimits, reauthentication, streamAuthorizer } =
    deps;
  const { control } = deps.store;
  for (const path of config.oidcIssuer === null ? getPaths : [...getPaths, "callback/oidc"])
    routes.app.get(`/api/auth/${path}`, ({ req }) => handle(req.raw, `/${path}`));
  for (const path of postPaths) {
    routes.app.post(`/api/auth/${path}`, async ({ req }) => {
      // Another site's page must not use up attempts to sign in. What is no browser sends neither header.
      if (isFromBrowser(req.raw.headers)) authorizer.checkOrigin(req.raw);
      // better-auth also takes forms. With JSON only, it gets what was checked here.
      const body = ((await readJson(req.raw, limits.requestBytes)) ?? {}) as Record<string, unknown>;
      const { email, newPassword } = body;
      const session = passwordPaths.has(path) ? await sessionOf(auth, req.raw.headers) : null;
      if (typeof newPassword === "string")
        await checkNewPassword(newPassword, session?.account ?? {}, "newPassword");
      const call = (isKnown: boolean) => handle(req.raw, `/${path}`, body, isKnown);
      const response = session
        ? await reauthentication.limit(session, () => call(true))
        : path === "sign-in/email" && typeof email === "string"
          ? await signInLimits.limit({ email, address: addressOf(req.raw), headers: req.raw.headers }, call)
          : await call(false);
      await streamAuthorizer.check();
      return response;
    });
  }

  function authFor(path: string) {
    if (path.startsWith("/passkey/")) return auth.withPasskeys();
    return path.startsWith("/callback/") ? auth.withProvider() : auth.standard();
  }

  async function handle(
    original: Request,
    path: string,
    body?: Record<string, unknown>,
    isKnown = false,
  ): Promise<Response> {
    const request = body ? new Request(original, { body: JSON.stringify(body) }) : original;
    const from = { address: addressOf(original), userAgent: request.headers.get("user-agent") };
    const { handler } = await authFor(path);
    const former = signInPaths.has(path) ? await sessionOf(auth, original.headers) : null;
    const code = typeof body?.code === "string" ? body.code : undefined;
    const call: AuthCall = { path, ...from, isKnown, code };
    const response = await callAuth(() => handler(request), call);
    for (const { action, account } of call.recorded ?? []) emails?.sendSecurityNotice(account, action);
    // Whoever signs in again has one session, not two.
    if (former && response.headers.getSetCookie().some((cookie) => /session_token=[^;]/.test(cookie)))
      await control.deleteFrom("sessions").where("id", "=", former.id).execute();
    const failure = failureOf(path, response, body);
    if (failure) {
      const nobody = { kind: "nobody" as const, id: null, name: null, ...from };
      await recordAudit(control, nobody, { action: "session.failed", ...failure });
    }
    // Redirects are better-auth's answers to those who come back from the OpenID Connect provider.
    if (response.status === 302) return asksForCode(response) ? toSecondFactor(response) : response;
    if (response.ok) return withoutTokens(response);
    const rejection = problemOf(path, response, await response.text()).toResponse();
    for (const cookie of response.headers.getSetCookie()) rejection.headers.append("set-cookie", cookie);
    return rejection;
  }
}

/** Whether a sign-in waits for the second factor: better-auth then sets a cookie that says whose. */
function asksForCode({ headers }: Response): boolean {
  return headers.getSetCookie().some((cookie) => /two_factor=[^;]/.test(cookie));
}

/** Leads to the sign-in page, which asks for the second factor, and from there to where the redirect leads. */
function toSecondFactor({ headers }: Response): Response {
  const { origin, pathname, search, hash } = new URL(headers.get("location")!);
  const page = new URL("/sign-in?step=code", origin);
  page.searchParams.set("next", pathname + search + hash);
  const redirect = new Response(null, { status: 302, headers: { location: page.href } });
  for (const cookie of headers.getSetCookie()) redirect.headers.append("set-cookie", cookie);
  return redirect;
}

/**
 * A sign-in that failed, for the audit log; null if the response isn't one. Wrong second factors are recorded with the
 * counter that limits them (`auth-adapter.ts`).
 */
function failureOf(
  path: string,
  { status, headers }: Response,
  body: Record<string, unknown> | undefined,
): { target: string | null; detail: object } | null {
  if (path === "/callback/oidc") {
    const error = URL.parse(headers.get("location") ?? "", "http://localhost")?.searchParams.get("error");
    return error ? { target: null, detail: { method: "oidc", error: error.slice(0, 100) } } : null;
  }
  if (status !== 401) return null;
  if (path === "/passkey/verify-authentication") return { target: null, detail: { method: "passkey" } };
  if (path !== "/sign-in/email") return null;
  return {
    target: nameOf(body?.email),
    detail: { method: "password" },
  };
}

/** The address that somebody tried, as the audit log can store it. */
function nameOf(email: unknown): string {
  return String(email).toWellFormed().replaceAll("\0", "").slice(0, limits.emailCharacters).toLowerCase();
}

function isFromBrowser(headers: Headers): boolean {
  return headers.has("sec-fetch-site") || headers.has("origin");
}

/** Our problems for better-auth's errors. */
const problemsByCode: Record<string, [ProblemCode, detail: string]> = {
  INVALID_EMAIL_OR_PASSWORD: ["sign-in-failed", "The email address or password is wrong."],
  INVALID_PASSWORD: ["password-wrong", "The password is wrong."],
  CREDENTIAL_ACCOUNT_NOT_FOUND: [
    "password-wrong",
    "This account has no password. Set one with a reset link.",
  ],
  INVALID_CODE: ["code-wrong", "The code is wrong. Check that the clock of your device is right."],
  INVALID_BACKUP_CODE: ["code-wrong", "This recovery code is wrong or was used already."],
  INVALID_TWO_FACTOR_COOKIE: ["sign-in-needed", "That took too long. Enter your password again."],
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: ["sign-in-needed", "Too many wrong codes. Enter your password again."],
  SESSION_NOT_FRESH: ["session-stale", "You signed in more than an hour ago. Sign in again to do this."],
  PASSKEY_NOT_FOUND: ["sign-in-failed", "This passkey is not known here. It may have been removed."],
  CHALLENGE_NOT_FOUND: ["account-request-invalid", "That took too long. Try again."],
};

/** Turns an error response of better-auth into a problem. */
function problemOf(path: string, { status, headers }: Response, text: string): ProblemError {
  const { code, message } = errorOf(text);
  if (code === "ACCOUNT_TEMPORARILY_LOCKED") {
    const detail = "Too many wrong codes for this account. Try again in 15 minutes.";
    return problem("too-many-requests", { detail, retryAfterSeconds: 15 * 60 });
  }
  const known = problemsByCode[code];
  if (known) return problem(known[0], { detail: known[1] });
  switch (status) {
    case 401:
      return path.startsWith("/passkey/verify-authentication")
        ? problem("sign-in-failed", { detail: sentenceOf(message) })
        : problem("sign-in-needed", { detail: "Sign in to the dashboard first." });
    case 403:
      return problem("origin-forbidden", {
        detail: "A session works only for requests from the dashboard's own pages.",
      });
    case 429: {
      const retryAfterSeconds = Number(headers.get("x-retry-after")) || 60;
      const detail = `Too many attempts from this address. Try again in ${retryAfterSeconds} seconds.`;
      return problem("too-many-requests", { detail, retryAfterSeconds });
    }
  }
  if (status >= 500) return problem("internal", { detail: internalDetail, log: text });
  return problem("account-request-invalid", { detail: sentenceOf(message) });
}

/** better-auth's errors are `{ "code": …, "message": … }`. */
function errorOf(text: string): { code: string; message: string } {
  try {
    const { code, message } = JSON.parse(text) as { code?: unknown; message?: unknown };
    return { code: String(code ?? ""), message: typeof message === "string" ? message : "" };
  } catch {
    return { code: "", message: "" };
  }
}

/** Its messages are mostly without a full stop. */
function sentenceOf(message: string): string {
  return message === ""
    ? "The request is incomplete or invalid. See docs/accounts.md."
    : `${message.replace(/[.!]$/, "")}.`;
}
