import type { Kysely } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";

/** After this time, another node takes over from one that died. */
const leaseMs = 10_000;
/** Renewals within a lease's time, so that one may fail. */
const renewals = 3;
/**
 * A lease that ends later than this plus its time is void: it was taken while a clock was ahead, and might not end for
 * days.
 */
const clockSkewMaxMs = 60_000;

/**
 * Lets only one of the nodes that share a database do something at a time. Timestamps come from the nodes' clocks, which
 * must agree within a few seconds.
 *
 * Invariant: one node at a time holds a lease, and another takes it over when its node dies. Checked by
 * `server/background/leases.test.ts`.
 */
export class Leases {
  readonly #control: Kysely<ControlTables>;
  readonly #onError: (error: unknown) => void;
  readonly #durationMs: number;
  readonly #holder = crypto.randomUUID();

  /** @param onError - called if a renewal fails; the next one may be in time */
  constructor(control: Kysely<ControlTables>, onError: (error: unknown) => void, durationMs = leaseMs) {
    this.#control = control;
    this.#onError = onError;
    this.#durationMs = durationMs;
  }

  /**
   * Does some work and returns true, or returns false at once if another node holds the lease.
   *
   * @param work - gets a function that tells whether the lease is still held; it is lost if it can't be renewed in time
   */
  async whileHeld(name: string, work: (isHeld: () => boolean) => Promise<void>): Promise<boolean> {
    let untilMs = await this.#take(name);
    if (untilMs === null) return false;
    let renewal = Promise.resolve();
    const renewing = setInterval(() => {
      renewal = this.#take(name).then((until) => {
        untilMs = until;
      }, this.#onError);
    }, this.#durationMs / renewals);
    try {
      // If it was not renewed in time, another node may hold it.
      await work(() => untilMs !== null && Date.now() < untilMs);
    } finally {
      clearInterval(renewing);
      await renewal;
      await this.#release(name);
    }
    return true;
  }

  /** Takes or renews a lease. Returns its end, or null if another node holds it. */
  async #take(name: string): Promise<number | null> {
    const now = Date.now();
    const lease = { holder: this.#holder, until: now + this.#durationMs };
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
              eb("leases.until", ">", lease.until + clockSkewMaxMs),
            ]),
          ),
      )
      .returning("name")
      .executeTakeFirst();
    return row ? lease.until : null;
  }

  async #release(name: string): Promise<void> {
    await this.#control
      .deleteFrom("leases")
      .where("name", "=", name)
      .where("holder", "=", this.#holder)
      .execute();
  }
}
