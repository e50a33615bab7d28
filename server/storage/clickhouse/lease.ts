import type { Query } from "../postgres/query.ts";

const name = "clickhouse";

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

  /** Takes or renews it. Returns false if another node has it. */
  async take(): Promise<boolean> {
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
    await this.#runQuery("DELETE FROM leases WHERE name = $1 AND holder = $2", [name, this.#holder]);
  }
}
