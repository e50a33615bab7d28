import type { Query } from "../postgres/query.ts";
import type { OlderStatus, StoreWatch } from "../store.ts";
import type { ClickHouse } from "./connection.ts";
import { whyOf } from "./failure.ts";

/** Events that wait are counted up to this number: counting more would take seconds. */
const waitingMax = 1_000_000;
/** The status page waits no longer for a server that hangs. */
const statusMs = 2_000;

/** How shipping goes on this node. A failure that lasts is logged once. */
export class ShippingRecord {
  readonly #watch: Pick<StoreWatch, "onWarning" | "onInfo">;
  #failure: string | null = null;
  failedAttempts = 0;

  constructor(watch: Pick<StoreWatch, "onWarning" | "onInfo">) {
    this.#watch = watch;
  }

  /** Why the last attempt failed; null if it didn't. */
  get failure(): string | null {
    return this.#failure;
  }

  async observe(ship: () => Promise<void>): Promise<void> {
    try {
      await ship();
    } catch (error) {
      this.failedAttempts++;
      const why = whyOf(error);
      if (why !== this.#failure)
        this.#watch.onWarning(`Events can't be moved to ClickHouse: ${why}. They stay in PostgreSQL.`);
      this.#failure = why;
      throw error;
    }
    if (this.#failure !== null)
      this.#watch.onInfo("events move to ClickHouse again", { failedAttempts: this.failedAttempts });
    this.#failure = null;
  }
}

/** What is in ClickHouse, and what still has to move there. */
export function createStatus(clickHouse: ClickHouse, runQuery: Query, record: ShippingRecord) {
  return async function status(): Promise<OlderStatus> {
    const [moved] = await runQuery<{ blocks: number; events: number }>(
      `SELECT count(*) AS blocks, coalesce(sum(events), 0)::bigint AS events FROM shipped_ranges WHERE shipped_at IS NOT NULL`,
    );
    const [waiting] = await runQuery<{ events: number; since_ms: number | null }>(
      `SELECT count(*) AS events, min(arrival) >> 20 AS since_ms FROM (
         SELECT arrival FROM events
         WHERE arrival > (SELECT coalesce(max(to_arrival), -1) FROM shipped_ranges WHERE shipped_at IS NOT NULL)
         ORDER BY arrival LIMIT $1) AS waiting`,
      [waitingMax],
    );
    const { events, since_ms } = waiting!;
    const bytes = await readBytes().catch(() => null);
    return {
      failure: bytes === null ? (clickHouse.failure ?? "It took too long to answer") : null,
      blocks: Number(moved!.blocks),
      events: Number(moved!.events),
      bytes,
      waiting: {
        events: Number(events),
        seconds: since_ms === null ? 0 : Math.max(0, (Date.now() - since_ms) / 1_000),
      },
      shipping: { failure: record.failure, failedAttempts: record.failedAttempts },
    };
  };

  async function readBytes(): Promise<number> {
    const [row] = await clickHouse.read<{ bytes: string | null }>(
      "SELECT total_bytes AS bytes FROM system.tables WHERE database = currentDatabase() AND name = 'events'",
      {},
      statusMs,
    );
    return Number(row?.bytes ?? 0);
  }
}
