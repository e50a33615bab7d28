import type { Auth as BetterAuth } from "better-auth";
import type { Kysely } from "kysely";
import { problem } from "../core/problems.ts";
import type { Account, Actor } from "../http/caller.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { type AuthCall, callAuth } from "./auth-call.ts";
import type { AuthDeps } from "./better-auth.ts";

/**
 * better-auth in three forms, each made when somebody first uses it: a server that only records takes eight megabytes
 * less without.
 */
export type Auth = {
  standard: () => Promise<BetterAuth>;
  /** With passkeys, which take another five megabytes. */
  withPasskeys: () => Promise<BetterAuth>;
  /**
   * With the OpenID Connect provider, which is asked for its configuration first: while it doesn't respond, other
   * sign-ins work. Throws `provider-unavailable`.
   */
  withProvider: () => Promise<BetterAuth>;
};

export function createAuth(control: Kysely<ControlTables>, deps: AuthDeps): Auth {
  const made = once(async () => {
    const { createBetterAuth } = await import("./better-auth.ts");
    return createBetterAuth(control, deps);
  });
  return {
    standard: once(async () => (await made()).standard),
    withPasskeys: once(async () => (await made()).withPasskeys()),
    withProvider: once(async () => (await made()).withProvider()),
  };
}

/** Runs `make` at the first call, and again only if it failed. */
function once<Result>(make: () => Promise<Result>): () => Promise<Result> {
  let made: Promise<Result> | undefined;
  return () => {
    made ??= make().catch((error) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

export type Session = {
  id: string;
  account: Account;
  createdAt: Date;
  /** The account's credential epoch, which is the session's too. */
  epoch: number;
};

/** The session of a request's cookie, or null. Throws `storage-unavailable`. */
export async function sessionOf(auth: Auth, headers: Headers): Promise<Session | null> {
  if (!headers.get("cookie")?.includes("tidings")) return null;
  const call: AuthCall = { path: "", address: null, userAgent: null };
  const result = await callAuth(async () => (await auth.standard()).api.getSession({ headers }), call);
  if (!result) return null;
  const { id, name, email } = result.user;
  return {
    id: result.session.id,
    account: { id, name, email },
    createdAt: new Date(result.session.createdAt),
    epoch: call.epochs!.get(id)!,
  };
}

/** The session of an account's request. It may have ended since the route let it in. Throws `sign-in-needed`. */
export async function requireSession(auth: Auth, request: Request): Promise<Session> {
  const session = await sessionOf(auth, request.headers);
  if (!session) throw problem("sign-in-needed", { detail: "Sign in to the dashboard first." });
  return session;
}

/** A response that signs a new account in. */
export async function signInResponse(
  auth: Auth,
  request: Request,
  { address, userAgent }: Actor,
  { email, password }: { email: string; password: string },
  body: object,
): Promise<Response> {
  const signedIn = await callAuth(
    async () => {
      const { api } = await auth.standard();
      return api.signInEmail({ body: { email, password }, headers: request.headers, asResponse: true });
    },
    { path: "/sign-in/email", address, userAgent },
  );
  const headers = new Headers();
  for (const cookie of signedIn.headers.getSetCookie()) headers.append("set-cookie", cookie);
  return Response.json(body, { status: 201, headers });
}
