import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { limits } from "../core/limits.ts";
import { clientNetwork } from "../http/client-address.ts";
import type { RateLimiter } from "../storage/rate-limiter.ts";
import type { Store } from "../storage/store.ts";
import { takePoint } from "../storage/take-point.ts";

type Tier = { attempts: number; seconds: number };
/** Attempts with a wrong password that an account accepts. */
export type SignInTiers = {
  /** From one device or address. Each tier lets fewer attempts through than the one before, for longer. */
  perClient: readonly Tier[];
  /** From all addresses together. Devices on which the account was signed in before are exempt. */
  perAccount: Tier;
};

type Deps = {
  rateLimiter: Store["rateLimiter"];
  /** Signs device cookies. */
  secret: string;
  isSecure: boolean;
  tiers?: SignInTiers | undefined;
};

const yearSeconds = 365 * 24 * 60 * 60;

/**
 * Slows the guessing of passwords, by account. Unknown accounts are limited in the same way, so that nothing tells them
 * apart.
 *
 * A browser in which the account was signed in has a device cookie and a limit of its own. So strangers who guess from
 * many addresses can't lock the account's owner out (https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies).
 */
export class SignInLimits {
  readonly #perClient: RateLimiter[];
  readonly #perAccount: RateLimiter;
  readonly #secret: string;
  readonly #cookieName: string;
  readonly #cookieAttributes: string;

  constructor({ rateLimiter, secret, isSecure, tiers = limits.signIn }: Deps) {
    const limiter = (name: string, { attempts, seconds }: Tier) =>
      rateLimiter({ name, points: attempts, seconds });
    this.#perClient = tiers.perClient.map((tier, index) => limiter(`sign-in-${index + 1}`, tier));
    this.#perAccount = limiter("sign-in-account", tiers.perAccount);
    this.#secret = secret;
    this.#cookieName = isSecure ? "__Host-tidings.device" : "tidings.device";
    this.#cookieAttributes = `Max-Age=${yearSeconds}; Path=/; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
  }

  /**
   * Lets an attempt through or throws `too-many-requests`. An attempt counts before its password is checked, so that
   * many at once are no way around. `signIn` is told whether the account was signed in on the device. If it succeeds,
   * its response gets the device cookie, and what the client's attempts counted is forgotten.
   */
  async limit(
    { email, address, headers }: { email: string; address: string | null; headers: Headers },
    signIn: (isKnown: boolean) => Promise<Response>,
  ): Promise<Response> {
    const account = createHash("sha256").update(email.toLowerCase()).digest("base64url");
    const device = this.#knownDevice(account, headers);
    const client = `${account} ${device ?? clientNetwork(address)}`;
    for (const limiter of this.#perClient)
      await takePoint(limiter, client, "attempts to sign in to this account");
    if (device === null) await takePoint(this.#perAccount, account, "attempts to sign in to this account");

    const response = await signIn(device !== null);
    if (!response.ok) return response;
    for (const limiter of this.#perClient) await limiter.reset(client);
    if (device === null) await this.#perAccount.reset(account);
    const known = device ?? randomBytes(16).toString("base64url");
    response.headers.append(
      "set-cookie",
      `${this.#cookieName}=${known}.${this.#sign(account, known)}; ${this.#cookieAttributes}`,
    );
    return response;
  }

  /** The device in the cookie, if this account was signed in on it. */
  #knownDevice(account: string, headers: Headers): string | null {
    const cookies = headers.get("cookie")?.split("; ") ?? [];
    const prefix = `${this.#cookieName}=`;
    const value = cookies.find((cookie) => cookie.startsWith(prefix))?.slice(prefix.length);
    const [device, signature] = value?.split(".", 2) ?? [];
    if (!device || !signature) return null;
    const [given, expected] = [Buffer.from(signature), Buffer.from(this.#sign(account, device))];
    return given.length === expected.length && timingSafeEqual(given, expected) ? device : null;
  }

  #sign(account: string, device: string): string {
    return createHmac("sha256", this.#secret).update(`device ${account} ${device}`).digest("base64url");
  }
}
