import { AsyncLocalStorage } from "node:async_hooks";
import { type Auth, type BetterAuthOptions, betterAuth } from "better-auth";
import type { Kysely } from "kysely";
import type { Logger } from "pino";
import type { Account } from "../http/caller.ts";
import { limits } from "../limits.ts";
import { ProblemError } from "../problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Store } from "../storage/store.ts";
import type { PasswordHashing } from "./passwords.ts";
import { rateLimitStorage } from "./rate-limits.ts";

/** Header that `main.ts` sets to the client's real address, for the rate limits on signing in. */
export const clientAddressHeader = "x-tidings-client-address";

const daySeconds = 24 * 60 * 60;

/** Accounts and sessions: better-auth on our tables. Only `create-account.ts` creates accounts. */
export function createAuth(
  control: Kysely<ControlTables>,
  {
    secret,
    baseUrl,
    passwords,
    rateLimiter,
    log,
  }: {
    secret: string;
    baseUrl: string;
    passwords: PasswordHashing;
    rateLimiter: Store["rateLimiter"];
    log: Logger;
  },
) {
  const isSecure = baseUrl.startsWith("https:");
  return betterAuth({
    // Not the real engine: with this type, better-auth stores timestamps as texts and booleans as numbers, as our
    // tables do.
    database: { db: control as unknown as Kysely<unknown>, type: "sqlite", transaction: true },
    secret,
    baseURL: baseUrl,
    basePath: "/api/auth",
    trustedOrigins: async (request) => {
      const host = request?.headers.get("host");
      return host ? [baseUrl, `http://${host}`, `https://${host}`] : [baseUrl];
    },
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: limits.passwordCharactersMin,
      maxPasswordLength: limits.passwordCharactersMax,
      password: passwords,
    },
    user: { modelName: "accounts" },
    account: { modelName: "credentials" },
    session: { modelName: "sessions", expiresIn: 30 * daySeconds, updateAge: daySeconds },
    verification: { modelName: "verifications" },
    rateLimit: {
      enabled: true,
      customStorage: rateLimitStorage(rateLimiter),
      window: 10,
      max: 100,
      customRules: {
        "/sign-in/email": { window: 60, max: 20 },
        "/change-password": { window: 60, max: 20 },
      },
    },
    advanced: {
      // Our migrations create the tables.
      database: { validateSchema: false },
      // With this prefix, browsers accept no cookie from a subdomain or over plain HTTP (RFC 6265bis, section 4.1.3.2).
      cookiePrefix: isSecure ? "__Host-tidings" : "tidings",
      useSecureCookies: false,
      defaultCookieAttributes: { secure: isSecure, httpOnly: true, sameSite: "lax", path: "/" },
      // Explicit, because better-auth skips these checks if NODE_ENV is "test".
      disableCSRFCheck: false,
      disableOriginCheck: false,
      ipAddress: { ipAddressHeaders: [clientAddressHeader] },
    },
    telemetry: { enabled: false },
    logger: {
      level: "error",
      log(_level, message, ...details) {
        const error = [message, ...details].find((detail) => detail instanceof Error);
        const problem = problemBehind(error);
        const call = calls.getStore();
        if (problem && call) call.problem = problem;
        else log.error({ err: error }, `sign-in or sign-out failed: ${message}`);
      },
    },
  } satisfies BetterAuthOptions) as unknown as Auth;
}
export type { Auth };

export type Session = { id: string; account: Account };

/** The session of a request's cookie, or null. Throws `storage-unavailable`. */
export async function sessionOf(auth: Auth, headers: Headers): Promise<Session | null> {
  if (!headers.get("cookie")?.includes("tidings")) return null;
  const result = await callAuth(() => auth.api.getSession({ headers }));
  if (!result) return null;
  const { id, name, email } = result.user;
  return { id: result.session.id, account: { id, name, email } };
}

/** A response that signs a new account in. */
export async function signInResponse(
  auth: Auth,
  request: Request,
  { email, password }: { email: string; password: string },
  body: object,
): Promise<Response> {
  const signedIn = await callAuth(() =>
    auth.api.signInEmail({ body: { email, password }, headers: request.headers, asResponse: true }),
  );
  const headers = new Headers();
  for (const cookie of signedIn.headers.getSetCookie()) headers.append("set-cookie", cookie);
  return Response.json(body, { status: 201, headers });
}

/** The problem that better-auth logged during a call. */
const calls = new AsyncLocalStorage<{ problem?: ProblemError }>();

/**
 * Calls better-auth. If the storage is unavailable, better-auth reports an internal error or that nobody is signed in;
 * this throws the storage's problem instead.
 */
export async function callAuth<Result>(work: () => Promise<Result>): Promise<Result> {
  const call: { problem?: ProblemError } = {};
  try {
    const result = await calls.run(call, work);
    if (call.problem) throw call.problem;
    return result;
  } catch (error) {
    throw call.problem ?? problemBehind(error) ?? error;
  }
}

function problemBehind(error: unknown): ProblemError | undefined {
  if (error instanceof ProblemError) return error;
  return error instanceof Error && error.cause !== undefined ? problemBehind(error.cause) : undefined;
}
