import { version } from "../config.ts";
import { internalDetail } from "../failures.ts";
import { readJson } from "../http/body.ts";
import type { Routes } from "../http/routes.ts";
import { limits } from "../limits.ts";
import { countUnread } from "../notifications/inbox.ts";
import { type ProblemError, problem } from "../problems.ts";
import { listProjects } from "../projects/projects.ts";
import type { Store } from "../storage/store.ts";
import { Me, Setup, SetupResponse, SetupState } from "../wire/account.ts";
import { type Auth, callAuth, sessionOf, signInResponse } from "./auth.ts";
import { hasAccounts } from "./create-account.ts";
import { checkNewPassword } from "./password-rules.ts";
import type { PasswordHashing } from "./passwords.ts";
import { claimSetup } from "./setup.ts";
import type { SignInLimits } from "./sign-in-limits.ts";

type Deps = {
  store: Store;
  auth: Auth;
  baseUrl: string;
  passwords: PasswordHashing;
  signInLimits: SignInLimits;
  authorizer: { checkOrigin: (request: Request) => void };
  addressOf: (request: Request) => string | null;
  transports: { email?: unknown };
  /** Ends the live streams of ended sessions at once. */
  streamAuthorizer: { check: () => Promise<void> };
  vapidPublicKey: string;
};

export function addAccountRoutes(routes: Routes, deps: Deps): void {
  const {
    auth,
    baseUrl,
    transports,
    passwords,
    signInLimits,
    authorizer,
    addressOf,
    streamAuthorizer,
    vapidPublicKey,
  } = deps;
  const { control } = deps.store;

  routes.add(
    {
      method: "get",
      path: "/api/me",
      by: "account",
      tag: "Account",
      summary: "Get the signed-in account",
      response: Me,
    },
    async ({ account }) => ({
      ok: true,
      account,
      projects: await listProjects(control, account.id),
      unread: await countUnread(control, account.id),
      baseUrl,
      vapidPublicKey,
      emailAvailable: transports.email !== undefined,
      version,
    }),
  );

  routes.add(
    {
      method: "get",
      path: "/api/setup",
      by: "anyone",
      tag: "Account",
      summary: "Check whether setup is needed",
      response: SetupState,
    },
    async () => ({ ok: true, needed: !(await hasAccounts(control)) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/setup",
      by: "anyone",
      tag: "Account",
      summary: "Create the owner's account, a project and its first API key",
      description:
        "Takes the one-time token from the link on the server's console. The response signs the owner in.",
      body: Setup,
      status: 201,
      response: SetupResponse,
      problems: [403, 409],
    },
    async ({ request, actor, body }) => {
      const { project, secret } = await claimSetup(control, body.token, body, passwords, actor);
      const response: typeof SetupResponse._output = { ok: true, project, secret };
      return signInResponse(auth, request, body, response);
    },
  );

  // Sign-in, sign-out, passwords and sessions are handled by better-auth
  // (https://www.better-auth.com/docs/basic-usage). Its other routes are not used, and some accept what our limits
  // forbid.
  for (const path of ["get-session", "list-sessions"]) {
    routes.app.get(`/api/auth/${path}`, ({ req }) => callHandler(req.raw));
  }
  for (const path of [
    "sign-in/email",
    "sign-out",
    "change-password",
    "revoke-session",
    "revoke-sessions",
    "revoke-other-sessions",
  ]) {
    routes.app.post(`/api/auth/${path}`, async ({ req }) => {
      // Another site's page must not use up attempts to sign in. What is no browser sends neither header.
      if (isFromBrowser(req.raw.headers)) authorizer.checkOrigin(req.raw);
      // better-auth also takes forms. With JSON only, it gets what was checked here.
      const body = await readJson(req.raw, limits.requestBytes);
      const request = new Request(req.raw, { body: JSON.stringify(body) });
      const { email, newPassword } = (body ?? {}) as { email?: unknown; newPassword?: unknown };
      if (typeof newPassword === "string") {
        const session = await sessionOf(auth, req.raw.headers);
        await checkNewPassword(newPassword, session?.account ?? {}, "newPassword");
      }
      const call = () => callHandler(request);
      const response =
        path !== "sign-in/email" || typeof email !== "string"
          ? await call()
          : await signInLimits.limit({ email, address: addressOf(req.raw), headers: req.raw.headers }, call);
      await streamAuthorizer.check();
      return response;
    });
  }

  async function callHandler(request: Request): Promise<Response> {
    const response = await callAuth(() => auth.handler(request));
    if (response.ok) return response;
    const problemResponse = problemOf(request, response, await response.text()).toResponse();
    for (const cookie of response.headers.getSetCookie())
      problemResponse.headers.append("set-cookie", cookie);
    return problemResponse;
  }
}

function isFromBrowser(headers: Headers): boolean {
  return headers.has("sec-fetch-site") || headers.has("origin");
}

/** Turns an error response of better-auth into a problem. */
function problemOf(request: Request, { status, headers }: Response, text: string): ProblemError {
  const isSignIn = new URL(request.url).pathname.endsWith("/sign-in/email");
  switch (status) {
    case 401:
      return isSignIn
        ? problem("sign-in-failed", { detail: "The email address or password is wrong." })
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
  return problem("account-request-invalid", { detail: sentenceOf(text) });
}

/** better-auth's errors are `{ "message": … }`, mostly without a full stop. */
function sentenceOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    if (typeof message === "string" && message !== "") return `${message.replace(/[.!]$/, "")}.`;
  } catch {
    // There is no message.
  }
  return "The request is incomplete or invalid. See /openapi.json.";
}
