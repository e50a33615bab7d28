import type { Kysely } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";

/** What a node that died was doing is another's after this time. */
const leaseMs = 10_000;
/** It is renewed so often within its time: one failure is not yet its end. */
const renewals = 3;
/** Nobody holds a lease for so much longer: it was taken while a clock was ahead, and its time may be days away. */
const skewMaxMs = 60_000;

/**
 * What one node alone does at a time, of those that share a database. The moments are those of the nodes' own clocks, which are to
 * agree within a few seconds.
 */
export class Leases {
  readonly #control: Kysely<ControlTables>;
  readonly #onError: (error: unknown) => void;
  readonly #leaseMs: number;
  readonly #holder = crypto.randomUUID();

  /** @param onError - told of a renewal that failed; the next one may be in time */
  constructor(control: Kysely<ControlTables>, onError: (error: unknown) => void, forMs = leaseMs) {
    this.#control = control;
    this.#onError = onError;
    this.#leaseMs = forMs;
  }

  /**
   * Does some work and gives true; or gives false, at once, where another node is at it.
   *
   * @param work - is handed a function that tells whether the lease still holds, which is lost where it can't be renewed in time
   */
  async whileHeld(name: string, work: (isHeld: () => boolean) => Promise<void>): Promise<boolean> {
    let untilMs = await this.#take(name);
    if (untilMs === null) return false;
    let renewal = Promise.resolve();
    const renewing = setInterval(() => {
      renewal = this.#take(name).then((until) => {
        untilMs = until;
      }, this.#onError);
    }, this.#leaseMs / renewals);
    try {
      // Where it was not renewed in time, another node may be at it.
      await work(() => untilMs !== null && Date.now() < untilMs);
    } finally {
      clearInterval(renewing);
      await renewal;
      await this.#leave(name);
    }
    return true;
  }

  /** Gives until when it is held, or null where another has it. */
  async #take(name: string): Promise<number | null> {
    const now = Date.now();
    const lease = { holder: this.#holder, until: now + this.#leaseMs };
    const row = await this.#control
      .insertInto("leases")
      .values({ name, ...lease })
      .onConflict((conflict) =>
        conflict
          .column("name")
          .doUpdateSet(lease)
          .where((eb) =>
            eb.or([
              eb("leases.holder", "=", this.#holder),
              eb("leases.until", "<=", now),
              eb("leases.until", ">", lease.until + skewMaxMs),
            ]),
          ),
      )
      .returning("name")
      .executeTakeFirst();
    return row ? lease.until : null;
  }

  async #leave(name: string): Promise<void> {
    await this.#control
      .deleteFrom("leases")
      .where("name", "=", name)
      .where("holder", "=", this.#holder)
      .execute();
  }
}
