import type { Kysely } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";

const dayMs = 24 * 60 * 60 * 1_000;

/**
 * The secret of each day (UTC), with which visitors are numbered. All nodes have the same.
 *
 * Invariant: nothing links a visitor's days: a salt is random, and is deleted when its day is over. Checked by
 * `server/website/visitors.test.ts`.
 */
export class Salts {
  readonly #control: Kysely<ControlTables>;
  #current: { day: string; salt: Promise<string> } | null = null;

  constructor(control: Kysely<ControlTables>) {
    this.#control = control;
  }

  of(nowMs: number): Promise<string> {
    const day = dayOf(nowMs);
    if (this.#current?.day !== day) {
      const salt = this.#readOrCreate(day);
      this.#current = { day, salt };
      // After a failure, the next call tries again.
      salt.catch(() => {
        if (this.#current?.salt === salt) this.#current = null;
      });
    }
    return this.#current.salt;
  }

  /** Deletes the salts of days that are over. */
  async deleteOld(nowMs: number): Promise<void> {
    const day = dayOf(nowMs);
    if (this.#current && this.#current.day < day) this.#current = null;
    await this.#control.deleteFrom("websiteSalts").where("day", "<", day).execute();
  }

  /** Milliseconds until the day ends. */
  leftMs(nowMs: number): number {
    return dayMs - (nowMs % dayMs);
  }

  async #readOrCreate(day: string): Promise<string> {
    const find = () =>
      this.#control.selectFrom("websiteSalts").select("salt").where("day", "=", day).executeTakeFirst();
    const known = await find();
    if (known) return known.salt;
    const salt = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
    await this.#control
      .insertInto("websiteSalts")
      .values({ day, salt })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    return (await find())?.salt ?? salt;
  }
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Characters of a visitor's number: 80 bits. */
const visitorCharacters = 20;

/**
 * The number of a visitor for a day: the same for the same browser at the same address on the same site of a project.
 * Addresses and user agents can't be found from it, and aren't stored.
 */
export function visitorOf(
  salt: string,
  {
    projectId,
    address,
    userAgent,
    host,
  }: { projectId: number; address: string; userAgent: string; host: string },
): string {
  return new Bun.CryptoHasher("sha256", salt)
    .update(JSON.stringify([projectId, address, userAgent, host]))
    .digest("hex")
    .slice(0, visitorCharacters);
}
