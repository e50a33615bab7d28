import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";

// The library logs what a provider in production would need.
for (const level of ["info", "warn"] as const) {
  const log = console[level];
  console[level] = (...parts: unknown[]) => {
    if (!String(parts[0]).startsWith("oidc-provider ")) log(...parts);
  };
}

type Person = { email: string; emailVerified: boolean; name: string };

/**
 * Starts a real OpenID Connect provider on loopback. It knows everyone who signs in, by the person's key in `people`.
 *
 * @param redirectUri - returns where Tidings waits for those who come back
 */
export async function oidcProvider(redirectUri: () => string) {
  const people: Record<string, Person> = {};
  const client = { clientId: "tidings", clientSecret: "a secret of the client" };
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let provider: Provider;

  /** The client's address is known only when Tidings runs, which needs the provider's address. */
  function start(): void {
    provider = new Provider(issuer, {
      clients: [
        { client_id: client.clientId, client_secret: client.clientSecret, redirect_uris: [redirectUri()] },
      ],
      claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
      findAccount: (_context, id) => ({
        accountId: id,
        claims() {
          const person = people[id]!;
          return { sub: id, email: person.email, email_verified: person.emailVerified, name: person.name };
        },
      }),
      cookies: { keys: ["a key of the provider"] },
    });
    server.on("request", provider.callback());
  }

  return {
    issuer,
    ...client,
    people,
    start,
    /** Signs in as a person at the provider, as a browser would, and returns where that leads. */
    async authorize(url: string, person: string): Promise<string> {
      const jar = new Map<string, string>();
      let next = new URL(url);
      let form: URLSearchParams | undefined;
      for (let step = 0; step < 15; step++) {
        if (next.origin !== issuer) return next.href;
        const response = await fetch(next, {
          method: form ? "POST" : "GET",
          redirect: "manual",
          headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join("; ") },
          ...(form && { body: form }),
        });
        for (const cookie of response.headers.getSetCookie()) {
          const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
          if (value) jar.set(name!, value);
          else jar.delete(name!);
        }
        const location = response.headers.get("location");
        form = undefined;
        if (location) {
          next = new URL(location, next);
          continue;
        }
        // A page of the provider: its form to sign in, or to consent.
        const page = await response.text();
        const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1];
        if (!prompt) throw new Error(`The provider answered ${response.status}: ${page}`);
        form = new URLSearchParams({ prompt, ...(prompt === "login" && { login: person, password: "any" }) });
      }
      throw new Error("The provider leads nowhere.");
    },
    async [Symbol.asyncDispose](): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
