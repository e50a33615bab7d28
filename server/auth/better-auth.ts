import {
  type Auth as BetterAuth,
  type BetterAuthOptions,
  type BetterAuthPlugin,
  betterAuth,
} from "better-auth";
import { createAuthMiddleware } from "better-auth/api";
import { twoFactor } from "better-auth/plugins/two-factor";
import type { Kysely } from "kysely";
import type { Logger } from "pino";
import type { Config } from "../config/config.ts";
import { limits } from "../core/limits.ts";
import { ProblemError } from "../core/problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Store } from "../storage/store.ts";
import { createAuthAdapter } from "./auth-adapter.ts";
import { clientAddressHeader, currentCall, problemBehind } from "./auth-call.ts";
import { callRejection } from "./call-rejection.ts";
import { connected, oidcProvider } from "./oidc-provider.ts";
import type { PasswordQueue, Requester } from "./passwords.ts";
import { rateLimitStorage } from "./rate-limits.ts";
import { mayCreateAccount } from "./sign-up-policy.ts";

const daySeconds = 24 * 60 * 60;

/** A column that the adapter reads and stamps (`credential-checks.ts`). No response has it. */
const credentialEpoch = { type: "number", required: false, input: false, returned: false } as const;

export type AuthDeps = {
  secret: string;
  baseUrl: string;
  config: Config;
  passwords: PasswordQueue;
  rateLimiter: Store["rateLimiter"];
  log: Logger;
};

/** Accounts and sessions: better-auth on our tables. */
export function createBetterAuth(
  control: Kysely<ControlTables>,
  { secret, baseUrl, config, passwords, rateLimiter, log }: AuthDeps,
) {
  const isSecure = baseUrl.startsWith("https:");
  const options = {
    database: createAuthAdapter(control, secret),
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
      password: {
        hash: (password) => passwords.hash(password, requester()).catch(reject),
        verify: (stored) => passwords.verify(stored, requester()).catch(reject),
      },
    },
    user: {
      modelName: "accounts",
      additionalFields: { credentialEpoch },
      // An identity of the OpenID Connect provider that is new here, or that now has another address.
      validateUserInfo: async ({ user, source }) => {
        if (source.action === "sign-in") return;
        if (user.emailVerified !== true) return { error: "email_not_verified" };
        if (source.action === "create-user" && !(await mayCreateAccount(control, config.signUp, user.email!)))
          return { error: "sign_up_closed" };
      },
    },
    account: { modelName: "credentials" },
    session: {
      modelName: "sessions",
      additionalFields: { credentialEpoch },
      expiresIn: 30 * daySeconds,
      updateAge: daySeconds,
      freshAge: limits.recentSignInSeconds,
    },
    verification: { modelName: "verifications", storeIdentifier: "hashed" },
    rateLimit: {
      enabled: true,
      customStorage: rateLimitStorage(rateLimiter),
      window: 10,
      max: 100,
      customRules: Object.fromEntries(
        ["/sign-in/email", "/change-password", "/two-factor/*", "/passkey/*"].map((path) => [
          path,
          { window: 60, max: 20 },
        ]),
      ),
    },
    hooks: {
      before: createAuthMiddleware(async ({ path, body }) => {
        // Whoever stole a session must not keep it.
        if (path === "/change-password") return { context: { body: { ...body, revokeOtherSessions: true } } };
        // Names come from the authenticator, and from our own route within our limits.
        if (path === "/passkey/verify-registration")
          return { context: { body: { response: body?.response } } };
        // Every sign-in asks for the second factor.
        if (path.startsWith("/two-factor/verify-"))
          return { context: { body: { ...body, trustDevice: false, disableSession: false } } };
      }),
    },
    plugins: [secondFactor()],
    onAPIError: { errorURL: `${baseUrl}/sign-in` },
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
        const call = currentCall();
        if (problem && call) call.problem = problem;
        else if (error) log.error({ err: error }, `sign-in or sign-out failed: ${message}`);
        else log.warn(`a sign-in was rejected: ${message}`);
      },
    },
  } satisfies BetterAuthOptions;
  /** The same with another plugin. */
  const withPlugin = (plugin: BetterAuthPlugin) =>
    betterAuth({ ...options, plugins: [...options.plugins, plugin] }) as unknown as BetterAuth;
  return {
    standard: betterAuth(options) as unknown as BetterAuth,
    withPasskeys: async () => {
      const { passkeys } = await import("./passkeys.ts");
      return withPlugin(passkeys(baseUrl));
    },
    withProvider: async () => connected(withPlugin(await oidcProvider(config)), config.oidcName),
  };
}

/** better-auth's second factor, which also asks those who come from the OpenID Connect provider. */
function secondFactor() {
  const plugin = twoFactor({ issuer: "Tidings", schema: { twoFactor: { modelName: "twoFactors" } } });
  for (const hook of plugin.hooks.after) {
    const { matcher } = hook;
    hook.matcher = (context) => matcher(context) || context.path === "/callback/:id";
  }
  return plugin;
}

function reject(error: unknown): never {
  throw error instanceof ProblemError ? callRejection(error) : error;
}

/** On whose behalf the current call hashes a password. */
function requester(): Requester {
  const { address = null, isKnown = false } = currentCall() ?? {};
  return { address, isKnown };
}
