import type { Auth } from "better-auth";
import type { Config } from "../config/config.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";

/** How long the provider may take to answer with its configuration. */
const connectTimeoutMs = 5_000;

/** better-auth's plugin for the OpenID Connect provider of the settings. */
export async function oidcProvider({ oidcIssuer, oidcClientId, oidcClientSecret, oidcName }: Config) {
  const { genericOAuth } = await import("better-auth/plugins/generic-oauth");
  return genericOAuth({
    config: [
      {
        providerId: "oidc",
        name: oidcName,
        discoveryUrl: `${oidcIssuer}/.well-known/openid-configuration`,
        clientId: oidcClientId!,
        clientSecret: oidcClientSecret!,
        scopes: ["openid", "email", "profile"],
        requireIdTokenVerification: true,
        mapProfileToUser: ({ name, email }) => ({ name: displayName(name, email) }),
      },
    ],
  });
}

/** Waits until better-auth has asked the provider for its configuration. Throws `provider-unavailable`. */
export async function connected(auth: Auth, name: string): Promise<Auth> {
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(providerUnavailable(name)), connectTimeoutMs);
  try {
    await Promise.race([auth.$context, timeUp]);
    return auth;
  } finally {
    clearTimeout(timer);
  }
}

export function providerUnavailable(name: string) {
  return problem("provider-unavailable", {
    detail: `${name} can't be reached. Try again, or sign in with your password.`,
  });
}

/** A provider's name for a person, within our limits. */
function displayName(name: unknown, email: unknown): string {
  const text = typeof name === "string" ? name.replace(/\p{Cc}/gu, " ").trim() : "";
  return [...(text || String(email).split("@")[0]!)].slice(0, limits.accountNameCharacters).join("");
}
