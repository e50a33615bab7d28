import { type Auth, type BetterAuthOptions, betterAuth } from "better-auth";
import type { Kysely } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import { limits } from "../wire/limits.ts";
import { RateLimits } from "./rate-limits.ts";

/** The header in which `main.ts` tells the address that a request really came from, for the limits on signing in. */
export const clientAddressHeader = "x-tidings-client-address";

const daySeconds = 24 * 60 * 60;

/** People's accounts and sessions: better-auth on our tables. Accounts are made by `create-account.ts` alone. */
export function createAuth(
  control: Kysely<ControlTables>,
  { secret, baseUrl, engine }: { secret: string; baseUrl: string; engine: "sqlite" | "postgres" },
) {
  const isSecure = baseUrl.startsWith("https:");
  return betterAuth({
    database: { db: control as unknown as Kysely<unknown>, type: engine, transaction: true },
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
    },
    user: { modelName: "accounts" },
    account: { modelName: "credentials" },
    session: { modelName: "sessions", expiresIn: 30 * daySeconds, updateAge: daySeconds },
    verification: { modelName: "verifications" },
    rateLimit: {
      enabled: true,
      customStorage: new RateLimits(),
      window: 10,
      max: 100,
      customRules: { "/sign-in/email": { window: 60, max: 20 } },
    },
    advanced: {
      cookiePrefix: "tidings",
      useSecureCookies: isSecure,
      // Said outright, since better-auth leaves the checks out where NODE_ENV is "test".
      disableCSRFCheck: false,
      disableOriginCheck: false,
      ipAddress: { ipAddressHeaders: [clientAddressHeader] },
    },
    telemetry: { enabled: false },
    logger: { level: "error" },
  } satisfies BetterAuthOptions) as unknown as Auth;
}
export type { Auth };

export type Account = { id: string; name: string; email: string };

export type Session = { id: string; account: Account };

/** The session that a request's cookie names, or null. */
export async function sessionOf(auth: Auth, headers: Headers): Promise<Session | null> {
  if (!headers.get("cookie")?.includes("tidings")) return null;
  const found = await auth.api.getSession({ headers });
  if (!found) return null;
  const { id, name, email } = found.user;
  return { id: found.session.id, account: { id, name, email } };
}
