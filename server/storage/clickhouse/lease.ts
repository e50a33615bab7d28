import { texts } from "../postgres/arrays.ts";
import type { Query } from "../postgres/query.ts";

const shipping = "clickhouse";
const leaving = "leaving clickhouse";

/**
 * Lets one node ship at a time. It is held for longer than other leases: a block that a node sent just before it died
 * must not arrive after another node has begun.
 */
export class ShippingLease {
  readonly #runQuery: Query;
  readonly #durationMs: number;
  readonly #holder = crypto.randomUUID();

  constructor(runQuery: Query, durationMs: number) {
    this.#runQuery = runQuery;
    this.#durationMs = durationMs;
  }

  /** Takes or renews it, between two steps. Returns false if another node has it, or a command asks all to let go. */
  async take(): Promise<boolean> {
    const [asked] = await this.#runQuery("SELECT FROM leases WHERE name = $1 AND until > $2", [
      leaving,
      Date.now(),
    ]);
    if (asked) {
      await this.release();
      return false;
    }
    return this.renew();
  }

  /** The same within a step, which must end before anyone else begins. */
  async renew(): Promise<boolean> {
    return this.#hold(shipping);
  }

  /** Asks all nodes to let go, for as long as this is repeated in time. Returns whether they have. */
  async takeFromNodes(): Promise<boolean> {
    return (await this.#hold(leaving)) && (await this.renew());
  }

  async #hold(name: string): Promise<boolean> {
    const now = Date.now();
    const rows = await this.#runQuery(
      `INSERT INTO leases (name, holder, until) VALUES ($1, $2, $3)
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
         WHERE leases.holder = excluded.holder OR leases.until <= $4 OR leases.until > $5
       RETURNING name`,
      // One that ends later was taken while a clock was ahead.
      [name, this.#holder, now + this.#durationMs, now, now + 2 * this.#durationMs],
    );
    return rows.length > 0;
  }

  /** Lets another node take it at once, as nothing is on its way. */
  async release(): Promise<void> {
    await this.#runQuery("DELETE FROM leases WHERE name = ANY ($1::text[]) AND holder = $2", [
      texts([shipping, leaving]),
      this.#holder,
    ]);
  }
}
