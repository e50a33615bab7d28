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
  readonly #leaseMs: number;
  readonly #holder = crypto.randomUUID();

  constructor(control: Kysely<ControlTables>, forMs = leaseMs) {
    this.#control = control;
    this.#leaseMs = forMs;
  }

  /**
   * Does some work and gives true; or gives false, at once, where another node is at it.
   *
   * @param work - is handed a function that tells whether the lease still holds, which is lost where it can't be renewed in time
   */
  async whileHeld(name: string, work: (isHeld: () => boolean) => Promise<void>): Promise<boolean> {
    if (!(await this.#take(name))) return false;
    let isHeld = true;
    let renewal = Promise.resolve();
    const renewing = setInterval(() => {
      // Where the storage does not answer, the lease may still be ours; the work itself meets the same.
      renewal = this.#take(name)
        .then((isTaken) => {
          isHeld = isTaken;
        })
        .catch(() => {});
    }, this.#leaseMs / renewals);
    try {
      await work(() => isHeld);
    } finally {
      clearInterval(renewing);
      await renewal;
      await this.#leave(name);
    }
    return true;
  }

  async #take(name: string): Promise<boolean> {
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
    return row !== undefined;
  }

  async #leave(name: string): Promise<void> {
    await this.#control
      .deleteFrom("leases")
      .where("name", "=", name)
      .where("holder", "=", this.#holder)
      .execute();
  }
}
