import { consumePoint } from "../auth/consume-point.ts";
import { limits } from "../core/limits.ts";
import { ProblemError } from "../core/problems.ts";
import { clientNetwork } from "../http/client-address.ts";
import type { RateLimiter } from "../storage/rate-limiter.ts";
import type { Store } from "../storage/store.ts";

/**
 * Sign-up with an invitation has to tell that an address has an account, since it creates the account at once; but
 * anyone can make a project and invitations, and try addresses with them. Others sign up as often as they like: one who
 * succeeds has used an invitation up, and is not counted.
 *
 * Invariant: sign-up with an invitation tells whether an account exists, and is limited by inviter and client. Checked
 * by `server/invitations/invitations.test.ts`.
 */
export class TakenAddresses {
  readonly #told: RateLimiter;

  constructor(store: Pick<Store, "rateLimiter">) {
    this.#told = store.rateLimiter({
      name: "taken-addresses",
      points: limits.takenAddressesPerHour,
      seconds: 60 * 60,
    });
  }

  /**
   * Signs up, unless the inviter or the client was told too often. Throws `too-many-requests`.
   *
   * @param address - the client's
   */
  async limit<Result>(
    { inviterId, address }: { inviterId: string | null; address: string | null },
    signUp: () => Promise<Result>,
  ): Promise<Result> {
    const keys = [`inviter ${inviterId}`, `client ${clientNetwork(address)}`];
    for (const key of keys) await consumePoint(this.#told, key, 0);
    try {
      return await signUp();
    } catch (error) {
      if (error instanceof ProblemError && error.code === "account-exists")
        for (const key of keys) await consumePoint(this.#told, key);
      throw error;
    }
  }
}
